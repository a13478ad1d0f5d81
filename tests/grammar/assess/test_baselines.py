import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.baselines import CLAIMS_GRAMMAR, Baselines, baselines, parse_claims, weigh_parts
from tasks.grammar.assess.tables import compare_baselines
from tasks.grammar.assessment_rows import BaselinePart, BaselineVerdict
from tasks.models.ask import Unparsed
from tasks.systems.entries import CallableEntry
from tests.grammar.assess_world import GOOD, Model, assess, make_world
from tests.grammar.gbnf import accepts


@pytest.fixture(scope="module")
def world():
    return make_world(6)


def run(world, model, name="good", **params):
    parts = assess(world, name, model=model, **params)
    return {(row.method, row.answer): row for row in parts["baselines"]}, parts


def test_faithful_and_consistent_answers_are_correct(world):
    model = Model()
    found, _ = run(world, model, sample=3)
    assert len(found) == 6
    assert {verdict.verdict for verdict in found.values()} == {"correct"}
    assert {len(verdict.parts) for verdict in found.values() if verdict.method == "self_consistency"} == {4}
    # Four samples of three answers, each by the sampler's role under a number of its own.
    sampled = [
        (role, sample) for prompt, role, sample, _ in model.asked if prompt == "answer" and role == "sampler"
    ]
    assert sorted(sampled) == [("sampler", n) for n in range(4) for _ in range(3)]


def test_one_sample_that_differs_is_enough_to_be_incorrect(world):
    model = Model(
        lambda prompt, role, sample, fields: "7 metres" if role == "sampler" and sample == 2 else None
    )
    found, _ = run(world, model, sample=2)
    consistency = [verdict for verdict in found.values() if verdict.method == "self_consistency"]
    assert [(verdict.verdict, verdict.share) for verdict in consistency] == [("incorrect", 0.75)] * 2


def test_an_abstention_is_unscored_and_nobody_is_asked_about_it(world):
    model = Model(lambda prompt, role, sample, fields: "I do not know." if prompt == "answer" else None)
    found, _ = run(world, model, sample=2)
    assert {(verdict.method, verdict.verdict, verdict.problem) for verdict in found.values()} == {
        (method, None, "the response is an abstention")
        for method in ("claim_faithfulness", "self_consistency")
    }
    assert not model.count("claims") + model.count("same_answer")


def test_an_answer_without_claims_is_unscored(world):
    model = Model(lambda prompt, role, sample, fields: "Everybody knows" if prompt == "answer" else None)
    found, _ = run(world, model, sample=2)
    faithful = [verdict for verdict in found.values() if verdict.method == "claim_faithfulness"]
    assert [(verdict.verdict, verdict.share, verdict.problem) for verdict in faithful] == [
        (None, None, "no claim is left")
    ] * 2


def test_a_failed_sample_or_check_leaves_the_answer_unscored(world):
    model = Model(lambda prompt, role, sample, fields: "" if role == "sampler" and sample == 1 else "Perhaps" if prompt == "claim_check" else None)  # fmt: skip  # noqa: E501
    found, _ = run(world, model, sample=1)
    assert {verdict.verdict for verdict in found.values()} == {None}
    assert all(verdict.problem for verdict in found.values())


def test_a_system_that_cannot_be_sampled_is_unscored(world):
    parts = assess(world, "good", sample=1)
    system = CallableEntry(kind="callable", version="1", function="some.module:answer")
    entry = AssessmentEntry(database="villages", system="own", llm_only="own")
    drafts = asyncio.run(
        baselines(
            parts["answers"], world.questions, world.documents, entry, system, Baselines(sample=2), Model()
        )
    )
    own = [row for row in drafts.rows if row.method == "self_consistency"]
    assert [row.verdict for row in own] == [None, None]
    assert {row.problem for row in own} == {"the system cannot be asked at another temperature"}
    assert GOOD.answerer == "answerer"


def test_an_assessment_may_leave_the_baselines_out(world):
    entry = AssessmentEntry(database="villages", system="good", llm_only="good", baselines=False)

    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nobody is to be asked")

    made = baselines([], world.questions, world.documents, entry, GOOD, Baselines(), refuse)
    assert not asyncio.run(made).rows
    assert "leaves the baselines out" in compare_baselines([], {}).notes[0]


def test_parts_are_weighed_by_hand():
    def weigh(*holds):
        return weigh_parts([BaselinePart("x", value) for value in holds])[0]

    assert weigh("yes", "yes", "null") == 1
    assert weigh("yes", "no", "null", "no") == pytest.approx(1 / 3)
    assert weigh("null") is None
    assert weigh() is None
    assert weigh("yes", "unparsed") is None


def test_claims_are_read_strictly():
    assert parse_claims("- It lies high.\n- It is old.\n- It lies high.\n") == ("It lies high.", "It is old.")
    assert parse_claims(" None ") == ()
    for text in ("", "It lies high.", "- It lies high.\nand so on", "None\n- It lies high."):
        with pytest.raises(Unparsed):
            parse_claims(text)


@given(
    st.lists(st.text(st.characters(categories=["L", "N"]), min_size=3, max_size=20), min_size=1, max_size=6)
)
def test_what_the_grammar_lets_through_is_read(claims):
    text = "\n".join(f"- {claim}" for claim in claims)
    assert accepts(CLAIMS_GRAMMAR, text)
    assert set(parse_claims(text)) == set(claims)


def test_precision_and_recall_by_hand():
    # Six answers: says correct of a b c d, judged Correct a b e; f is unscored by the method, g by the judge.
    says = dict.fromkeys("abcd", "correct") | dict.fromkeys("e", "incorrect") | {"f": None, "g": "correct"}
    judged = dict.fromkeys("abef", "Correct") | dict.fromkeys("cd", "Incorrect") | {"g": None}
    rows = [
        BaselineVerdict(claim, claim, claim, claim, "m", verdict, None, (), "", ())
        for claim, verdict in says.items()
    ]
    precision, recall, left_out = compare_baselines(rows, judged).lines[0].cells
    assert (precision.value, precision.n) == (2 / 4, 4)
    assert (recall.value, recall.n) == (pytest.approx(2 / 3), 3)
    assert (left_out.value, left_out.n) == (2, 7)
    # Wilson, 2 of 4: centre (0.5 + z2/8) / (1 + z2/4) = 0.5,
    # half width z / (1 + z2/4) sqrt(0.25/4 + z2/64) = 0.35
    assert precision.interval == pytest.approx((0.15, 0.85), abs=0.001)
    none = compare_baselines([rows[4]], judged).lines[0].cells
    assert none[0].value is None
    assert "calls none" in none[0].why
