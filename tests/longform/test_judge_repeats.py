"""Tests of the stage judge_repeats: judgements repeated with another seed or in reverse order."""

import asyncio
from collections.abc import Callable

import pytest

from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.judge_repeats import SAME, SAME_REVIEWS, JudgeRepeating, judge_repeats, was_asked
from tasks.longform.judge.meta_reviews import MetaReviewing, meta_reviews
from tasks.longform.judge.reference_verdicts import ReferenceJudging, reference_verdicts
from tasks.longform.labels import STEPS
from tasks.longform.tables_peers import tabulate_repeats, warn_changed
from tests.longform.scripted_judges import (
    Asked,
    ScriptedJudges,
    make_interaction,
    make_item,
    make_review,
    say,
)

ENTRY = AgentEvaluation(set="tiny", judge="the-judge", reviewer="the-reviewer", meta_reviewers=1)
WARM = {"roles.the-judge.temperature": 0.7}
SAID = "Yes, she does."
ITEMS = [make_item(1), make_item(2, kind="interpretive"), make_item(3)]
INTERACTIONS = [make_interaction(n, answer=SAID) for n in (1, 2, 3)]
OK, BAD = "Perfect", "Imperfect"


def make_reviews(*verdicts):
    return [
        make_review(verdict, r, step, id=f"{made.id}-{step}-{r}", interaction=made.id, item=made.item)
        for made in INTERACTIONS
        for step in STEPS
        for r, verdict in enumerate(verdicts)
    ]


class Repeated:
    """Verdicts of one judge, and repeated verdicts with another reply function."""

    def __init__(
        self, first: Callable[[Asked], str], second: Callable[[Asked], str], *,
        settings=WARM, items=2, seen=None, interactions=INTERACTIONS,
    ) -> None:  # fmt: skip
        seen = make_reviews(OK, BAD, None) if seen is None else seen
        self.before, self.ask = ScriptedJudges(first), ScriptedJudges(second)
        parts = (ITEMS, interactions)
        verdicts = asyncio.run(reference_verdicts(*parts, ENTRY, ReferenceJudging(), self.before)).rows
        metas = asyncio.run(meta_reviews(*parts, seen, ENTRY, MetaReviewing(), self.before)).rows
        asked = JudgeRepeating(items=items)
        stage = judge_repeats(*parts, verdicts, seen, metas, ENTRY, asked, settings, self.ask)
        self.rows = asyncio.run(stage).rows
        self.table = tabulate_repeats(ITEMS, self.rows)

    def read(self, part: str, kind: str):
        (line,) = [line for line in self.table.lines if line.label == (part, kind)]
        return line.cells


def is_turned(asked: Asked) -> bool:
    if asked.prompt == "review_meta":
        return asked.text.index("Reason 1 of") < asked.text.index("Reason 0 of")
    return asked.text.index("Answer to judge:") < asked.text.index("Reference answer:")


def judge_by_order(asked: Asked) -> str:
    """Reply with the verdict that the order suggests."""
    good = not is_turned(asked)
    if asked.prompt == "judge_interpretive":
        return f"Score: {5 if good else 2}"
    names = ("Match", "Not Match") if asked.prompt == "judge_conclusive" else (OK, BAD)
    return f"So it is.\nVerdict: {names[not good]}"


def judge_by_content(asked: Asked) -> str:
    if asked.prompt == "judge_interpretive":
        return "Score: 4"
    return f"So it is.\nVerdict: {'Match' if asked.prompt == 'judge_conclusive' else BAD}"


def test_a_judge_that_follows_the_order_changes_all_its_verdicts():
    found = Repeated(judge_by_order, judge_by_order)
    again, swapped, _ = found.read("match", "conclusive")
    assert (again.value, swapped.value, swapped.n) == (1.0, 0.0, 1)
    again, swapped, distance = found.read("match", "interpretive")
    assert (again.value, swapped.value, distance.value) == (1.0, 0.0, 3.0)
    for step in STEPS:
        _, swapped, _ = found.read(step, "all")
        assert (swapped.value, swapped.n, swapped.failed) == (0.0, 2, 0)
        assert swapped.interval is None, "two interactions"
    judge, reviewer = (warn_changed(found.table, 0.8, steps=steps) for steps in (False, True))
    assert "conclusive answers with the order swapped, 0 of 1 interactions unchanged (0.0%" in judge
    assert "repeated: " not in judge
    assert "IP (planning) with the order swapped, 0 of 2 interactions unchanged" in reviewer


def test_a_judge_that_reads_stays_with_its_verdicts():
    found = Repeated(judge_by_content, judge_by_content)
    for line in found.table.lines:
        assert line.cells[1].value == 1.0, line.label
    assert found.read("match", "interpretive")[2].value == 0.0
    assert not any(warn_changed(found.table, 0.8, steps=steps) for steps in (True, False))


def test_rubbish_is_unscored_and_no_finding():
    found = Repeated(judge_by_content, lambda _: "Hm.")
    assert {row.verdict for row in found.rows} == {None}
    assert all(row.problem.startswith("no_verdict") for row in found.rows)
    again, swapped, distance = found.read("match", "interpretive")
    for cell in (again, swapped, distance):
        assert (cell.value, cell.n, cell.failed) == (None, 0, 1)
    assert found.read("TE", "all")[1].failed == 2
    assert not any(warn_changed(found.table, 0.8, steps=steps) for steps in (True, False))


