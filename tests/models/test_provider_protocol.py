"""Tests of a provider's own protocol (Anthropic's messages), with a faulty server on loopback."""

import asyncio
import json
import re
import subprocess
import sys
import time

import pytest
import yaml
from aiohttp import web

from flows.run.model_settings import read_models
from tasks.errors import BadInput, BudgetSpent, ModelFailed
from tasks.models.ask import Prompt, Role, Tool, make_request
from tasks.models.opening import list_prices, open_client
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import make_embedding
from tasks.models.sending import provider
from tasks.models.sending.budget import Budget
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.replies import estimate_prompt
from tests.models.scenes import serving
from tests.models.test_providers import PAGE

pytest.importorskip("any_llm", reason="the extra `providers` is not installed")
BLOCK = re.search(r'^```yaml title="Anthropic"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
KEY = "sk-secret-of-a-test"
SCHEMA = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
TOOL = Tool(
    "query", "Ask SQL.", {"type": "object", "properties": {"sql": {"type": "string", "title": "SQL"}}}
)


def reply(*content, stop="end_turn", **more):
    return web.json_response({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": stop,
        "content": list(content), "usage": {"input_tokens": 11, "output_tokens": 4}, **more,
    })  # fmt: skip


def say(text, **more):
    return reply({"type": "text", "text": text}, **more)


def fail(status, message, kind="api_error", **headers):
    return web.json_response(
        {"type": "error", "error": {"type": kind, "message": message}}, status=status, headers=headers
    )


async def truncate(request):
    """Announce more bytes than are sent."""
    answer = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await answer.prepare(request)
    await answer.write(b'{"id": "msg_1", "content": [{"type": "te')
    request.transport.close()
    return answer


class Anthropic:
    """A server of the protocol, with received requests, and a list of faults before it answers."""

    def __init__(self, *faults, answer=lambda body: say("Paris.")):
        self.asked, self.headers, self.faults, self.answer = [], [], list(faults), answer

    async def handle(self, request):
        body = await request.json()
        self.asked.append(body)
        self.headers.append(request.headers)
        if request.headers.get("x-api-key") != KEY:
            return fail(401, f"invalid x-api-key {request.headers.get('x-api-key')}", "authentication_error")
        unknown = body.keys() - {"model", "messages", "system", "max_tokens", "temperature", "output_config",
                                 "tools", "tool_choice", "thinking"}  # fmt: skip
        if unknown or "max_tokens" not in body:
            return fail(400, f"{sorted(unknown)}: Extra inputs are not permitted", "invalid_request_error")
        if self.faults:
            fault = self.faults.pop(0)
            return fault if isinstance(fault, web.Response) else await fault(request)
        return self.answer(body)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_KEY", KEY)


def make_asked(question="Where?", role=None, **more):
    settings = {**yaml.safe_load(BLOCK)["roles"]["generator"], **(role or {})}
    messages = ({"role": "system", "content": "Be short."}, {"role": "user", "content": question})
    return make_request(Prompt("ask", "digest", messages), Role.model_validate(settings), **more)


def read_block(url, endpoint=None, **run):
    """Read the page's params block, with this server as endpoint."""
    params = yaml.safe_load(BLOCK)
    params["run"]["endpoints"]["claude"] |= {"url": url, "retries": 3, "deadline_s": 30, **(endpoint or {})}
    params["run"] |= run
    return read_models(params)


def ask(server, request=None, *, endpoint=None, **run):
    """Make a call through the client of the page's block; return the answer and the budget."""
    app = web.Application()
    app.router.add_post("/v1/messages", server.handle)
    with serving(app) as url:
        settings, models = read_block(url.removesuffix("/v1"), endpoint, **run)
        budget = Budget(settings.budget, list_prices(settings, models))
        request = request or make_asked()

        async def send():
            client = open_client(settings, models, budget)
            try:
                return (await client.send({request.key(): request}))[request.key()]
            finally:
                await client.close()

        return asyncio.run(send()), budget


def test_the_block_of_the_page_asks_in_the_protocol_and_counts_its_tokens():
    server = Anthropic()
    result, budget = ask(server)
    entry = result.entry
    assert (entry.text, entry.finish_reason) == ("Paris.", "stop")
    assert (entry.prompt_tokens, entry.completion_tokens, entry.estimated) == (11, 4, False)
    (body,) = server.asked
    assert body["system"] == "Be short."
    assert body["messages"] == [{"role": "user", "content": "Where?"}]
    assert body["model"] == "claude-sonnet-4-5"
    assert "seed" not in body
    assert body["thinking"] == {"type": "disabled"}
    prices = yaml.safe_load(BLOCK)["run"]["prices"]["claude"]
    usd = (11 * prices["input_usd_per_million"] + 4 * prices["output_usd_per_million"]) / 1e6
    assert (budget.spent.tokens, budget.spent.usd) == (15, pytest.approx(usd))


def test_a_sample_has_a_key_of_its_own_though_no_seed_is_sent():
    assert make_asked(sample=1).key() != make_asked(sample=0).key()
    assert make_asked(sample=1).decoding["seed"] == 1


def test_a_schema_and_tools_go_in_and_come_out_as_the_protocol_has_them():
    def answer(body):
        if "tools" in body:
            assert body["tool_choice"]["name"] == body["tools"][0]["name"] == "query"
            return reply(
                {"type": "tool_use", "id": "t", "name": "query", "input": {"sql": "SELECT 1"}},
                stop="tool_use",
            )
        schema = body["output_config"]["format"]["schema"]
        return say(json.dumps({"sql": f"SELECT {len(schema['properties'])}"}))

    entry = ask(Anthropic(answer=answer), make_asked(schema=SCHEMA))[0].entry
    assert json.loads(entry.text) == {"sql": "SELECT 1"}
    called = ask(Anthropic(answer=answer), make_asked(tools=[TOOL], role={"constrain": "tools"}))[0].entry
    assert (called.text, called.finish_reason) == ("SQL: SELECT 1", "tool_calls")


def test_what_it_refuses_to_say_is_a_reply_with_that_reason():
    entry = ask(Anthropic(answer=lambda body: reply(stop="refusal")))[0].entry
    assert (entry.text, entry.finish_reason) == ("", "content_filter")


def test_throttling_is_waited_out_as_asked_and_costs_nothing():
    server = Anthropic(fail(429, "slow down", "rate_limit_error", **{"Retry-After": "0.3"}))
    began = time.monotonic()
    result, budget = ask(server)
    assert time.monotonic() - began >= 0.3
    assert (result.entry.attempts, len(server.asked)) == (2, 2)
    assert (budget.possibly_paid.tokens, budget.spent.tokens) == (0, 15)


@pytest.mark.parametrize(
    ("fault", "lost"),
    [
        (fail(429, "Too many", "rate_limit_error"), False),
        (fail(529, "Overloaded", "overloaded_error"), True),
        (fail(500, "oops"), True),
        (truncate, True),
        (web.Response(text="{", content_type="application/json"), True),
        (web.json_response({"type": "message", "content": 3}), True),
        (reply({"type": "text", "text": "x"}, model=None), True),
        (reply({"type": "text", "text": "x"}, usage={"input_tokens": 1.5, "output_tokens": 4}), True),
        (reply({"type": "text", "text": "a\ud800"}), True),
        (reply({"type": "tool_use", "id": "t", "input": {}}), True),
        (web.Response(body=b'{"a":' * 500_000, content_type="application/json"), True),
    ],
    ids=[
        "429",
        "529",
        "500",
        "truncated",
        "no JSON",
        "no message",
        "no model",
        "half a token",
        "surrogate",
        "no tool",
        "deep",
    ],
)
def test_a_fault_is_tried_again_and_a_lost_reply_is_booked_as_possibly_paid(fault, lost):
    server = Anthropic(fault)
    result, budget = ask(server)
    assert (result.entry.text, result.entry.attempts, len(server.asked)) == ("Paris.", 2, 2)
    assert bool(budget.possibly_paid.tokens) is lost
    assert budget.spent.tokens == 15 + budget.possibly_paid.tokens


def test_a_hang_ends_at_its_timeout():
    async def hang(request):
        await asyncio.sleep(30)

    result, budget = ask(Anthropic(hang), endpoint={"timeout_s": 0.3})
    assert result.entry.attempts == 2
    assert budget.possibly_paid.tokens


@pytest.mark.parametrize(
    ("faults", "endpoint", "said"),
    [
        ([fail(404, "model: claude-x", "not_found_error")], {}, "answered 404: model: claude-x"),
        ([fail(503, "down"), fail(503, "down")], {"retries": 1}, "after 2 tries in .* answered 503: down"),
        ([], {"key_env": None}, "answered 401: invalid x-api-key none"),
        ([], {"omit": []}, "cannot be called this way: .*seed.*`omit` leaves"),
        (
            [web.Response(status=307, headers={"Location": "http://127.0.0.2:1/x"})],
            {},
            "redirects to another host",
        ),
    ],
    ids=["no model", "down", "no key", "seed", "redirect"],
)
def test_what_cannot_be_mended_is_one_line(faults, endpoint, said):
    with pytest.raises(ModelFailed, match=f"^claude: .*{said}") as failed:
        ask(Anthropic(*faults), endpoint=endpoint)
    assert "\n" not in str(failed.value)


def test_nobody_there_is_said_with_the_address():
    settings, models = read_block("http://127.0.0.1:9", {"retries": 0})
    request, budget = make_asked(), Budget()

    async def send():
        client = open_client(settings, models, budget)
        try:
            await client.send({request.key(): request})
        finally:
            await client.close()

    with pytest.raises(ModelFailed, match=r"http://127\.0\.0\.1:9 cannot be connected to"):
        asyncio.run(send())
    assert budget.spent.tokens == 0


@pytest.mark.parametrize(
    ("faults", "endpoint", "said"),
    [
        ([fail(400, "prompt is too long", "invalid_request_error")], {}, "answered 400: prompt is too long"),
        ([], {"omit": ["seed"]}, "answered 400: ['top_p']"),
        ([], {"max_bytes": 10}, "sent more than 10 bytes"),
    ],
    ids=["too long", "top_p", "too large"],
)
def test_what_it_refuses_of_one_request_is_an_entry_without_an_answer(faults, endpoint, said):
    result, budget = ask(Anthropic(*faults), endpoint=endpoint)
    assert result.entry.is_unanswered
    assert said in result.entry.text
    assert bool(budget.spent.tokens) is ("max_bytes" in endpoint)
    assert budget.reserved.tokens == 0


def test_a_key_that_the_server_repeats_is_nowhere():
    refused = ask(Anthropic(fail(400, f"your key {KEY} is odd")))[0].entry
    assert KEY not in refused.text
    assert "[key removed]" in refused.text
    assert KEY not in ask(Anthropic(answer=lambda body: say(f"It is {KEY}.")))[0].entry.text


def test_the_budget_stops_before_it_would_be_passed():
    server, request = Anthropic(), make_asked()
    worst = estimate_prompt(request) + request.decoding["max_tokens"]
    with pytest.raises(BudgetSpent):
        ask(server, request, budget={"tokens": worst - 1})
    assert server.asked == []
    assert ask(server, request, budget={"tokens": worst})[0].entry.text == "Paris."


def test_an_answer_is_in_the_ledger_and_a_replay_asks_nobody(tmp_path):
    server, request = Anthropic(), make_asked()
    app = web.Application()
    app.router.add_post("/v1/messages", server.handle)
    with serving(app) as url, Ledger(tmp_path / "ledger.sqlite") as ledger:
        settings, models = read_block(url.removesuffix("/v1"))
        for _ in range(2):
            with Dispatcher(ledger, open_client(settings, models, Budget())) as dispatcher:
                entry = asyncio.run(dispatcher.ask(request)).entry
        assert (entry.text, len(server.asked)) == ("Paris.", 1)
        with Dispatcher(ledger, None) as replay:
            assert replay.find_recorded(request.key()).text == "Paris."


def test_what_it_cannot_do_is_bad_input(monkeypatch):
    role = Role(model="claude")
    with pytest.raises(
        BadInput, match=r"run\.endpoints\.claude: is of kind provider, which cannot embed texts"
    ):
        ask(Anthropic(), make_embedding("a text", role))
    monkeypatch.setattr(provider, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'benchloom\[providers\]'"):
        ask(Anthropic())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"provider": "chess"}, "is not an allowed value.*anthropic"),
        ({"provider": None}, "`provider` is required for kind provider"),
        ({"kind": "openai"}, "`provider` is required for kind provider"),
        ({"url": None}, "an endpoint of kind provider needs a url"),
        ({"omit": ["messages"]}, "is not an allowed value"),
    ],
)
def test_wrong_settings_are_one_line(entry, said):
    with pytest.raises(BadInput, match=said):
        read_block("http://127.0.0.1:9", entry)


def test_the_command_line_imports_nothing_of_it():
    code = "import sys, flows.cli; print({'any_llm', 'anthropic', 'mlflow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


class Loop(Anthropic):
    async def handle(self, request):
        self.asked.append(1)
        return web.Response(status=307, headers={"Location": str(request.url)})


def test_a_loop_of_redirects_is_sent_four_times():
    server = Loop()
    with pytest.raises(ModelFailed, match="redirected more than 3 times"):
        ask(server)
    assert len(server.asked) == 4
