import asyncio
import subprocess
import sys
import threading
import time

from tasks.models.recording.ledger import Ledger
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tests.models.scenes import MODEL, answering, make_endpoint, make_entry, make_request, say


def open_dispatcher(url, ledger, **settings):
    return Dispatcher(ledger, ModelClient({MODEL: make_endpoint(url, **settings)}, Budget()))


def test_an_answer_is_in_the_ledger_when_it_is_handed_out(live):
    async def answer(request):
        return say("ok")

    with (
        answering(answer) as url,
        Ledger(live) as ledger,
        open_dispatcher(url, ledger) as dispatcher,
    ):
        sent = asyncio.run(dispatcher.ask(make_request()))
        with Ledger(live) as other:
            assert other.get(make_request().key()) == sent.entry


def test_equal_requests_of_several_threads_are_sent_once(live):
    asked, lives = [], []

    async def answer(request):
        asked.append(1)
        await asyncio.sleep(0.1)
        return say("ok")

    async def ask_often(dispatcher):
        lives.extend(
            sent.live for sent in await asyncio.gather(*(dispatcher.ask(make_request()) for _ in range(5)))
        )

    with (
        answering(answer) as url,
        Ledger(live) as ledger,
        open_dispatcher(url, ledger) as dispatcher,
    ):
        threads = [threading.Thread(target=lambda: asyncio.run(ask_often(dispatcher))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(asked) == 1
    assert sum(lives) == 1  # only one of fifteen paid
    assert len(lives) == 15


def test_a_call_that_another_process_recorded_meanwhile_is_not_sent(live):
    asked = []

    async def answer(request):
        asked.append((await request.json())["messages"][0]["content"])
        with Ledger(live) as other:
            other.put(make_entry(make_request(2), "from elsewhere"))
        return say("ok")

    async def ask(dispatcher):
        return await asyncio.gather(dispatcher.ask(make_request(1)), dispatcher.ask(make_request(2)))

    with (
        answering(answer) as url,
        Ledger(live) as ledger,
        open_dispatcher(url, ledger, in_flight=1) as dispatcher,
    ):
        _, second = asyncio.run(ask(dispatcher))
    assert asked == ["question 1"]
    assert (second.entry.text, second.live) == ("from elsewhere", False)


def test_an_interrupted_run_keeps_what_is_in_flight_and_sends_no_more(live):
    asked = []

    async def answer(request):
        asked.append(1)
        await asyncio.sleep(0.3)
        return say("ok")

    async def interrupt(dispatcher):
        tasks = [asyncio.create_task(dispatcher.ask(make_request(number))) for number in range(6)]
        while len(asked) < 2:  # noqa: ASYNC110 - the server counts in a thread of its own
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with answering(answer) as url, Ledger(live) as ledger:
        with open_dispatcher(url, ledger, in_flight=2) as dispatcher:
            asyncio.run(interrupt(dispatcher))
        assert ledger.stats().live_calls == 2
    assert len(asked) == 2


def test_closing_does_not_wait_for_ever(live):
    async def answer(request):
        await asyncio.sleep(60)

    async def interrupt(dispatcher):
        task = asyncio.create_task(dispatcher.ask(make_request()))
        await asyncio.sleep(0.2)
        task.cancel()

    with answering(answer) as url, Ledger(live) as ledger:
        client = ModelClient(
            {MODEL: make_endpoint(url)}, Budget(), record_possibly_paid=ledger.record_possibly_paid
        )
        dispatcher = Dispatcher(ledger, client)
        asyncio.run(interrupt(dispatcher))
        started = time.monotonic()
        dispatcher.close(grace_s=0.1)
        assert time.monotonic() - started < 4
        assert [call.problem for call in ledger.list_possibly_paid()] == ["interrupted (CancelledError)"]


def test_a_call_keeps_its_place_in_flight_until_it_is_recorded(live, monkeypatch):
    asked, recording = [], asyncio.Event()

    async def answer(request):
        asked.append(1)
        return say("ok")

    async def record_slowly(self, entries):
        while not recording.is_set():  # noqa: ASYNC110 - set in another loop
            await asyncio.sleep(0.01)
        self.put_many(entries)

    async def ask(dispatcher):
        tasks = [asyncio.create_task(dispatcher.ask(make_request(number))) for number in range(5)]
        await asyncio.sleep(0.5)
        before = len(asked)
        recording.set()
        await asyncio.gather(*tasks)
        return before

    monkeypatch.setattr(Ledger, "put_async", record_slowly)
    with (
        answering(answer) as url,
        Ledger(live) as ledger,
        open_dispatcher(url, ledger, in_flight=2) as dispatcher,
    ):
        assert asyncio.run(ask(dispatcher)) <= 2
        assert ledger.stats().live_calls == len(asked) == 5


FULL = """
import asyncio, resource, sys
from tasks.models.recording.ledger import Ledger
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tests.models.scenes import MODEL, make_endpoint, make_request
ledger = Ledger(__import__("pathlib").Path(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
with Dispatcher(ledger, ModelClient({MODEL: make_endpoint(sys.argv[1])}, Budget())) as dispatcher:
    asyncio.run(dispatcher.ask(make_request()))
"""


def test_a_ledger_that_cannot_grow_is_found_before_a_model_is_paid(tmp_path):
    asked = []

    async def answer(request):
        asked.append(1)
        return say("paid")

    with answering(answer) as url:
        done = subprocess.run(
            [sys.executable, "-c", FULL, url, str(tmp_path / "l.sqlite")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert "BadInput" in done.stderr
    assert "cannot record a reply (file too large); no model was called" in done.stderr
    assert asked == []
