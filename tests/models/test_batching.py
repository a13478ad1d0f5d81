import asyncio
import contextlib
import json
import time

import pytest

from tasks.errors import BadInput, BudgetSpent, ModelFailed
from tasks.models.ask import Role
from tasks.models.recording.entries import UNANSWERED, LedgerEntry
from tasks.models.recording.ledger import Ledger, OpenBatch
from tasks.models.request_builder import make_embedding
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import BatchMode, BudgetLimits, Endpoint, Price
from tests.models.ledger_places import place_ledger
from tests.models.scenes import MODEL, LedgerServer, make_endpoint, make_entry, make_request, record, serving

MODE = BatchMode(stages=("*",), gather_s=0.05, poll_s=0.05)
PATIENT = {"timeout_s": 60.0, "deadline_s": 120.0}
ROLE = Role(model=MODEL)
PRICE = {MODEL: Price(input_usd_per_million=1.0, output_usd_per_million=1.0)}


def open_dispatcher(url, ledger, budget=None, mode=MODE, **settings):
    budget = budget or Budget()
    client = ModelClient(
        {MODEL: make_endpoint(url, **{**PATIENT, **settings})},
        budget,
        record_possibly_paid=ledger.record_possibly_paid,
    )
    return Dispatcher(ledger, client, budget, mode)


def ask(dispatcher, requests):
    async def run():
        asked = (dispatcher.ask_all({request.key(): request}, batch=True) for request in requests)
        return [sent for result in await asyncio.gather(*asked) for sent in result.values()]

    return asyncio.run(run())


@pytest.fixture
def scene(tmp_path, live):
    """Forty recorded calls, a server that answers from them, and an empty ledger."""
    requests = [make_request(number) for number in range(40)]
    with record(tmp_path / "recorded.sqlite", requests) as recorded, Ledger(live) as ledger:
        yield requests, LedgerServer(recorded), ledger


def test_calls_go_out_in_one_file_and_come_back_into_the_ledger(scene):
    requests, server, ledger = scene
    budget = Budget(prices=PRICE)
    with serving(server.application()) as url, open_dispatcher(url, ledger, budget) as dispatcher:
        sent = ask(dispatcher, requests)
    assert [answer.entry.text for answer in sent] == [f"answer to question {number}" for number in range(40)]
    assert len(server.batches.batches) == 1
    assert server.counts.requests == 0  # no single calls
    assert ledger.stats().live_calls == 40
    assert ledger.list_batches() == []
    # 40 calls with 7 + 3 tokens at half of $1 per million.
    assert budget.spent.usd == pytest.approx(40 * 10 * 0.5e-6)
    assert budget.reserved.tokens == 0


def test_a_batch_holds_no_more_than_it_may(scene):
    requests, server, ledger = scene
    mode = MODE.model_copy(update={"calls": 15})
    with serving(server.application()) as url, open_dispatcher(url, ledger, mode=mode) as dispatcher:
        ask(dispatcher, requests)
    sizes = [len(server.batches.files[batch.input].splitlines()) for batch in server.batches.batches.values()]
    assert sizes == [15, 15, 10]


def test_lines_that_fail_go_into_the_next_batch(scene):
    requests, server, ledger = scene
    server._faults = 0.5
    with serving(server.application()) as url, open_dispatcher(url, ledger) as dispatcher:
        sent = ask(dispatcher, requests)
    assert len({answer.entry.key for answer in sent}) == 40
    failed = sum(server.counts.faults.values())
    assert failed > 5
    _, second = server.batches.batches.values()
    assert len(server.batches.files[second.input].splitlines()) == failed
    assert server.counts.paid_twice == 0


def test_a_line_that_is_refused_fails_its_item_alone_and_is_asked_again_by_the_next_run(tmp_path, live):
    requests = [make_request(number) for number in range(5)]
    refusal = LedgerEntry(requests[4].key(), "answered 400: too long", UNANSWERED, 0, 0)
    with record(tmp_path / "recorded.sqlite", requests[:4]) as recorded, Ledger(live) as ledger:
        recorded.put(refusal)
        server = LedgerServer(recorded)
        with serving(server.application()) as url:
            with open_dispatcher(url, ledger) as dispatcher:
                sent = ask(dispatcher, requests)
                assert [answer.entry.is_unanswered for answer in sent] == [False] * 4 + [True]
                assert "answered 400: answered 400: too long" in sent[4].entry.text
                assert len(server.batches.batches) == 1, "a refusal is not sent again"
            recorded.put(make_entry(requests[4], "short enough now"))
            with open_dispatcher(url, ledger) as dispatcher:
                (healed,) = ask(dispatcher, requests[4:])
        assert healed.entry.text == "short enough now"
        assert ledger.get(requests[4].key()).text == "short enough now"


