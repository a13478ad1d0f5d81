import asyncio
import hashlib

import numpy as np
import pytest
from aiohttp import web
from openai import OpenAI

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import CallMissing
from tasks.models.ask import Role
from tasks.models.calls import Call
from tasks.models.planning import PlanningModel
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder, make_embedding, round_vector
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.replies import UnusableReply, parse_embeddings
from tests.models.scenes import MODEL, LedgerServer, make_endpoint, make_entry, serving

ROLE = Role(model=MODEL)
PATIENT = {"timeout_s": 60.0, "deadline_s": 120.0}
TEXTS = [f"text {number}" for number in range(7)]


def draw_vector(text):
    return [byte / 7 for byte in hashlib.sha256(text.encode()).digest()[:4]]


@pytest.fixture
def embedder():
    """An endpoint that embeds texts, and the received request bodies."""
    bodies = []

    async def answer(request):
        body = await request.json()
        bodies.append(body)
        rows = [
            {"object": "embedding", "index": number, "embedding": draw_vector(text)}
            for number, text in enumerate(body["input"])
        ]
        total = 10 * len(rows)
        return web.json_response(
            {"data": rows[::-1], "usage": {"prompt_tokens": total, "total_tokens": total}}
        )

    app = web.Application()
    app.router.add_post("/v1/embeddings", answer)
    with serving(app) as url:
        yield url, bodies


def open_dispatcher(folder, url):
    budget = Budget()
    client = ModelClient({MODEL: make_endpoint(url, texts_per_call=3, **PATIENT)}, budget) if url else None
    return Dispatcher(Ledger(folder / "l.sqlite"), client, budget)


def make_ask(dispatcher, kind=RecordedModel):
    return kind(
        RequestBuilder("paper.stage", dispatcher.ledger.address.parent, {"embedder": ROLE}), dispatcher
    )


def embed(ask, texts):
    return asyncio.run(ask.embed(texts, role="embedder", row="r"))


def test_texts_go_out_together_and_each_is_a_call_of_its_own(tmp_path, embedder):
    url, bodies = embedder
    with open_dispatcher(tmp_path, url) as dispatcher:
        ask = make_ask(dispatcher)
        vectors = embed(ask, TEXTS)
        assert vectors == [round_vector(draw_vector(text)) for text in TEXTS]
        assert sorted(len(body["input"]) for body in bodies) == [1, 3, 3]
        assert embed(ask, [TEXTS[2], "new", TEXTS[2]])[0] == vectors[2]
        assert bodies[-1]["input"] == ["new"]
        usage = ask.usage()
        assert (usage.live_calls, usage.prompt_tokens, usage.completion_tokens) == (8, 80, 0)
        # The joint cost of several texts is divided by estimate.
        assert usage.estimated_calls == 6
        assert usage.paid.tokens == dispatcher.budget.spent.tokens == 80


def test_a_replay_gives_the_same_vectors_and_names_what_is_missing(tmp_path, embedder):
    url, _ = embedder
    with open_dispatcher(tmp_path, url) as dispatcher:
        live = make_ask(dispatcher)
        vectors = embed(live, TEXTS)
    with open_dispatcher(tmp_path, None) as dispatcher:
        replayed = make_ask(dispatcher)
        assert embed(replayed, TEXTS) == vectors
        assert replayed.call_rows() == live.call_rows()
        with pytest.raises(CallMissing, match=r"paper\.stage: row r"):
            embed(replayed, ["another"])
    write_rows(tmp_path / "x.calls.parquet", Call, live.call_rows())
    assert all(call.to_request().key() == call.id for call in read_rows(tmp_path / "x.calls.parquet", Call))


def test_a_plan_counts_texts(tmp_path, embedder):
    url, bodies = embedder
    with open_dispatcher(tmp_path, url) as dispatcher:
        embed(make_ask(dispatcher), TEXTS[:2])
    asked = len(bodies)
    with open_dispatcher(tmp_path, None) as dispatcher:
        ask = make_ask(dispatcher, PlanningModel)
        assert [bool(vector) for vector in embed(ask, TEXTS)] == [True] * 2 + [False] * 5
        plan = ask.count()
    assert (len(plan.new), len(plan.known)) == (5, 2)
    assert {call.max_tokens for call in plan.new} == {0}
    assert len(bodies) == asked


def test_a_ledger_serves_what_it_recorded_to_a_client_of_anybodys(tmp_path):
    requests = [make_embedding(text, ROLE) for text in TEXTS]
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.put_many(
            make_entry(request, "", extra={"embedding": draw_vector(text)})
            for request, text in zip(requests, TEXTS, strict=True)
        )
        app = LedgerServer(ledger).application()
        with serving(app) as url, OpenAI(api_key="none", base_url=url) as client:
            reply = client.embeddings.create(model=MODEL, input=TEXTS[:3], encoding_format="float")
    assert [row.embedding for row in reply.data] == [draw_vector(text) for text in TEXTS[:3]]


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"data": []}', b'{"data": [{"index": 0, "embedding": ["x"]}]}', b'{"data": [{"index": 1}]}'],
)
def test_a_reply_without_its_vectors_is_unusable(body):
    with pytest.raises(UnusableReply, match="not a list of 1 embeddings"):
        parse_embeddings(body, [make_embedding("a", ROLE)])


def test_ten_digits_give_back_every_float32():
    values = np.random.default_rng(3).normal(size=1_000).astype(np.float32)
    assert (np.array(round_vector(values.tolist()), dtype=np.float32) == values).all()
