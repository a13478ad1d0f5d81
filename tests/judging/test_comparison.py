"""Tests of comparing two evaluations, against plain computations of the same figures."""

import random
from dataclasses import replace

import pytest

from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import ScoredSystem, compare_scored_systems
from tasks.judging.pair_analysis import analyse_pairs


def make_scored_system(
    values: dict[str, float | None],
    *,
    groups: int = 0,
    system: str = "s",
    metric: str = "accuracy",
    further: dict[str, dict[str, float | None]] | None = None,
) -> ScoredSystem:
    answers = []
    for number, (case, value) in enumerate(values.items()):
        group = f"g{number % groups}" if groups else case
        own = {name: values[case] for name, values in (further or {}).items()}
        answers.append(
            (
                Scored(f"{system}-{case}", group, value),
                Answered(
                    f"{system}-{case}",
                    case,
                    system,
                    metric,
                    f"Q {case}?",
                    "true",
                    f"{value} of {case}",
                    "",
                    own,
                ),
            )
        )
    return ScoredSystem("trial", "entry", system, answers)


def compare(a: ScoredSystem, b: ScoredSystem, **options):
    return compare_scored_systems([(a, b)], **options).strands[0]


def draw_values(seed: int, share: float, n: int = 120) -> dict[str, float]:
    dice = random.Random(seed)
    return {f"q{number:03}": float(dice.random() < share) for number in range(n)}


def test_intervals_are_those_of_a_plain_cluster_bootstrap():
    a, b = draw_values(1, 0.5), draw_values(2, 0.7)
    change = compare(make_scored_system(a, groups=30), make_scored_system(b, groups=30)).metrics[0]
    clusters = [[b[key] - a[key] for key in list(a)[start::30]] for start in range(30)]
    dice = random.Random(3)
    means = []
    for _ in range(10_000):
        drawn = [value for _ in clusters for value in dice.choice(clusters)]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    assert change.n_pairs == 120
    assert change.clusters == 30
    assert change.difference == pytest.approx(sum(b.values()) / 120 - sum(a.values()) / 120)
    # Both results use 10,000 random samples.
    assert change.low == pytest.approx(means[250], abs=0.012)
    assert change.high == pytest.approx(means[9749], abs=0.012)
    plain = 2 * min(sum(mean <= 0 for mean in means), sum(mean >= 0 for mean in means)) / 10_000
    assert change.p_value == pytest.approx(plain, abs=0.02)


def test_clusters_widen_the_interval_where_their_items_go_together():
    # Ten clusters of twelve copies: 120 items contain no more information than ten.
    a = {f"q{number:03}": 0.0 for number in range(120)}
    b = {key: float(number % 10 < 4) for number, key in enumerate(a)}
    alone = compare(make_scored_system(a), make_scored_system(b)).metrics[0]
    together = compare(make_scored_system(a, groups=10), make_scored_system(b, groups=10)).metrics[0]
    assert together.high - together.low > 2.5 * (alone.high - alone.low)
    assert together.detectable > 2.5 * alone.detectable


def test_pairs_are_of_what_both_scored_and_the_rest_is_counted():
    a = make_scored_system({"both": 1.0, "lost": 1.0, "never": None, "old": 0.0, "also": 0.0})
    b = make_scored_system({"both": 0.0, "lost": None, "never": None, "new": 1.0, "also": 0.0})
    found = compare(a, b)
    change = found.metrics[0]
    assert (change.n_pairs, change.only_a, change.only_b) == (2, 1, 1)
    assert (change.unscored_a, change.unscored_b) == (1, 2)
    assert (change.mean_a, change.mean_b, change.difference) == (0.5, 0.0, -0.5)
    assert (change.fell, change.rose) == (1, 0)
    # A lost score is shown as a change, although it is in no pair.
    assert {case.case for case in found.changed} == {"both", "lost"}
    shown = next(case for case in found.changed if case.case == "both")
    assert (shown.a.answer, shown.b.answer) == ("1.0 of both", "0.0 of both")
    assert (shown.a.scores, shown.b.scores) == ({"accuracy": 1.0}, {"accuracy": 0.0})


