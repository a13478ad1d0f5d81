import asyncio

import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput, CallMissing
from tasks.models.ask import Role, Unparsed
from tasks.models.calls import Call
from tasks.models.planning import PlanningModel
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import Price
from tests.models.scenes import MODEL, answering, make_endpoint, say

PRICES = {MODEL: Price(input_usd_per_million=1.0, output_usd_per_million=1.0)}


def parse_number(text):
    if not text.isdigit():
        raise Unparsed("no number")
    return int(text)


@pytest.fixture
def builder(tmp_path):
    (tmp_path / "count.md").write_text("# system\nAnswer with a number.\n# user\nHow many {{ things }}?\n")
    roles = {
        "counter": Role(
            model=MODEL, temperature=0.0, top_p=1.0, max_tokens=8, attempts=2, constrain="grammar"
        )
    }
    return RequestBuilder("paper.stage", tmp_path, roles, identities={MODEL: "checksum"})


async def count(ask, things, row=None, **more):
    return await ask(
        "count", {"things": things}, role="counter", row=row or things, parse=parse_number, **more
    )


def scripted(texts):
    """Answer each question with its next text; an unexpected question is an error."""

    async def answer(request):
        body = await request.json()
        question = body["messages"][1]["content"]
        return say(texts[question].pop(0), prompt_tokens=10, completion_tokens=5)

    return answering(answer)


def open_live(url, folder):
    budget = Budget(prices=PRICES)
    return Dispatcher(Ledger(folder / "l.sqlite"), ModelClient({MODEL: make_endpoint(url)}, budget), budget)


def open_replay(folder):
    return Dispatcher(Ledger(folder / "l.sqlite"), None, Budget(prices=PRICES))


def test_an_answer_that_does_not_parse_is_asked_again_then_handed_back(builder, tmp_path):
    texts = {"How many cats?": ["some", "3"], "How many dogs?": ["many", "lots"]}
    with scripted(texts) as url, open_live(url, tmp_path) as dispatcher:
        ask = RecordedModel(builder, dispatcher)
        cats = asyncio.run(count(ask, "cats"))
        dogs = asyncio.run(count(ask, "dogs"))
    assert (cats.value, cats.attempts, cats.problem) == (3, 2, "")
    assert (dogs.value, dogs.text, dogs.problem) == (None, "lots", "no number")
    calls = {call.id: call for call in ask.call_rows()}
    assert len(calls) == 4
    assert calls[cats.call].parsed
    assert calls[dogs.call].problem == "no number"
    usage = ask.usage()
    assert (usage.live_calls, usage.ledger_calls, usage.paid.tokens) == (4, 0, 60)
    assert usage.usd == pytest.approx(60e-6)


def test_a_replay_gives_the_same_calls_and_pays_nothing(builder, tmp_path):
    texts = {"How many cats?": ["some", "3"], "How many dogs?": ["7"]}
    with scripted(texts) as url, open_live(url, tmp_path) as dispatcher:
        live = RecordedModel(builder, dispatcher)
        asyncio.run(count(live, "cats"))
        asyncio.run(count(live, "dogs"))
    with open_replay(tmp_path) as dispatcher:
        replayed = RecordedModel(builder, dispatcher)
        assert asyncio.run(count(replayed, "dogs")).value == 7
        assert asyncio.run(count(replayed, "cats")).value == 3
    assert replayed.call_rows() == live.call_rows()
    usage = replayed.usage()
    assert (usage.live_calls, usage.ledger_calls, usage.paid.usd) == (0, 3, 0)
    assert usage.usd == live.usage().usd


def test_a_missing_call_names_stage_row_and_prompt(builder, tmp_path):
    with (
        open_replay(tmp_path) as dispatcher,
        pytest.raises(CallMissing, match=r"paper\.stage: row r1: .*'count'"),
    ):
        asyncio.run(count(RecordedModel(builder, dispatcher), "cats", row="r1"))


def test_a_call_of_two_rows_is_one_row_of_the_artifact(builder, tmp_path):
    with scripted({"How many cats?": ["3"]}) as url, open_live(url, tmp_path) as dispatcher:
        ask = RecordedModel(builder, dispatcher)

        async def both():
            return await asyncio.gather(count(ask, "cats", row="b"), count(ask, "cats", row="a"))

        asyncio.run(both())
    write_rows(tmp_path / "x.calls.parquet", Call, ask.call_rows())
    (call,) = read_rows(tmp_path / "x.calls.parquet", Call)
    assert call.row == "a"
    assert call.to_request().key() == call.id


def test_a_grammar_is_part_of_the_key(builder, tmp_path):
    with scripted({"How many cats?": ["3", "4"]}) as url, open_live(url, tmp_path) as dispatcher:
        ask = RecordedModel(builder, dispatcher)
        plain = asyncio.run(count(ask, "cats"))
        bound = asyncio.run(count(ask, "cats", grammar="root ::= [0-9]"))
    assert (plain.value, bound.value) == (3, 4)


def test_what_is_not_set_up_is_named(builder, tmp_path):
    with open_replay(tmp_path) as dispatcher:
        ask = RecordedModel(builder, dispatcher)
        with pytest.raises(
            BadInput, match=r"roles\.judge: is missing, but paper\.stage needs this role \(known: counter\)"
        ):
            asyncio.run(ask("count", {"things": "x"}, role="judge", row="r", parse=parse_number))
        with pytest.raises(BadInput, match=r"other\.md: is missing"):
            asyncio.run(ask("other", {}, role="counter", row="r", parse=parse_number))


def test_a_plan_counts_without_asking(builder, tmp_path):
    with scripted({"How many cats?": ["3"]}) as url, open_live(url, tmp_path) as dispatcher:
        asyncio.run(count(RecordedModel(builder, dispatcher), "cats"))

    async def stage(ask):
        return await asyncio.gather(*(count(ask, things) for things in ("cats", "dogs", "mice", "dogs")))

    with open_replay(tmp_path) as dispatcher:
        ask = PlanningModel(builder, dispatcher)
        answers = asyncio.run(stage(ask))
        plan = ask.count()
    assert [answer.value for answer in answers] == [3, None, None, None]
    assert plan.is_exact
    assert [(call.role, call.prompt, call.max_tokens, call.entry) for call in plan.new] == [
        ("counter", "count", 8, None)
    ] * 2
    assert all(call.prompt_tokens > 0 for call in plan.new)
    (known,) = plan.known
    assert known.entry is not None
    assert known.entry.text == "3"


def test_a_plan_says_when_it_depends_on_answers_to_come(builder, tmp_path):
    async def stage(ask):
        await count(ask, "dogs")
        await count(ask, "mice")

    with open_replay(tmp_path) as dispatcher:
        ask = PlanningModel(builder, dispatcher)
        asyncio.run(stage(ask))
    assert not ask.count().is_exact
