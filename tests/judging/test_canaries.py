import asyncio
import dataclasses

import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput, StageFailed
from tasks.judging.canaries import (
    FURTHER,
    OF_RULES,
    CanaryRow,
    RuleCanary,
    judge_canaries,
    measure_further,
    measure_health,
    read_canaries,
    read_cases,
    try_rules,
)
from tests.judging.scripted import answer


def judge_all(kind, verdict):
    async def judge(canary):
        return answer(verdict(canary), f"call of {canary.id}")

    return asyncio.run(judge_canaries(read_canaries(kind), judge))


def test_the_set_is_large_enough_and_no_single_verdict_passes_it():
    labels, scores = read_canaries("label"), read_canaries("score")
    assert len(labels) >= 24
    assert len(scores) >= 18
    assert {canary.accepted for canary in labels} == {("Correct",), ("Incorrect",)}
    for verdict in ("Correct", "Incorrect"):
        assert measure_health(judge_all("label", lambda _, v=verdict: v)).agreement < 0.6
    for score in range(6):
        assert measure_health(judge_all("score", lambda _, v=score: v)).agreement < 0.5
    assert all(canary.contexts for canary in scores)


def test_the_further_set_is_another_one_and_half_of_it_is_correct():
    first, further = read_canaries("label"), read_canaries("label", FURTHER)
    assert [canary.accepted for canary in further].count(("Correct",)) == len(further) / 2 == 12
    assert not {canary.id for canary in first} & {canary.id for canary in further}
    assert not {canary.query for canary in first} & {canary.query for canary in further}


def test_the_further_set_is_in_no_figure_of_the_first():
    async def judge(canary):
        return answer("Correct")

    first = asyncio.run(judge_canaries(read_canaries("label"), judge))
    further = asyncio.run(judge_canaries(read_canaries("label", FURTHER), judge, further=True))
    assert measure_health([*first, *further]) == measure_health(first)
    beside = measure_further([*first, *further])
    assert (beside.n, beside.agreement, len(beside.wrong)) == (24, 0.5, 12)
    assert measure_further(first) is None


def test_a_right_judge_gets_all():
    for kind in ("label", "score"):
        rows = judge_all(kind, lambda canary: canary.accepted[0])
        health = measure_health(rows)
        assert (health.n, health.n_scored, health.n_failed) == (len(rows), len(rows), 0)
        assert health.agreement == 1.0
        assert health.wrong == ()


def test_wrong_and_unscored_verdicts_are_told_apart():
    first, second = [canary.id for canary in read_canaries("label")][:2]
    answers = {first: "Incorrect", second: None}  # the first is Correct
    rows = judge_all("label", lambda canary: answers.get(canary.id, canary.accepted[0]))
    health = measure_health(rows)
    assert (health.n, health.n_scored, health.n_failed) == (24, 23, 1)
    assert health.agreement == pytest.approx(22 / 23)
    assert health.wrong == (first,)
    by_id = {row.id: row for row in rows}
    assert (by_id[first].given, by_id[first].agreed) == ("Incorrect", False)
    assert (by_id[second].given, by_id[second].agreed) == (None, None)
    assert by_id[second].problem == "no_verdict"


def test_without_a_scored_canary_there_is_no_agreement():
    assert measure_health(judge_all("score", lambda _: None)).agreement is None
    assert measure_health([]).agreement is None


def test_a_score_is_right_within_what_can_be_defended():
    rows = judge_all("score", lambda canary: int(canary.accepted[-1]))
    assert all(row.agreed for row in rows)
    assert "3 or 4" in {row.expected for row in rows}


def test_rows_go_into_an_artifact_and_come_back(tmp_path):
    rows = judge_all("label", lambda canary: None if "empty" in canary.id else "Correct")
    write_rows(tmp_path / "canaries.parquet", CanaryRow, rows)
    assert read_rows(tmp_path / "canaries.parquet", CanaryRow) == sorted(rows, key=lambda row: row.id)
    assert all(dataclasses.astuple(row)[-1] for row in rows)  # every row has its call as origin


GOOD = "- {id: a, kind: label, query: q, answer: a, response: r, accepted: [Correct]}\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "cannot be read as a list of canaries"),
        ("just text", "cannot be read as a list of canaries"),
        ("- [", "cannot be read as a list of canaries"),
        (GOOD + GOOD, "two canaries with the id 'a'"),
        (GOOD.replace("kind: label", "kind: mood"), "kind"),
        (GOOD.replace("label", "score"), "score from 0 to 5"),
        (GOOD.replace("[Correct]", "[]"), "accepted"),
        (GOOD.replace("query: q, ", ""), "query"),
        (GOOD.replace("query: q", "query: q, colour: red"), "colour"),
        (GOOD.replace("answer: a", "answer: 1874"), "answer"),
    ],
)
def test_a_set_that_is_not_as_it_must_be_is_refused_in_one_line(tmp_path, text, what):
    path = tmp_path / "canaries.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=what) as error:
        read_canaries("label", path)
    assert "\n" not in str(error.value)


def test_a_missing_set_is_told(tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        read_canaries("label", tmp_path / "none.yaml")


def test_the_rules_decide_their_canaries_and_a_wrong_one_ends_the_stage(tmp_path):
    try_rules()
    cases = read_cases(OF_RULES, RuleCanary)
    assert {case.verdict for case in cases} == {"Correct", "Incorrect", "judge"}
    wrong = tmp_path / "rules.yaml"
    wrong.write_text(
        "[{id: a, query: 'How many?', kind: number, answer: '2', response: There are 3., verdict: Correct}]"
    )
    with pytest.raises(StageFailed, match="misjudge these canaries: a"):
        try_rules(wrong)