def test_what_was_open_when_a_run_ended_is_collected_by_the_next_and_paid_once(scene):
    requests, server, ledger = scene
    server.batches.takes_s = 1.0

    async def leave(dispatcher):
        task = asyncio.create_task(dispatcher.ask_all({requests[0].key(): requests[0]}, batch=True))
        while not any(batch.id for batch in ledger.list_batches()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        task.cancel()

    with serving(server.application()) as url:
        with open_dispatcher(url, ledger) as dispatcher:
            asyncio.run(leave(dispatcher))
        (left,) = ledger.list_batches()
        assert left.keys == (requests[0].key(),)
        with open_dispatcher(url, ledger) as dispatcher:
            sent = ask(dispatcher, requests[:2])
    assert [answer.live for answer in sent] == [True, True]
    assert (len(server.batches.batches), server.counts.paid_twice) == (2, 0)
    assert ledger.list_batches() == []


def test_a_batch_whose_id_was_lost_is_found_by_its_token(scene):
    requests, server, ledger = scene
    with serving(server.application()) as url:
        with open_dispatcher(url, ledger) as dispatcher:
            ask(dispatcher, requests[:3])
        (batch,) = server.batches.batches.values()
        token = batch.metadata["benchloom"]
        # Simulate a process killed between the batch's creation and the reply.
        ledger.prune(1e12)
        keys = tuple(request.key() for request in requests[:3])
        asyncio.run(ledger.book_batch(OpenBatch(token, MODEL, "", keys, batch.created)))
        with open_dispatcher(url, ledger) as dispatcher:
            ask(dispatcher, requests[:3])
    assert len(server.batches.batches) == 1
    assert ledger.stats().live_calls == 3


def test_a_batch_that_was_never_created_is_submitted_anew(scene):
    requests, server, ledger = scene
    asyncio.run(ledger.book_batch(OpenBatch("ab" * 16, MODEL, "", (requests[0].key(),), 0.0)))
    with serving(server.application()) as url, open_dispatcher(url, ledger) as dispatcher:
        ask(dispatcher, requests[:1])
    assert len(server.batches.batches) == 1
    assert ledger.list_batches() == []


def test_texts_are_embedded_by_batch(tmp_path, scene):
    _, server, ledger = scene
    texts = [make_embedding(f"text {number}", ROLE) for number in range(3)]
    server._ledger.put_many(make_entry(text, "", extra={"embedding": [0.5, 0.25]}) for text in texts)
    with serving(server.application()) as url, open_dispatcher(url, ledger) as dispatcher:
        sent = ask(dispatcher, texts)
    assert [answer.entry.extra["embedding"] for answer in sent] == [[0.5, 0.25]] * 3
    assert {batch.endpoint for batch in server.batches.batches.values()} == {"/v1/embeddings"}


def test_a_call_that_is_refused_is_one_clear_line(tmp_path, scene):
    _, server, ledger = scene
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger) as dispatcher,
        pytest.raises(
            ModelFailed, match="tester: in batch mode, the endpoint answered 404: no ledger contains"
        ),
    ):
        ask(dispatcher, [make_request(99)])


def test_the_budget_holds_for_batches(scene):
    requests, server, ledger = scene
    # Each call reserves 6 + 16 tokens and uses 10: four at a time, then fewer.
    budget = Budget(BudgetLimits(tokens=100))
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, budget) as dispatcher,
        pytest.raises(BudgetSpent),
    ):
        ask(dispatcher, requests)
    assert 0 < budget.spent.tokens <= 100
    assert ledger.stats().live_calls == budget.spent.tokens / 10


@pytest.mark.parametrize(
    "endpoint",
    [
        Endpoint(kind="embedded"),
        Endpoint(kind="provider", provider="anthropic", url="http://127.0.0.1:9"),
    ],
)
def test_an_endpoint_of_another_kind_has_no_batches(scene, endpoint):
    requests, _, ledger = scene
    client = ModelClient({MODEL: endpoint}, Budget())
    with (
        Dispatcher(ledger, client, batch=MODE) as dispatcher,
        pytest.raises(BadInput, match="has no Batch API"),
    ):
        ask(dispatcher, requests[:1])


def test_stages_are_named_by_pattern():
    mode = BatchMode(stages=("grammar-text-templates@*",))
    assert mode.covers("grammar-text-templates@films")
    assert not mode.covers("grammar-sql-templates@films")


def test_a_line_is_what_a_single_call_would_post(scene):
    requests, server, ledger = scene
    with (
        serving(server.application()) as url,
        open_dispatcher(url, ledger, served_model="theirs") as dispatcher,
    ):
        ask(dispatcher, requests[:1])
    (batch,) = server.batches.batches.values()
    line = json.loads(server.batches.files[batch.input])
    assert line["custom_id"] == requests[0].key()
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["body"]["model"] == "theirs"
    assert line["body"]["messages"] == [{"role": "user", "content": "question 0"}]


def test_a_call_in_a_batch_that_another_process_follows_waits_for_it(tmp_path):
    request = make_request()
    key = request.key()

    async def ask_and_collect(dispatcher, other, theirs):
        asked = asyncio.create_task(dispatcher.ask_all({key: request}, batch=True))
        await asyncio.sleep(2.0)
        await other.close_batch("token", [make_entry(request, "by their batch")])
        theirs.release("token")
        return (await asked)[key]

    with (
        place_ledger("postgresql", tmp_path) as live,  # whose locks conflict like two processes
        record(tmp_path / "recorded.sqlite", [request]) as recorded,
        Ledger(live) as ledger,
        Ledger(live) as other,
        contextlib.closing(other.open_locks()) as theirs,
    ):
        server = LedgerServer(recorded)
        asyncio.run(other.book_batch(OpenBatch("token", MODEL, "their-batch", (key,), time.time())))
        assert theirs.acquire("token")
        with serving(server.application()) as url, open_dispatcher(url, ledger) as dispatcher:
            sent = asyncio.run(ask_and_collect(dispatcher, other, theirs))
    assert sent.entry.text == "by their batch"
    assert not server.batches.batches