def test_holm_is_over_all_metrics_of_all_scored_systems():
    scored_systems = [
        (
            make_scored_system(draw_values(seed, 0.4), further={"other": draw_values(seed, 0.5)}),
            make_scored_system(draw_values(seed + 50, 0.55), further={"other": draw_values(seed + 50, 0.5)}),
        )
        for seed in range(3)
    ]
    found = compare_scored_systems(scored_systems)
    changes = [change for scored_system in found.strands for change in scored_system.metrics]
    assert found.n_tests == len(changes) == 6
    least = 0.0
    for place, change in enumerate(sorted(changes, key=lambda change: change.p_value)):
        least = max(least, min(1.0, (6 - place) * change.p_value))
        assert change.adjusted == pytest.approx(least)
    alone = compare_scored_systems(scored_systems[:1], metrics=["accuracy"])
    assert alone.n_tests == 1
    assert alone.strands[0].metrics[0].detectable < changes[0].detectable


@pytest.mark.parametrize("groups", [1, 5])
def test_few_clusters_tell_nothing_of_chance(groups):
    a, b = (
        make_scored_system(draw_values(1, 0.2), groups=groups),
        make_scored_system(draw_values(2, 0.8), groups=groups),
    )
    found = compare_scored_systems([(a, b)])
    change = found.strands[0].metrics[0]
    assert change.difference > 0.3
    assert (change.low, change.p_value, change.adjusted, change.detectable) == (None, None, None, None)
    assert found.n_tests == 0
    assert "too few to distinguish a difference from chance" in found.cautions[0]


def test_no_p_value_is_below_that_of_all_clusters_on_one_side():
    a = make_scored_system({f"q{number}": 0.0 for number in range(6)})
    b = make_scored_system({f"q{number}": 1.0 for number in range(6)})
    # Six coin tosses with the same result: 2 / 2^6
    assert compare(a, b).metrics[0].p_value == pytest.approx(2 / 64)


def test_equal_systems_are_called_different_as_often_as_is_said():
    found = 0
    for seed in range(300):
        dice = random.Random(seed)
        ease = [dice.gauss(0, 1) for _ in range(40)]
        values = [
            {f"q{number:03}": float(dice.gauss(0, 1) < ease[number % 40]) for number in range(120)}
            for _ in range(2)
        ]
        change = compare(
            *(make_scored_system(value, groups=40) for value in values), draws=300, seed=seed
        ).metrics[0]
        found += change.p_value < 0.05
    assert found / 300 <= 0.085  # 5% plus 2.5 standard errors


def test_nothing_in_pairs_is_no_zero():
    found = compare_scored_systems([(make_scored_system({"a": 1.0}), make_scored_system({"a": None}))])
    change = found.strands[0].metrics[0]
    assert (change.n_pairs, change.mean_a, change.difference, change.p_value) == (0, None, None, None)


def test_a_case_without_a_score_on_one_side_is_not_ranked_as_a_drop():
    a, b = {"lost": 1.0, "fell": 0.5, "rose": 0.0}, {"lost": None, "fell": 0.25, "rose": 1.0}
    found = compare(make_scored_system(a), make_scored_system(b))
    assert [(case.case, case.change) for case in found.changed] == [
        ("fell", -0.25),
        ("lost", 0),
        ("rose", 1.0),
    ]


def test_metrics_that_items_do_not_share_are_apart():
    a = make_scored_system({"x": 1.0, "y": 0.0}, metric="match")
    other = make_scored_system({"z": 0.25}, metric="score")
    b = replace(a, answers=[*a.answers, *other.answers])
    changes = {change.metric: change for change in compare(b, b).metrics}
    assert changes["match"].n_pairs == 2
    assert changes["score"].n_pairs == 1
    assert changes["match"].only_a == changes["score"].only_a == 0


