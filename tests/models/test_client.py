import asyncio
import logging
import subprocess
import sys
import time

import pytest
from aiohttp import web

from tasks.errors import BadInput, BudgetSpent, ModelFailed, ModelRefused
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import REFUSED_ALIKE, ModelClient
from tasks.models.sending.replies import estimate_worst_case
from tasks.models.serving.ledger_server import FAULTS
from tasks.models.settings import BudgetLimits, Endpoint
from tests.models.scenes import (
    MODEL,
    LedgerServer,
    answering,
    make_endpoint,
    make_request,
    record,
    say,
    serving,
)


def send(url, *requests, budget=None, admit=lambda key: True, possibly_paid=None, **settings):
    """Send concurrent requests through a new client."""

    async def run():
        book = possibly_paid.append if possibly_paid is not None else lambda _: None
        client = ModelClient(
            {MODEL: make_endpoint(url, **settings)}, budget or Budget(), record_possibly_paid=book
        )
        try:
            results = await asyncio.gather(
                *(client.send({request.key(): request}, admit) for request in requests)
            )
            return [sent for result in results for sent in result.values()]
        finally:
            await client.close()

    return asyncio.run(run())


def test_a_reply_is_recorded_as_the_provider_counted_it():
    async def answer(request):
        return say("hello", prompt_tokens=11, completion_tokens=2)

    with answering(answer) as url:
        (sent,) = send(url, make_request())
    entry = sent.entry
    assert (entry.text, entry.prompt_tokens, entry.completion_tokens, entry.estimated) == (
        "hello",
        11,
        2,
        False,
    )
    assert entry.key == make_request().key()
    assert sent.live
    assert entry.attempts == 1


def test_tokens_that_nobody_counted_are_marked_as_estimated():
    async def answer(request):
        return say("x" * 40)

    with answering(answer) as url:
        (sent,) = send(url, make_request())
    assert (sent.entry.completion_tokens, sent.entry.estimated) == (10, True)


def test_constraints_travel_in_the_protocols_own_fields():
    bodies = []

    async def answer(request):
        bodies.append(await request.json())
        return say("ok")

    schema = {"type": "object"}
    with answering(answer) as url:
        send(url, make_request(constraint={"grammar": "root ::= [a-z]"}), served_model="other-name")
        send(url, make_request(constraint={"json_schema": schema}))
    assert bodies[0]["grammar"] == "root ::= [a-z]"
    assert bodies[0]["model"] == "other-name"
    assert bodies[1]["response_format"]["json_schema"]["schema"] == schema
    assert bodies[1]["model"] == MODEL


def test_every_kind_of_fault_is_overcome_and_booked(tmp_path):
    requests = [make_request(number) for number in range(60)]
    possibly_paid, budget = [], Budget()
    with record(tmp_path / "l.sqlite", requests) as ledger:
        server = LedgerServer(ledger, faults=1.0, seed=3)
        with serving(server.application()) as url:
            sent = send(
                url,
                *requests,
                possibly_paid=possibly_paid,
                budget=budget,
                timeout_s=8.0,
                in_flight=60,
                breaker=100,
            )
    assert [answer.entry.text for answer in sent] == [f"answer to question {number}" for number in range(60)]
    assert {answer.entry.attempts for answer in sent} == {2}
    assert set(server.counts.faults) == set(FAULTS)
    assert (server.counts.requests, server.counts.paid_twice) == (120, 0)
    lost = sum(server.counts.faults[kind] for kind in ("drop", "cut", "notjson", "hang", "500", "503"))
    assert len(possibly_paid) == lost
    assert budget.reserved.tokens == 0


def test_a_refused_request_fails_alone_at_once_and_says_why():
    asked = []

    async def answer(request):
        asked.append(1)
        return web.json_response({"error": {"message": "max_tokens\nis too large"}}, status=400)

    with answering(answer) as url:
        (sent,) = send(url, make_request())
    assert sent.entry.is_unanswered
    assert sent.entry.text == "the endpoint answered 400: max_tokens is too large"
    assert len(asked) == 1


def test_ten_items_that_are_refused_alike_end_the_run():
    asked = []

    async def answer(request):
        asked.append(1)
        return web.json_response({"error": {"message": "no such parameter"}}, status=400)

    requests = [make_request(number) for number in range(30)]
    with answering(answer) as url, pytest.raises(ModelFailed, match="answered 400: no such parameter"):
        send(url, *requests, in_flight=1)
    assert len(asked) == REFUSED_ALIKE


def test_a_refusal_after_answers_never_ends_the_run():
    async def answer(request):
        text = (await request.json())["messages"][-1]["content"]
        if text.endswith("0"):
            return say("ok")
        return web.json_response({"error": {"message": "filtered", "code": "content_filter"}}, status=400)

    requests = [make_request(number) for number in range(30)]
    with answering(answer) as url:
        sent = send(url, *requests, in_flight=1)
    assert sum(call.entry.is_unanswered for call in sent) == 27


def test_the_endpoints_wish_to_wait_is_honoured():
    times = []

    async def answer(request):
        times.append(time.monotonic())
        if len(times) == 1:
            return web.json_response({"error": {"message": "slow"}}, status=429, headers={"Retry-After": "1"})
        return say("ok")

    with answering(answer) as url:
        send(url, make_request())
    assert times[1] - times[0] >= 1.0


