"""Tests of agents whose endpoint supports tool calls, does not support them, or makes invalid calls."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tasks.longform.entries import AgentEvaluation
from tasks.longform.solve.interaction import Interaction
from tasks.longform.solve.interactions import interactions
from tasks.longform.solve.replies import (
    AgentLimits,
    Round,
    WrittenQuery,
    offer_queries,
    offer_round,
    parse_queries,
    parse_round,
)
from tasks.models.ask import Role
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.tools import write_calls
from tests.longform.scripted_agents import PLAN, PROMPTS, make_item
from tests.models.scenes import MODEL, answering, make_endpoint, say

LARGEST = "SELECT name\nFROM stadium -- all of them\n\nORDER BY seats DESC LIMIT 1"
SAID = "Ayr Park is the largest."
Reply = Callable[[dict[str, Any]], web.Response]


def call(name: str, arguments: object) -> web.Response:
    called = {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [called]}
    return web.json_response({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def run(folder: Path, agent: str, reply: Reply | None) -> tuple[Interaction, list[str]]:
    """Run one agent on an endpoint, or on its ledger if `reply` is None; also return the calls' texts."""
    roles = {"agent": Role(model=MODEL, attempts=1, constrain="tools")}
    builder = RequestBuilder("longform.interactions", PROMPTS, roles)
    entry = AgentEvaluation(set="s", agents=(agent,))  # type: ignore[arg-type]

    async def answer(request: web.Request) -> web.Response:
        assert reply is not None
        return reply(await request.json())

    def work(dispatcher: Dispatcher) -> tuple[Interaction, list[str]]:
        ask = RecordedModel(builder, dispatcher)
        made = asyncio.run(interactions([make_item()], entry, AgentLimits(), ask))
        return made.rows[0], [row.text for row in ask.call_rows()]

    ledger = Ledger(folder / "l.sqlite")
    if reply is None:
        with Dispatcher(ledger, None) as dispatcher:
            return work(dispatcher)
    with (
        answering(answer) as url,
        Dispatcher(ledger, ModelClient({MODEL: make_endpoint(url)}, Budget())) as dispatcher,
    ):
        return work(dispatcher)


def reply_by_tools(body: dict[str, Any]) -> web.Response:
    offered = [tool["function"]["name"] for tool in body.get("tools", ())]
    asked = body["messages"][-1]["content"]
    if offered == ["run_queries"]:
        return call("run_queries", {"queries": [{"sql": LARGEST}, {"sql": "SELECT count(*) FROM concert;"}]})
    if offered == ["run_query", "enough"]:
        return call("enough", {}) if "Round 1" in asked else call("run_query", {"need": "n", "sql": LARGEST})
    return say(PLAN if "Retrieval steps:" in asked and "Plan:" not in asked else SAID)


@pytest.mark.parametrize(("agent", "count"), [("iterative", 1), ("sequential", 2)])
def test_queries_come_as_tool_calls_and_are_replayed(tmp_path: Path, agent: str, count: int) -> None:
    row, texts = run(tmp_path, agent, reply_by_tools)
    assert (row.answer, row.problem) == (SAID, "")
    assert [query.error for query in row.queries] == [""] * count
    assert row.queries[0].sql == LARGEST.replace("\n\n", "\n"), "a comment ends with its line"
    assert json.loads(row.queries[0].rows) == [["Ayr Park"]]
    assert any(text.startswith(("Need: n\nSQL: SELECT name", "SQL: SELECT name")) for text in texts)
    assert run(tmp_path, agent, None) == (row, texts)


def test_an_endpoint_that_ignores_the_tools_is_read_by_the_text_s_parser(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> web.Response:
        asked = body["messages"][-1]["content"]
        if "tools" not in body:
            return say(SAID)
        return say("ENOUGH" if "Round 1" in asked else "Need: n\nSQL: SELECT name FROM stadium;")

    row, _ = run(tmp_path, "iterative", reply)
    assert (row.answer, row.problem, [query.n_rows for query in row.queries]) == (SAID, "", [4])


def test_calls_that_cannot_be_read_are_problems_and_the_agent_goes_on(tmp_path: Path) -> None:
    bad = iter([call("run_query", {"need": "n"}), call("drop", {}), call("run_query", ["x"])])
    row, _ = run(tmp_path, "iterative", lambda body: next(bad) if "tools" in body else say(SAID))
    assert (row.answer, row.queries) == (SAID, ())
    assert row.problem == (
        "agent_next_query: bad_call: run_query is missing the argument 'sql'; "
        "agent_next_query: bad_call: there is no tool 'drop'; "
        "agent_next_query: bad_call: the arguments of run_query are not a JSON object"
    )


def test_what_tools_take_is_what_the_parsers_read() -> None:
    def write(tools: Any, name: str, arguments: object) -> str:
        return write_calls([{"function": {"name": name, "arguments": arguments}}], tools)

    one = {"need": "a\nb", "sql": "SELECT 1", "statistics": ["quantiles(x)", "pearson(x, y)"]}
    text = write(offer_round(statistics=True), "run_query", one)
    query = WrittenQuery("SELECT 1", ("quantiles(x)", "pearson(x, y)"))
    assert parse_round(text, statistics=True) == Round("a b", query)
    assert parse_round(write(offer_round(statistics=True), "enough", {})) == Round("", None)
    plain = write(offer_round(statistics=False), "run_query", one)
    assert plain == "Need: a\nb\nSQL: SELECT 1", "what was not offered is left out"
    several = {"queries": [{"sql": "SELECT 1", "statistics": ["quantiles(x)"]}, {"sql": "SELECT 2;"}]}
    assert parse_queries(write(offer_queries(statistics=True), "run_queries", several), statistics=True) == (
        WrittenQuery("SELECT 1", ("quantiles(x)",)), WrittenQuery("SELECT 2"),
    )  # fmt: skip
