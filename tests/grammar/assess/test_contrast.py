from dataclasses import replace
from random import Random

import pytest

from tasks.grammar.assess.contrast import NONE_SHOWN, contrast_parts
from tasks.grammar.assess.judged import RULES, SUFFICIENCY, tag_rows
from tasks.scoring.running import Bootstrap
from tests.grammar.assess.test_judged import make, number


def contrast(rows, mode="open", draws=500, seed=0):
    return examine(rows, mode, draws, seed).rates


def examine(rows, mode="open", draws=2000, seed=0):
    parts = {("balanced", mode): tag_rows(number(rows), mode)}
    return contrast_parts(parts, "short", "long", Bootstrap(draws, seed))["balanced", mode]


def name(rows, rule):
    return examine(rows).fault[rule].module


def pair(group, short, long, retrieved_short="d", retrieved_long="d"):
    return [
        make(group, short, retrieved_short, criterion="short"),
        make(group, long, retrieved_long, criterion="long"),
    ]


def test_rates_and_modules_by_hand():
    # g1 short + {d}, long - {x}: retriever. g2 short + {d}, long - {d}: model. g3 both -: a gap.
    # g4 both +.
    found = contrast(
        pair("g1", "+", "-", retrieved_long="x")
        + pair("g2", "+", "-")
        + pair("g3", "-", "-")
        + pair("g4", "+", "+")
    )
    assert (found["accuracy"].a, found["accuracy"].b) == (3 / 4, 1 / 4)
    assert (found["accuracy"].n_a, found["accuracy"].n_b) == (4, 4)
    assert (found["robustness"].a, found["robustness"].b) == (
        1,
        pytest.approx(1 / 3),
    )  # 3 rows per side outside g3
    assert (found["context.siblings"].a, found["context.siblings"].b) == (1, pytest.approx(2 / 3))
    shares = {name: (found[f"module.siblings.{name}"].a, found[f"module.siblings.{name}"].b) for name in
              ("database", "retrieval", "model")}  # fmt: skip
    assert shares == {"database": (0.25, 0.25), "retrieval": (0, 0.25), "model": (0, 0.25)}


def test_the_difference_is_the_sum_of_the_modules_differences():
    found = contrast(
        pair("g1", "+", "-", retrieved_long="x")
        + pair("g2", "-", "+")
        + pair("g3", "-", "-")
        + pair("g4", "+", "-")
    )
    for rule in RULES:
        summed = sum(
            -found[f"module.{rule}.{name}"].difference for name in ("database", "retrieval", "model")
        )
        assert summed == pytest.approx(found["accuracy"].difference)


def test_a_retriever_that_fails_on_long_questions_is_named_and_a_good_one_is_not():
    weak = [
        row
        for n in range(20)
        for row in pair(f"g{n}", "+", "-" if n % 2 else "+", "d", "x" if n % 2 else "d")
    ]
    found = contrast(weak)
    assert found["accuracy"].low > 0
    for rule in RULES:
        assert name(weak, rule) == "retrieval"
    good = [row for n in range(20) for row in pair(f"g{n}", "-" if n == 3 else "+", "-" if n == 7 else "+")]
    assert {name(good, rule) for rule in RULES} == {NONE_SHOWN}


def test_a_model_that_fails_on_long_questions_with_the_right_document_is_named():
    rows = [row for n in range(20) for row in pair(f"g{n}", "+", "-" if n % 2 else "+")]
    assert {name(rows, rule) for rule in RULES} == {"model"}


def test_a_module_that_fails_the_other_way_round_explains_nothing():
    # The model fails 22 long questions, the retriever fails six short questions: short leads.
    rows = [row for n in range(12) for row in pair(f"m{n}", "+", "-")]
    rows += [row for n in range(6) for row in pair(f"r{n}", "-", "+", retrieved_short="x")]
    rows += [row for n in range(10) for row in pair(f"s{n}", "+", "-")]
    fault = examine(rows).fault["gold"]
    assert fault.module == "model"
    assert fault.shown == ("model", "retrieval")


def test_the_interval_draws_whole_groups_and_never_shows_what_one_group_does():
    # 50 rows of one group count as one observation: a bootstrap sample includes the group or not.
    rows = [make("g", "+", "d", criterion="short")] * 50 + [make("g", "-", "x", criterion="long")] * 50
    rows += [row for n in range(5) for row in pair(f"h{n}", "+", "+")]
    found = contrast(rows, draws=2000)
    assert found["accuracy"].difference == pytest.approx(50 / 55)
    assert found["accuracy"].low == 0
    assert not found["accuracy"].is_shown