def test_a_wait_beyond_the_deadline_is_not_waited_for():
    async def answer(request):
        return web.json_response({"error": {"message": "later"}}, status=503, headers={"Retry-After": "3600"})

    with (
        answering(answer) as url,
        pytest.raises(ModelFailed, match=r"no usable reply after 1 try in.*503: later"),
    ):
        send(url, make_request())


def test_the_last_retry_is_the_last():
    asked = []

    async def answer(request):
        asked.append(1)
        return web.Response(text="<html>", content_type="application/json")

    with answering(answer) as url, pytest.raises(ModelFailed, match=r"after 2 tries.*is not valid JSON"):
        send(url, make_request(), retries=1)
    assert len(asked) == 2


def test_the_queue_is_bounded(tmp_path):
    requests = [make_request(number) for number in range(30)]
    with record(tmp_path / "l.sqlite", requests) as ledger:
        server = LedgerServer(ledger, latency_s=0.01)
        with serving(server.application()) as url:
            send(url, *requests, in_flight=3)
    assert server.counts.peak_concurrency == 3


def test_what_is_refused_at_the_last_moment_is_not_asked_for():
    async def answer(request):
        raise AssertionError("was asked")

    budget = Budget()
    with answering(answer) as url:
        assert send(url, make_request(), admit=lambda key: key != make_request().key(), budget=budget) == []
    assert budget.reserved.tokens == budget.spent.tokens == 0


def test_the_budget_is_never_passed_and_what_fits_is_answered():
    async def answer(request):
        return say("ok", prompt_tokens=10, completion_tokens=10)

    budget = Budget(BudgetLimits(tokens=100))

    async def run(url):
        client = ModelClient({MODEL: make_endpoint(url)}, budget)
        results = await asyncio.gather(
            *(client.send({str(n): make_request(n)}) for n in range(20)), return_exceptions=True
        )
        await client.close()
        return results

    with answering(answer) as url:
        results = asyncio.run(run(url))
    assert {type(result) for result in results if isinstance(result, Exception)} == {BudgetSpent}
    assert sum(not isinstance(result, Exception) for result in results) == 4  # a fifth may need 23 of 20 left
    assert budget.spent.tokens == 80


def test_the_key_is_sent_and_shown_nowhere(monkeypatch, caplog):
    secret = "sk-very-secret-1234"
    monkeypatch.setenv("TESTER_KEY", secret)
    caplog.set_level(logging.DEBUG)
    seen = []

    async def answer(request):
        seen.append(request.headers["Authorization"])
        status = 500 if len(seen) == 1 else 401
        return web.json_response({"error": {"message": f"bad key {secret}"}}, status=status)

    possibly_paid = []
    with answering(answer) as url, pytest.raises(ModelFailed) as caught:
        send(url, make_request(), key_env="TESTER_KEY", possibly_paid=possibly_paid)
    assert seen == [f"Bearer {secret}"] * 2
    assert str(caught.value) == "tester: the endpoint answered 401: bad key [key removed]"
    assert isinstance(caught.value, ModelRefused), "another try gets the same"
    assert secret not in caplog.text
    assert secret not in repr(possibly_paid)


def test_a_missing_key_names_its_variable(monkeypatch):
    monkeypatch.delenv("TESTER_KEY", raising=False)
    with pytest.raises(BadInput, match="the environment variable TESTER_KEY is not set"):
        send("http://127.0.0.1:9/v1", make_request(), key_env="TESTER_KEY")


def test_an_unknown_model_names_those_there_are():
    with pytest.raises(BadInput, match=r"run\.endpoints\.tester: is missing \(known: other\)"):
        asyncio.run(
            ModelClient({"other": Endpoint(url="http://127.0.0.1:9/v1")}, Budget()).send(
                {"0": make_request()}
            )
        )


def test_nobody_listening_costs_nothing_and_is_named_with_its_address():
    possibly_paid, budget = [], Budget()
    with pytest.raises(
        ModelFailed, match=r"http://127\.0\.0\.1:9/v1 cannot be connected to \(connection refused\)"
    ):
        send("http://127.0.0.1:9/v1", make_request(), retries=1, possibly_paid=possibly_paid, budget=budget)
    assert possibly_paid == []
    assert budget.spent.tokens == 0


HALF_IMPORTED = """
import importlib.abc, sys, threading
import tasks.models.sending.client

held, going = threading.Event(), threading.Event()

class Hold(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "httpx._config":
            going.set()
            held.wait(20)

sys.meta_path.insert(0, Hold())
other = threading.Thread(target=lambda: (__import__("httpx"), going.set()))
other.start()
going.wait()
try:
    from openai import AsyncOpenAI
    AsyncOpenAI(base_url="http://127.0.0.1:9", api_key="none").with_options(timeout=1.0)
    from openai._httpx2 import normalize_httpx_timeout
    normalize_httpx_timeout(1.0)
finally:
    held.set()
    other.join()
"""


def test_a_call_is_sent_while_another_thread_imports_the_older_http_library():
    done = subprocess.run(
        [sys.executable, "-c", HALF_IMPORTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_loop_of_redirects_is_sent_four_times_and_each_is_booked():
    asked, possibly_paid, budget = [], [], Budget()

    async def answer(request):
        asked.append(1)
        return web.Response(status=307, headers={"Location": str(request.url)})

    with answering(answer) as url, pytest.raises(ModelFailed, match="redirected more than 3 times"):
        send(url, make_request(), possibly_paid=possibly_paid, budget=budget)
    assert (len(asked), len(possibly_paid)) == (4, 4)
    assert budget.spent == budget.possibly_paid
    assert budget.spent.tokens == 4 * sum(estimate_worst_case([make_request()]))
