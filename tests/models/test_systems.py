"""Tests of calls to systems: keyed by name, version, request and epoch; failures are recorded."""

import asyncio
import json
import time
from dataclasses import replace

import pytest
from aiohttp import web

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput, CallMissing, ModelFailed
from tasks.models.ask import Unparsed
from tasks.models.calls import Call
from tasks.models.planning import PlanningModel
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.systems import SystemClient
from tasks.models.settings import BudgetLimits, SystemRun
from tasks.models.verifying import find_calls, find_model_calls
from tests.models.scenes import serving

PATIENT = {"timeout_s": 60.0, "deadline_s": 120.0, "retries": 3, "breaker_s": 0.05}


class Shop:
    """An HTTP system that answers with a given handler, and counts requests."""

    def __init__(self, handler):
        self.handler, self.bodies, self.headers = handler, [], []

    @property
    def app(self):
        app = web.Application()
        app.router.add_post("/v1/ask", self.answer)
        return app

    async def answer(self, request):
        self.bodies.append(await request.json())
        self.headers.append(request.headers)
        return await self.handler(request, len(self.bodies))


async def echo(request, number):
    return web.json_response({"answer": (await request.json())["q"].upper()})


def open_dispatcher(folder, url=None, budget=None, replay=False, **settings):
    budget = budget or Budget()
    if replay:
        return Dispatcher(Ledger(folder / "l.sqlite"), None, budget)
    systems = SystemClient({"shop": SystemRun(url=url, **{**PATIENT, **settings})})
    return Dispatcher(Ledger(folder / "l.sqlite"), ModelClient({}, budget), budget, systems=systems)


def make_ask(dispatcher, kind=RecordedModel, epoch=""):
    return kind(RequestBuilder("paper.stage", dispatcher.ledger.address.parent, {}, epoch=epoch), dispatcher)


def read(text):
    try:
        return json.loads(text)["answer"]
    except (ValueError, KeyError) as error:
        raise Unparsed("holds no answer") from error


async def put(ask, question="why", version="1", row="r", **more):
    body = {"q": question}
    return await ask.system(
        "shop",
        version,
        body,
        send=lambda transport: transport.post("/ask", body),
        row=row,
        parse=read,
        **more,
    )


def ask_once(folder, shop, question="why", **settings):
    with serving(shop.app) as url, open_dispatcher(folder, url, **settings) as dispatcher:
        ask = make_ask(dispatcher)
        return asyncio.run(put(ask, question)), ask


def test_an_answer_is_asked_once_and_replayed_without_a_connection(tmp_path):
    shop = Shop(echo)
    with serving(shop.app) as url, open_dispatcher(tmp_path, url) as dispatcher:
        live = make_ask(dispatcher)

        async def both():
            return await asyncio.gather(put(live, row="b"), put(live, row="a"))

        first, second = asyncio.run(both())
    assert (first.value, first.call, len(shop.bodies)) == ("WHY", second.call, 1)
    with open_dispatcher(tmp_path, replay=True) as dispatcher:
        replayed = make_ask(dispatcher)
        assert asyncio.run(put(replayed, row="a")).value == "WHY"
        with pytest.raises(CallMissing, match=r"paper\.stage: row r: .*system shop"):
            asyncio.run(put(replayed, "what"))
    assert replayed.call_rows() == live.call_rows()
    write_rows(tmp_path / "x.calls.parquet", Call, live.call_rows())
    (call,) = read_rows(tmp_path / "x.calls.parquet", Call)
    assert (call.row, call.role, call.model, call.identity) == ("a", "system", "shop", "1")
    assert call.to_request().key() == call.id
    assert live.usage().live_calls == 1


def test_name_version_request_and_epoch_make_the_key():
    keys = {
        RequestBuilder("s", None, {}, epoch=epoch).system_call(name, version, {"q": question}).key()
        for name in ("a", "b")
        for version in ("1", "2")
        for question in ("x", "y")
        for epoch in ("", "night")
    }
    assert len(keys) == 16
    builder = RequestBuilder("s", None, {})
    assert (
        builder.system_call("a", "1", {"p": 1, "q": 2}).key()
        == builder.system_call("a", "1", {"q": 2, "p": 1}).key()
    )


def test_a_new_night_asks_anew(tmp_path):
    shop = Shop(echo)
    with serving(shop.app) as url, open_dispatcher(tmp_path, url) as dispatcher:
        for epoch in ("monday", "tuesday", "monday"):
            asyncio.run(put(make_ask(dispatcher, epoch=epoch)))
    assert len(shop.bodies) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(tmp_path, status):
    async def stumble(request, number):
        return await echo(request, number) if number > 1 else web.Response(status=status)

    answer, ask = ask_once(tmp_path, Shop(stumble))
    assert (answer.value, answer.problem) == ("WHY", "")
    assert [call.parsed for call in ask.call_rows()] == [True]


