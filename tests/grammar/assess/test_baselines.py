import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.baselines import (
    CLAIMS_GRAMMAR,
    BaselineLabel,
    BaselinePart,
    Baselines,
    BaselineVerdict,
    ClaimSupport,
    baselines,
    parse_claims,
    weigh_parts,
)
from tasks.grammar.assess.resampling import number_sample
from tasks.grammar.assess.tables import compare_baselines
from tasks.models.ask import Unparsed
from tasks.scoring.correctness import Correctness
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
    # Four samples for each of three answers, by the sampler's role with separate numbers.
    numbers = [sample for prompt, role, sample, _ in model.asked if (prompt, role) == ("answer", "sampler")]
    assert len(numbers) == len(set(numbers)) == 12
    assert all(0 < number <= 2**28 for number in numbers)
    # The samples equal the answer, so no judge compares them; the claims of an answer are one request.
    assert (model.count("claims"), model.count("claim_check"), model.count("same_answer")) == (3, 3, 0)
    rules = {part.rule for row in found.values() if row.method == "self_consistency" for part in row.parts}
    assert rules == {"exact"}


def test_seeds_are_the_same_when_it_runs_again_and_whatever_else_is_tried(world):
    def sample(number):
        model = Model()
        run(world, model, sample=number)
        return {(text, sample) for prompt, role, sample, text in model.asked if role == "sampler"}

    assert sample(2) < sample(3)


def test_samples_that_differ_are_compared_in_one_request_each_text_once(world):
    said = {}

    def reply(prompt, role, sample, fields):
        if role != "sampler":
            return None
        said[sample] = f"{100 + sample % 2} metres"  # two different texts in four samples
        return said[sample]

    model = Model(reply)
    found, _ = run(world, model, sample=1)
    (row,) = (row for row in found.values() if row.method == "self_consistency")
    assert sorted(part.text for part in row.parts) == sorted(said.values())
    assert (row.verdict, row.share, {part.rule for part in row.parts}) == ("incorrect", 0, {""})
    (shown,) = (text for prompt, *_, text in model.asked if prompt == "same_answer")
    assert shown.count("Further answer") == len(set(said.values()))


def test_claims_are_checked_together_and_each_has_its_own_verdict(world):
    said = ["- One.", "- Two.", "- Three."]
    verdicts = "Verdict: 1 Yes\nVerdict: 2 Null\nVerdict: 3 No"
    by_prompt = {"claims": "\n".join(said), "claim_check": verdicts}
    model = Model(lambda prompt, role, sample, fields: by_prompt.get(prompt))
    found, _ = run(world, model, sample=1)
    (row,) = (row for row in found.values() if row.method == "claim_faithfulness")
    assert [(part.text, part.holds) for part in row.parts] == [
        ("One.", "yes"),
        ("Two.", "null"),
        ("Three.", "no"),
    ]
    assert (row.share, row.verdict) == (0.5, "incorrect")
    assert model.count("claim_check") == 1


def test_one_sample_that_differs_is_enough_to_be_incorrect(world):
    tried = {number_sample(answer.id, 2) for answer in assess(world, "good")["answers"]}
    model = Model(
        lambda prompt, role, sample, fields: "7 metres" if role == "sampler" and sample in tried else None
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
    model = Model(lambda prompt, role, sample, fields: "" if role == "sampler" else "Perhaps" if prompt == "claim_check" else None)  # fmt: skip  # noqa: E501
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
    assert "the baselines are turned off" in compare_baselines([], {}).notes[0]


def test_parts_are_weighed_by_hand():
    def weigh(*holds):
        return weigh_parts([BaselinePart("x", ClaimSupport.read(value)) for value in holds])[0]

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
    # Answers: the method accepts a b c d, the judge a b e; f is unscored by the method, g by the judge.
    yes, no = BaselineLabel.CORRECT, BaselineLabel.INCORRECT
    says = dict.fromkeys("abcd", yes) | dict.fromkeys("e", no) | {"f": None, "g": yes}
    right, wrong = Correctness.CORRECT, Correctness.INCORRECT
    judged = dict.fromkeys("abef", right) | dict.fromkeys("cd", wrong) | {"g": None}
    rows = [
        BaselineVerdict(claim, claim, claim, claim, "m", verdict, None, (), "", ())
        for claim, verdict in says.items()
    ]
    precision, recall, left_out = compare_baselines(rows, judged).lines[0].cells
    assert (precision.value, precision.n) == (2 / 4, 4)
    assert (recall.value, recall.n) == (pytest.approx(2 / 3), 3)
    assert (left_out.value, left_out.n) == (2, 7)
    assert (precision.interval, precision.why) == (
        None,
        "fewer than 6 answers that the method judges correct: no interval",
    )
    twice = [replace(row, id=f"{row.id}{n}", answer=f"{row.answer}{n}") for row in rows for n in range(2)]
    again = compare_baselines(twice, {f"{name}{n}": word for name, word in judged.items() for n in range(2)})
    # Wilson, 4 of 8: centre 0.5, half width z / (1 + z2/8) sqrt(0.25/8 + z2/256) = 0.2848
    assert again.lines[0].cells[0].interval == pytest.approx((0.2152, 0.7848), abs=0.001)
    none = compare_baselines([rows[4]], judged).lines[0].cells
    assert none[0].value is None
    assert "the method judges" in none[0].why