def test_a_rule_that_cannot_be_told_is_left_out_and_names_none():
    rows = pair("g1", "+", "-", None, None)
    found = contrast(rows)
    assert set(found) == {"accuracy", "robustness"}
    assert name(rows, "gold") is None


def test_no_rows_and_one_criterion_alone_have_no_difference():
    assert contrast([]) == {}
    assert name([], "gold") is None
    alone = contrast([make("g", "+", "d", criterion="short")])["accuracy"]
    assert (alone.a, alone.b, alone.difference, alone.low, alone.p_value) == (1, None, None, None, None)


def test_the_same_seed_gives_the_same_intervals_and_p_is_never_zero():
    rows = [row for n in range(20) for row in pair(f"g{n}", "+", "-" if n % 3 else "+")]
    assert contrast(rows) == contrast(rows)
    assert contrast(rows)["accuracy"].p_value == pytest.approx(2 / 501)


def draw_world(seed, right, *, templates=20):
    """Simulate three groups per template. right(criterion, easy, random): correctness, cause of an error."""
    random = Random(seed)
    rows = []
    for place in range(3 * templates):
        easy = random.random()
        for criterion in ("short", "long"):
            correct, changes = right(criterion, easy, random)
            row = make(f"g{place}", "+" if correct else "-", "d", criterion=criterion)
            rows.append(replace(row, template=f"t{place % templates}", **changes))
    return rows


def test_a_system_compared_with_itself_is_hardly_ever_named():
    def right(criterion, easy, random):
        causes = ({"enough": False}, {"enough": False, "obtainable": False}, {"holds": True}, {})
        return random.random() < easy, random.choice(causes)

    named = [examine(draw_world(seed, right), draws=1000).fault[SUFFICIENCY].module for seed in range(200)]
    assert sum(module != NONE_SHOWN for module in named) <= 14


@pytest.mark.parametrize(
    ("module", "fault"),
    [
        ("database", {"enough": False, "obtainable": False}),
        ("retrieval", {"enough": False}),
        ("model", {}),
        ("judge", {"holds": True}),
    ],
)
def test_a_planted_fault_of_each_kind_is_named(module, fault):
    def right(criterion, easy, random):
        return not (criterion == "long" and random.random() < 0.4), fault

    found = examine(draw_world(1, right))
    assert found.fault[SUFFICIENCY].module == module
    assert found.clusters == 20


def test_where_nothing_is_shown_the_least_difference_that_would_be_is_told():
    def right(criterion, easy, random):
        return random.random() < 0.6, {}

    found = examine(draw_world(3, right))
    assert 0.1 < found.detectable < 0.6
    limit = f"{found.detectable:.2f}"
    assert found.fault[SUFFICIENCY].why == (
        "the accuracies do not differ significantly; "
        f"with 20 templates, the test has 80% power to detect a difference of {limit}"
    )


def test_three_templates_show_nothing_however_far_apart_they_are():
    rows = [replace(row, template=f"t{n % 3}") for n in range(30) for row in pair(f"g{n}", "+", "-")]
    found = examine(rows)
    assert found.rates["accuracy"].difference == 1
    accuracy = found.rates["accuracy"]
    assert (accuracy.clusters, accuracy.p_value, accuracy.low, accuracy.p_holm) == (3, None, None, None)
    assert {fault.module for fault in found.fault.values()} == {NONE_SHOWN}


def test_a_rate_is_tested_over_the_templates_of_its_own_denominator():
    # One group of thirty has a correct answer: without mutual gaps, one row is compared with one row.
    rows = pair("g0", "+", "-") + [row for n in range(1, 30) for row in pair(f"g{n}", "-", "-")]
    found = contrast(rows, draws=2000)
    kept = found["robustness"]
    assert (kept.n_a, kept.n_b, kept.clusters, kept.difference) == (1, 1, 1, 1.0)
    assert (kept.low, kept.high, kept.p_value, kept.error) == (None, None, None, None)
    assert found["accuracy"].clusters == 30
    assert found["accuracy"].p_value is not None


def test_an_interval_without_a_width_is_none():
    found = contrast([row for n in range(8) for row in pair(f"g{n}", "+", "-")])["accuracy"]
    assert (found.difference, found.low, found.high) == (1.0, None, None)
    assert found.p_value == 2**-7, "all of eight on one side"