def test_a_system_that_keeps_failing_at_a_question_has_failed_at_it(tmp_path):
    async def fail(request, number):
        return web.Response(status=500, text="out of\nideas")

    shop = Shop(fail)
    answer, ask = ask_once(tmp_path, shop, retries=1)
    assert (answer.value, answer.problem) == (None, "the system answered 500: out of ideas")
    assert len(shop.bodies) == 2
    (call,) = ask.call_rows()
    assert (call.finish_reason, call.parsed, call.text) == ("failed", False, answer.problem)
    with open_dispatcher(tmp_path, replay=True) as dispatcher:
        assert asyncio.run(put(make_ask(dispatcher))) == answer


def test_a_refusal_is_a_failed_call_at_once(tmp_path):
    async def refuse(request, number):
        return web.Response(status=403, text="no")

    shop = Shop(refuse)
    answer, _ = ask_once(tmp_path, shop)
    assert (answer.value, answer.problem, len(shop.bodies)) == (None, "the system answered 403: no", 1)


def test_a_key_that_is_refused_is_no_answer_and_is_not_kept(tmp_path):
    async def refuse(request, number):
        return web.Response(status=401)

    shop = Shop(refuse)
    with pytest.raises(ModelFailed, match=r"the system answered 401; is its key_env right\?"):
        ask_once(tmp_path, shop)
    assert len(shop.bodies) == 1
    with open_dispatcher(tmp_path, replay=True) as dispatcher, pytest.raises(CallMissing):
        asyncio.run(put(make_ask(dispatcher)))


def test_a_reply_that_does_not_parse_is_kept_and_not_asked_again(tmp_path):
    async def babble(request, number):
        return web.Response(text="<html>")

    shop = Shop(babble)
    answer, _ = ask_once(tmp_path, shop)
    assert (answer.value, answer.text, answer.problem) == (None, "<html>", "holds no answer")
    assert len(shop.bodies) == 1


def test_a_system_that_is_not_there_or_has_no_time_stops_the_stage_and_is_not_recorded(tmp_path):
    async def busy(request, number):
        return web.Response(status=429, headers={"Retry-After": "0"})

    with pytest.raises(ModelFailed, match=r"shop: no answer after 2 tries; the system answered 429"):
        ask_once(tmp_path, Shop(busy), retries=1)
    with (
        open_dispatcher(tmp_path, "http://127.0.0.1:9", retries=1) as dispatcher,
        pytest.raises(ModelFailed, match=r"shop: .*cannot be connected to"),
    ):
        asyncio.run(put(make_ask(dispatcher)))
    with open_dispatcher(tmp_path, replay=True) as dispatcher, pytest.raises(CallMissing):
        asyncio.run(put(make_ask(dispatcher)))


def test_a_redirect_to_another_host_is_refused(tmp_path):
    other = Shop(echo)
    with serving(other.app) as elsewhere:

        async def send_away(request, number):
            return web.Response(status=307, headers={"Location": f"{elsewhere}/ask"})

        answer, _ = ask_once(tmp_path, Shop(send_away), key_env=None)
    assert answer.problem == "the system answered 307: a redirect to another host"
    assert other.bodies == []


def test_a_redirect_on_the_same_host_is_followed_but_not_for_ever(tmp_path):
    async def move(request, number):
        if "moved" in request.query:
            return await echo(request, number)
        return web.Response(status=308, headers={"Location": "/v1/ask?moved=1"})

    async def turn_round(request, number):
        return web.Response(status=307, headers={"Location": "/v1/ask"})

    assert ask_once(tmp_path, Shop(move))[0].value == "WHY"
    answer, _ = ask_once(tmp_path, Shop(turn_round), "what")
    assert answer.problem == "the system redirected more than 3 times"


def test_a_reply_that_does_not_come_is_a_failure_after_its_tries(tmp_path):
    async def sleep(request, number):
        await asyncio.sleep(60)

    started = time.monotonic()
    answer, _ = ask_once(tmp_path, Shop(sleep), timeout_s=0.3, retries=0)
    assert answer.problem == "the system gave no reply in time"
    assert time.monotonic() - started < 30


def test_a_key_comes_from_the_environment_and_goes_nowhere_else(tmp_path, monkeypatch):
    async def leak(request, number):
        return web.json_response({"answer": request.headers["X-Key"]})

    monkeypatch.setenv("SHOP_KEY", "s3cr3t-value")
    shop = Shop(leak)
    answer, _ = ask_once(tmp_path, shop, key_env="SHOP_KEY", key_header="X-Key")
    assert shop.headers[0]["X-Key"] == "s3cr3t-value"
    assert answer.value == "[key removed]"
    assert b"s3cr3t" not in b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    monkeypatch.delenv("SHOP_KEY")
    with pytest.raises(BadInput, match=r"run\.systems\.shop\.key_env: .* SHOP_KEY is not set"):
        ask_once(tmp_path, shop, "what", key_env="SHOP_KEY")


