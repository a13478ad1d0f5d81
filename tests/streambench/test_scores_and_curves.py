"""Tests of scores, costs and curves after each step, against results computed by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tasks.artifacts.rows import Origin, make_id
from tasks.errors import StageFailed
from tasks.streambench.score.curves import CurvePoint, curves
from tasks.streambench.score.scores import StepScore, scores
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.tables_curves import find_time
from tests.streambench.made_evaluation import make_call, make_evaluation


def make_score(run: str, position: int, score: float, memory: int = 0) -> StepScore:
    method, agents, seed = run.split("|")
    return StepScore(
        id=f"{run}#{position}", run=run, method=method, agents=tuple(agents.split("+")), seed=int(seed),
        position=position, item=f"i{position}", agent="a", score=score, tokens_in=0, tokens_out=0,
        estimated=False, memory_size=memory, failed=False, origin=(),
    )  # fmt: skip


def make_scores(**runs: Sequence[int]) -> list[StepScore]:
    """Return the scores of runs, given as method_seed=(bits)."""
    return [
        make_score("{}|a|{}".format(*name.split("_")), position, float(bit), sum(bits[:position]))
        for name, bits in runs.items()
        for position, bit in enumerate(bits, 1)
    ]


def read_curves(rows: Sequence[StepScore]) -> dict[tuple[str, int], CurvePoint]:
    return {(point.method, point.position): point for point in curves(list(rows)).rows}


@pytest.fixture(scope="module")
def step() -> StreamStep:
    return next(step for step in make_evaluation().steps if step.bit)


def test_a_step_costs_its_answering_calls_alone(step: StreamStep) -> None:
    calls = [
        make_call("c1", "", 100),
        make_call("c2", "", 30),
        make_call("judge", "", 999),
        make_call("s", "", 77),
    ]
    asked = replace(step, calls=("c1", "c2", "c1"), judge_calls=("judge",), shadow_calls=("s",))
    (row,) = scores([asked], calls).rows
    assert (row.id, row.score, row.failed) == (step.id, 1.0, False)
    assert (row.tokens_in, row.tokens_out) == (230, (100 % 13 + 1) * 2 + 30 % 13 + 1)
    assert row.origin[0] == Origin("row", f"steps#{step.id}")
    assert not row.estimated
    assert scores([asked], [replace(call, estimated=call.id == "c2") for call in calls]).rows[0].estimated


def test_a_call_that_two_steps_share_counts_in_each(step: StreamStep) -> None:
    shared = [replace(step, id=name, calls=("c1",)) for name in ("s2", "s1")]
    rows = scores(shared, [make_call("c1", "", 50)]).rows
    assert [(row.id, row.tokens_in) for row in rows] == [("s1", 50), ("s2", 50)]


def test_a_failed_step_scores_nothing_and_an_unjudged_one_is_not_failed(step: StreamStep) -> None:
    failed = replace(step, bit=False, outcome="failed", answer=None, calls=())
    unjudged = replace(step, id="u", bit=False, outcome="unjudged", calls=())
    rows = scores([failed, unjudged], []).rows
    assert {row.id: (row.score, row.failed, row.tokens_in) for row in rows} == {
        step.id: (0.0, True, 0),
        "u": (0.0, False, 0),
    }


def test_a_call_that_is_not_there_ends_the_stage(step: StreamStep) -> None:
    with pytest.raises(StageFailed, match=f"step {step.id} names the call lost"):
        scores([replace(step, calls=("lost",))], [])


def test_accuracy_error_and_memory_are_averaged_over_seeds() -> None:
    points = read_curves(make_scores(plain_1=(1, 1, 0), plain_2=(0, 1, 0)))
    assert [points["plain", t].accuracy for t in (1, 2, 3)] == pytest.approx([0.5, 0.75, 0.5])
    # After two steps 1.0 and 0.5: standard deviation 0.25 * sqrt(2), over sqrt(2) seeds.
    assert [points["plain", t].error for t in (1, 2, 3)] == pytest.approx([0.5, 0.25, 1 / 6])
    assert [points["plain", t].memory_size for t in (1, 2, 3)] == [0.5, 1.5, 1.5]
    assert points["plain", 2].id == make_id("curve", "plain", ("a",), 2)
    assert points["plain", 2].seeds == 2


def test_one_seed_has_no_error() -> None:
    assert read_curves(make_scores(plain_1=(1, 0)))["plain", 2].error is None


def test_regret_is_against_the_run_of_the_seed_that_ends_highest() -> None:
    rows = make_scores(late_1=(0, 1, 1), early_1=(1, 0, 0), late_2=(0, 0, 0), early_2=(1, 0, 1))
    points = read_curves(rows)
    # Seed 1: late ends highest (2), so early is at -1, 0, 1. Seed 2: early (2), so late is at 1, 1, 2.
    assert [points["early", t].regret for t in (1, 2, 3)] == [-0.5, 0.0, 0.5]
    assert [points["late", t].regret for t in (1, 2, 3)] == [0.5, 0.5, 1.0]


def test_ties_for_the_best_go_to_the_first_name() -> None:
    points = read_curves(make_scores(beta_1=(0, 1), alpha_1=(1, 0)))
    assert [points["beta", t].regret for t in (1, 2)] == [1.0, 0.0]
    assert [points["alpha", t].regret for t in (1, 2)] == [0.0, 0.0]


def test_a_point_names_the_scores_of_its_step_its_own_and_the_bests() -> None:
    points = read_curves(make_scores(good_1=(1, 1), bad_1=(0, 0), good_2=(1, 1), bad_2=(0, 0)))
    assert [source.reference for source in points["bad", 2].origin] == [
        "scores#bad|a|1#2", "scores#bad|a|2#2", "scores#good|a|1#2", "scores#good|a|2#2",
    ]  # fmt: skip
    assert len(points["good", 1].origin) == 2


def test_a_run_that_lacks_a_step_ends_the_stage() -> None:
    rows = [row for row in make_scores(plain_1=(1, 1, 1)) if row.position != 2]
    with pytest.raises(StageFailed, match=r"plain\|a\|1 has no step 2"):
        curves(rows)


@pytest.mark.parametrize(
    ("bits", "level", "wanted"),
    [
        ((1, 0, 1, 1), 0.5, 1),  # 1, 1/2, 2/3, 3/4: never below a half
        ((1, 0, 0, 1), 0.5, 4),  # 1, 1/2, 1/3, 1/2: below at three
        ((0, 1, 1, 1), 0.75, 4),
        ((0, 1, 1, 1), 0.76, None),
        ((0, 0, 1), 1 / 3, 3),
    ],
)
def test_the_time_to_an_accuracy_is_when_it_is_reached_for_good(
    bits: tuple[int, ...], level: float, wanted: int | None
) -> None:
    point = find_time(curves(make_scores(plain_1=bits)).rows, level)
    assert (point.position if point else None) == wanted