def test_a_verdict_that_was_none_agrees_with_nothing():
    found = Repeated(lambda _: "Hm.", judge_by_content)
    assert {row.before for row in found.rows} == {None}
    for line in found.table.lines:
        assert line.cells[1].value is None, line.label
        assert line.cells[1].failed > 0, line.label


def test_the_first_items_by_id_are_asked_about_and_nobody_for_none():
    found = Repeated(judge_by_content, judge_by_content)
    assert {row.item for row in found.rows} == {"i1", "i2"}
    assert [(row.part, row.way) for row in found.rows if row.item == "i1"] == [
        ("match", "again"), ("match", "swapped"), ("IP", "swapped"), ("TE", "swapped"), ("IS", "swapped"),
    ]  # fmt: skip
    found = Repeated(judge_by_content, judge_by_content, items=0)
    assert not found.rows
    assert not found.ask.asked
    assert "longform.judge_repeats.items" in found.table.notes[0]


def test_again_is_the_same_request_with_another_seed():
    found = Repeated(judge_by_content, judge_by_content)
    first = next(asked for asked in found.before.asked if asked.prompt == "judge_conclusive")
    again, swapped = (asked for asked in found.ask.asked if asked.prompt == "judge_conclusive")
    assert (again.text, again.system, again.grammar) == (first.text, first.system, first.grammar)
    assert (first.sample, again.sample, swapped.sample) == (0, 1, 0)
    assert (is_turned(again), is_turned(swapped)) == (False, True)
    assert sorted(again.text.split("\n"))[:8] == sorted(swapped.text.split("\n"))[:8]
    assert {asked.role for asked in found.ask.asked if asked.prompt == "review_meta"} == {"the-reviewer"}
    assert {asked.row for asked in found.ask.asked} == {row.id for row in found.rows}


@pytest.mark.parametrize("settings", [{}, {"roles.the-judge.temperature": 0.0}])
def test_at_temperature_0_nobody_is_asked_again(settings):
    found = Repeated(judge_by_content, judge_by_content, settings=settings)
    again = [row for row in found.rows if row.way == "again"]
    assert {(row.verdict, row.problem) for row in again} == {(None, SAME)}
    assert not any(was_asked(row) for row in again)
    assert {origin.kind for row in again for origin in row.origin} == {"row"}
    assert all(asked.sample == 0 for asked in found.ask.asked)
    again, swapped, _ = found.read("match", "conclusive")
    assert (again.value, again.failed, again.why) == (None, 0, SAME)
    assert swapped.value == 1.0


def test_a_row_names_what_it_repeats():
    found = Repeated(judge_by_content, judge_by_order)
    row = next(row for row in found.rows if (row.part, row.way) == ("match", "swapped"))
    assert (row.interaction, row.before, row.verdict) == ("x1-sequential", "Match", "Not Match")
    assert [origin.kind for origin in row.origin] == ["row", "call"]
    assert row.origin[0].reference.startswith("reference_verdicts#")
    step = next(row for row in found.rows if row.part == "TE")
    assert step.origin[0].reference.startswith("meta_reviews#")
    score = next(row for row in found.rows if row.item == "i2")
    assert (score.before, score.verdict) == ("4", "5")


@pytest.mark.parametrize("verdicts", [(OK,), (OK, None, None), (None, None)])
def test_a_single_review_has_no_order(verdicts):
    found = Repeated(judge_by_content, judge_by_content, seen=make_reviews(*verdicts))
    assert {row.part for row in found.rows} == {"match"}


def test_reviews_that_read_the_same_in_reverse_are_not_asked_about():
    seen = [
        make_review(OK, r, step, interaction=made.id, item=made.item, rationale="It is all there.")
        for made in INTERACTIONS
        for step in STEPS
        for r in (0, 1)
    ]
    found = Repeated(judge_by_content, judge_by_content, seen=seen)
    steps = [row for row in found.rows if row.part != "match"]
    assert {(row.verdict, row.problem) for row in steps} == {(None, SAME_REVIEWS)}
    assert {asked.prompt for asked in found.ask.asked} == {"judge_conclusive", "judge_interpretive"}
    assert found.read("IP", "all")[1].why == SAME_REVIEWS


def test_what_has_no_answer_is_not_asked_about():
    mute = [make_interaction(1, answer=None, problem="it timed out"), make_interaction(2, "guess", plan="")]
    found = Repeated(judge_by_content, judge_by_content, interactions=mute, seen=[])
    assert [(row.interaction, row.part) for row in found.rows] == [("x2-guess", "match")] * 2


def test_the_evaluations_settings_are_used():
    settings = {
        **WARM,
        "longform.reference_verdicts.feedback": True,
        "longform.meta_reviews.rationale_words": 7,
    }
    found = Repeated(say("Match"), say("Match"), settings=settings)
    for asked in found.ask.asked:
        if asked.prompt == "review_meta":
            assert "at most 7 words" in asked.text
        else:
            assert "feedback" in asked.grammar