def test_a_case_answered_twice_counts_once_by_its_mean():
    once = make_scored_system({"x": 1.0, "y": 0.0})
    again = replace(
        once,
        answers=[
            *once.answers,
            *(
                (replace(scored, id=f"{scored.id}-2", value=0.0), replace(answered, id=f"{answered.id}-2"))
                for scored, answered in once.answers
            ),
        ],
    )
    change = compare(once, again).metrics[0]
    assert (change.n_pairs, change.mean_a, change.mean_b) == (2, 0.5, 0.25)


def test_the_order_of_rows_changes_nothing():
    a, b = draw_values(1, 0.5), draw_values(2, 0.6)
    turned = dict(reversed(b.items()))
    groups = {key: f"g{number % 7}" for number, key in enumerate(a)}

    def build(values):
        scored_system = make_scored_system(values)
        return replace(
            scored_system,
            answers=[
                (replace(scored, group=groups[answered.case]), answered)
                for scored, answered in scored_system.answers
            ],
        )

    assert compare(build(a), build(b)) == compare(build(a), build(turned))


def test_an_id_with_another_question_or_reference_is_no_pair():
    a = make_scored_system({f"q{number}": 1.0 for number in range(12)})
    kept, moved, corrected = a.answers[:8], a.answers[8:10], a.answers[10:]
    b = replace(
        a,
        answers=[
            *kept,
            *((scored, replace(answered, question="Another one?")) for scored, answered in moved),
            *((scored, replace(answered, reference="false")) for scored, answered in corrected),
            *make_scored_system({"q99": 1.0}).answers,
        ],
    )
    found = compare_scored_systems([(a, b)])
    (scored_system,) = found.strands
    assert list(scored_system.altered) == ["q10", "q11", "q8", "q9"]
    assert (scored_system.n_cases, scored_system.metrics[0].n_pairs) == (8, 8)
    assert (list(scored_system.only_a), list(scored_system.only_b)) == ([], ["q99"])
    assert scored_system.changed == []
    assert any("4 items have a different question or reference" in line for line in found.cautions)
    assert all(name in found.cautions[0] for name in scored_system.altered)


def test_an_item_that_one_of_three_was_asked_otherwise_is_not_analysed():
    a, b, c = (make_scored_system(draw_values(seed, 0.5), system=f"s{seed}") for seed in range(3))
    scored, answered = c.answers[7]
    answers = [*c.answers[:7], (scored, replace(answered, question="Another?")), *c.answers[8:]]
    c = ScoredSystem("trial", "entry", "s2", answers)
    ((_, found),) = analyse_pairs([(a, b), (a, c), (b, c)])
    assert (found.n_items, found.left_out) == (119, 1)
    assert answered.case not in {item.case for item in found.items}


def test_items_drawn_from_systems_of_different_strength_tell_them_apart():
    dice = random.Random(5)
    strengths = [-1.5, -0.5, 0.5, 1.5]
    hard = [dice.gauss(0, 1) for _ in range(300)]
    scored_systems = [
        make_scored_system(
            {
                f"q{n:03}": float(dice.gauss(0, 0.5) < strength - difficulty)
                for n, difficulty in enumerate(hard)
            },
            system=f"s{strength}",
        )
        for strength in strengths
    ]
    ((_, found),) = analyse_pairs(
        [(scored_systems[0], scored_system) for scored_system in scored_systems[1:]]
    )
    assert found.mean_discrimination > 0.6
    assert found.against < 0.1 * found.n_items
    assert [mean.mean for mean in found.systems] == sorted(mean.mean for mean in found.systems)
    assert all(mean.interval[0] < mean.mean < mean.interval[1] for mean in found.systems)
    chance = [make_scored_system(draw_values(seed, 0.5, 300), system=f"s{seed}") for seed in range(4)]
    ((_, noise),) = analyse_pairs([(chance[0], scored_system) for scored_system in chance[1:]])
    assert abs(noise.mean_discrimination) < 0.2