def test_a_system_costs_no_budget(tmp_path):
    shop = Shop(echo)
    budget = Budget(BudgetLimits(usd=0.0, tokens=0))
    with serving(shop.app) as url, open_dispatcher(tmp_path, url, budget) as dispatcher:
        ask = make_ask(dispatcher)
        asyncio.run(put(ask))
        usage = ask.usage()
    assert (usage.live_calls, usage.usd, usage.paid.tokens, budget.spent.tokens) == (1, 0.0, 0, 0)


def test_a_plan_counts_calls_and_sends_none(tmp_path):
    shop = Shop(echo)
    with serving(shop.app) as url, open_dispatcher(tmp_path, url) as dispatcher:
        asyncio.run(put(make_ask(dispatcher)))

        async def both(ask):
            return await asyncio.gather(put(ask), put(ask, "what"))

        ask = make_ask(dispatcher, PlanningModel)
        known, new = asyncio.run(both(ask))
    plan = ask.count()
    assert (known.value, new.value) == ("WHY", None)
    assert [(call.role, call.prompt_tokens, call.max_tokens) for call in (*plan.new, *plan.known)] == [
        ("system", 0, 0)
    ] * 2
    assert (len(plan.new), len(plan.known)) == (1, 1)
    assert len(shop.bodies) == 1


def test_calls_to_systems_are_shipped_but_no_model_is_asked_for_them_again(tmp_path):
    _, ask = ask_once(tmp_path, Shop(echo))
    calls = [replace(row, stage="paper-stage@shop") for row in ask.call_rows()]
    write_rows(tmp_path / "data" / "x.calls.parquet", Call, calls)
    assert find_calls(tmp_path / "data", "paper") == find_calls(tmp_path / "data") == calls
    assert find_calls(tmp_path / "data", "pap") == []
    assert find_model_calls(tmp_path / "data") == []


def test_calls_of_many_stay_within_what_is_let_in(tmp_path):
    now, peak = 0, 0

    async def slow(request, number):
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        await asyncio.sleep(0.05)
        now -= 1
        return await echo(request, number)

    shop = Shop(slow)
    with serving(shop.app) as url, open_dispatcher(tmp_path, url, in_flight=3) as dispatcher:
        ask = make_ask(dispatcher)

        async def many():
            return await asyncio.gather(*(put(ask, f"q{number}") for number in range(20)))

        answers = asyncio.run(many())
    assert [answer.value for answer in answers] == [f"Q{number}" for number in range(20)]
    assert peak <= 3


def test_the_queue_is_not_the_systems_time(tmp_path):
    async def slow(request, number):
        await asyncio.sleep(0.3)
        return await echo(request, number)

    settings = {"in_flight": 1, "timeout_s": 20.0, "deadline_s": 20.0, "retries": 0}
    with serving(Shop(slow).app) as url, open_dispatcher(tmp_path, url, **settings) as dispatcher:
        connection = dispatcher._systems.connect("shop")
        connection.settings = connection.settings.model_copy(update={"deadline_s": 1.0})
        ask = make_ask(dispatcher)

        async def many():
            return await asyncio.gather(*(put(ask, f"q{number}") for number in range(6)))

        answers = asyncio.run(many())
    assert [answer.value for answer in answers] == [f"Q{number}" for number in range(6)]


def answer_plainly(question, history):
    return {"answer": f"{question} after {len(history)}"}


async def answer_later(question, history):
    await asyncio.sleep(0)
    return {"answer": question}


def answer_never(question, history):
    time.sleep(3600)


def raise_always(question, history):
    raise ValueError("no idea\nat all")


def answer_oddly(question, history):
    return {"answer": {1, 2}}


HERE = "tests.models.test_systems"


@pytest.mark.parametrize(
    ("function", "value", "problem"),
    [
        ("answer_plainly", "why after 0", ""),
        ("answer_later", "why", ""),
        ("answer_never", None, "the system gave no reply in time"),
        ("raise_always", None, "the system raised ValueError: no idea at all"),
        ("answer_oddly", None, "the system raised TypeError: Object of type set is not JSON serializable"),
    ],
)
def test_a_function_is_called_with_the_same_care(tmp_path, function, value, problem):
    async def call(ask):
        return await ask.system(
            "shop", "1", {"f": function, "q": "why"}, row="r", parse=read,
            send=lambda transport: transport.call(f"{HERE}:{function}", question="why", history=[]),
        )  # fmt: skip

    with open_dispatcher(tmp_path, timeout_s=20.0 if value else 0.5, retries=0) as dispatcher:
        answer = asyncio.run(call(make_ask(dispatcher)))
    assert (answer.value, answer.problem) == (value, problem)


@pytest.mark.parametrize(
    ("function", "said"), [("nowhere_at_all:f", "cannot be imported"), (f"{HERE}:g", "no function")]
)
def test_a_function_that_is_not_there_is_bad_input(tmp_path, function, said):
    async def call(ask):
        return await ask.system(
            "shop", "1", {"f": function}, row="r", parse=read, send=lambda transport: transport.call(function)
        )

    with open_dispatcher(tmp_path) as dispatcher, pytest.raises(BadInput, match=said):
        asyncio.run(call(make_ask(dispatcher)))
