"""Tests of tool calls: requests, conversion to text, hostile calls and replays."""

import asyncio
import json

import pytest
from aiohttp import web

from tasks.models.ask import Role, Tool, Unparsed
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.batch_files import read_results
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.failures import Failure
from tasks.models.serving.ledger_server import LedgerServer
from tasks.models.tools import BadCall, write_calls
from tests.models.scenes import MODEL, answering, make_endpoint, say, serving

ADD = Tool(
    "add",
    "Add a fruit.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "tastes": {"type": "array", "items": {"type": "string", "title": "Taste"}},
        },
        "required": ["name"],
    },
)
STOP = Tool("stop", "Stop.", {"type": "object", "title": "STOP", "properties": {}, "required": []})
TOOLS = (ADD, STOP)


def call(name, arguments):
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": given}}


def reply(*calls, content=None):
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return web.json_response({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def parse(text):
    if text == "STOP" or text.startswith("Name: "):
        return text
    raise Unparsed("no_name: there is no name")


@pytest.fixture
def builder(tmp_path):
    (tmp_path / "fruit.md").write_text("# user\nName a fruit.\n")
    roles = {name: Role(model=MODEL, attempts=2, constrain=name) for name in ("tools", "none", "grammar")}
    return RequestBuilder("paper.stage", tmp_path, roles)


async def ask_once(builder, dispatcher, role="tools", tools=TOOLS):
    ask = RecordedModel(builder, dispatcher)
    answer = await ask("fruit", {}, role=role, row="r", parse=parse, grammar='root ::= "x"', tools=tools)
    return answer, ask.call_rows()


def connect(url, folder):
    return Dispatcher(Ledger(folder / "l.sqlite"), ModelClient({MODEL: make_endpoint(url)}, Budget()))


def run(builder, folder, *replies, role="tools", tools=TOOLS):
    bodies, left = [], list(replies)

    async def answer(request):
        bodies.append(await request.json())
        return left.pop(0)

    async def work():
        with answering(answer) as url, connect(url, folder) as dispatcher:
            return await ask_once(builder, dispatcher, role, tools)

    return *asyncio.run(work()), bodies


def test_a_call_is_recorded_as_text_and_replayed_without_tools_or_endpoint(builder, tmp_path):
    answer, rows, (body,) = run(builder, tmp_path, reply(call("add", {"tastes": ["sour"], "name": "lime"})))
    assert answer.value == "Name: lime\nTaste: sour"
    assert (rows[0].text, rows[0].finish_reason) == ("Name: lime\nTaste: sour", "tool_calls")
    assert [tool["function"]["name"] for tool in body["tools"]] == ["add", "stop"]
    assert body["tools"][0]["function"]["parameters"] == ADD.parameters
    assert body["tool_choice"] == "required"
    assert "grammar" not in body
    with Dispatcher(Ledger(tmp_path / "l.sqlite"), None) as replay:
        again, same = asyncio.run(ask_once(builder, replay))
    assert again == answer
    assert same == rows


def test_one_tool_alone_is_named(builder, tmp_path):
    *_, (body,) = run(builder, tmp_path, reply(call("add", {"name": "fig"})), tools=(ADD,))
    assert body["tool_choice"] == {"type": "function", "function": {"name": "add"}}


def test_an_endpoint_that_answers_in_text_is_read_as_text(builder, tmp_path):
    answer, rows, _ = run(builder, tmp_path, say("Name: plum"))
    assert (answer.value, rows[0].finish_reason) == ("Name: plum", "stop")


@pytest.mark.parametrize("role", ["none", "grammar"])
def test_tools_are_offered_to_no_other_role_and_are_in_no_other_key(builder, tmp_path, role):
    _, rows, (body,) = run(builder, tmp_path, say("Name: plum"), role=role)
    assert body.keys().isdisjoint({"tools", "tool_choice"})
    assert "tools" not in json.loads(rows[0].constraint)
    prompt = builder.render("fruit", {})
    without = builder.request(prompt, builder.role(role), 0, grammar='root ::= "x"')
    assert rows[0].id == without.key()
    held = builder.request(prompt, builder.role("tools"), 0, tools=TOOLS)
    assert held.key() != builder.request(prompt, builder.role("tools"), 0).key()


DEEP = '{"name": ' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    ("called", "reason"),
    [
        (call("add", "{nope"), "bad_call: the arguments are not valid JSON: {nope"),
        (call("add", "x" * 9_000), "bad_call: the arguments are not valid JSON: " + "x" * 200),
        (call("add", {"tastes": []}), "bad_call: add is missing the argument 'name'"),
        (call("add", {"name": None}), "bad_call: add is missing the argument 'name'"),
        (call("add", {"name": 5}), "bad_call: name is not a string"),
        (call("add", {"name": ["a"]}), "bad_call: name is not a string"),
        (call("add", {"name": "a", "tastes": "sour"}), "bad_call: tastes is not a list"),
        (call("add", {"name": "a", "tastes": [{}]}), "bad_call: tastes is not a string"),
        (call("add", [1]), "bad_call: the arguments of add are not a JSON object"),
        (call("rm", {}), "bad_call: there is no tool 'rm'"),
        ({"function": {"name": ["add"], "arguments": "{}"}}, "bad_call: there is no tool \"['add']\""),
        ({"function": "add"}, "bad_call: a tool call has no function"),
        ("add", "bad_call: a tool call has no function"),
        (call("add", DEEP), "bad_call: the arguments are nested too deeply"),
    ],
)
def test_a_call_that_cannot_be_read_does_not_parse_and_is_asked_again(builder, tmp_path, called, reason):
    answer, rows, bodies = run(builder, tmp_path, reply(called), reply(called, content="Name: plum"))
    assert len(bodies) == 2
    assert (answer.value, answer.problem, answer.attempts) == (None, reason, 2)
    assert {row.finish_reason for row in rows} == {"bad_tool_call"}
    with Dispatcher(Ledger(tmp_path / "l.sqlite"), None) as replay:
        assert asyncio.run(ask_once(builder, replay)) == (answer, rows)


def test_calls_are_written_in_order_and_without_what_no_file_can_hold(builder, tmp_path):
    both = (call("add", {"name": "a\n\n b\ud800", "more": 1}), call("stop", ""))
    answer, *_ = run(builder, tmp_path, reply(*both))
    assert answer.value == "Name: a\n b?\nSTOP"
    assert write_calls([{"function": {"name": "add", "arguments": {"name": "kiwi"}}}], TOOLS) == "Name: kiwi"
    for wrong, why in (({}, "not a list"), ([call("stop", "")] * 33, "33 tool calls")):
        with pytest.raises(BadCall, match=why):
            write_calls(wrong, TOOLS)


def test_the_ledger_server_finds_a_call_by_its_tools(builder, tmp_path):
    recorded, *_ = run(builder, tmp_path, reply(call("stop", {})))
    server = LedgerServer(Ledger(tmp_path / "l.sqlite"))
    (tmp_path / "other").mkdir()
    with serving(server.application()) as url, connect(url, tmp_path / "other") as dispatcher:
        answer, _ = asyncio.run(ask_once(builder, dispatcher))
    assert (answer.value, answer.call) == (recorded.value, recorded.call)


def test_a_batch_s_tool_call_whose_request_is_not_known_is_asked_again():
    message = {"content": None, "tool_calls": [call("add", {"name": "fig"})]}
    row = {"custom_id": "k", "response": {"status_code": 200, "body": {"choices": [{"message": message}]}}}
    batch = type("Batch", (), {"status": "completed", "errors": None})()
    outcome = read_results([json.dumps(row).encode()], ["k"], {}, batch)["k"]
    assert isinstance(outcome, Failure)
    assert outcome.retry
