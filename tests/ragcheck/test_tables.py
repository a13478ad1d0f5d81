"""Tests of the tables on both pages: values from rows, and pointers to the record's figures."""

import pytest

from tasks.judging.canaries import CanaryHealth
from tasks.judging.trust import HumanAlpha
from tasks.ragcheck.comparison import ConversationFigure
from tasks.ragcheck.correlations import MeasureCorrelation
from tasks.ragcheck.figures import Estimate
from tasks.ragcheck.page_parts import JudgeReport, tabulate_judges
from tasks.ragcheck.rule_comparison import RuleDifference
from tasks.ragcheck.tables import (
    draw_means,
    show_tables,
    tabulate_correctness,
    tabulate_measures,
    tabulate_rules,
)
from tasks.ragcheck.tables_continuity import (
    draw_datasets,
    tabulate_continuity,
    tabulate_means,
    tabulate_pairs,
    tabulate_rates,
)

NONE = Estimate(None, None, None)


def make_measure(measure, value, judge="", dataset="", note=""):
    mean = NONE if note else Estimate(value, value - 0.5, value + 0.5)
    return MeasureCorrelation(
        f"{measure}-{judge}-{dataset}", "good", dataset, measure, judge, 9, 4, 3, 2, 0, mean, 3,
        Estimate(value / 10, None, None), NONE, NONE, note, (),
    )  # fmt: skip


MEASURES = [
    make_measure("E3", 4.0, "two"),
    make_measure("E3", 3.0, "one"),
    make_measure("word_recall", 0.5),
    make_measure("bertscore", 0, note="the parameters name no model"),
    make_measure("E1", 2.0),
    make_measure("E3", 5.0, "one", "a"),
]
RULES = [
    RuleDifference("r1", "good", "", "one", "mean", 4, 2, Estimate(0.5, 0.1, 0.9), 0.01, 0.02, ()),
    RuleDifference("r2", "good", "", "one", "pearson", 0, 0, NONE, None, None, ()),
]


def read_pointers(tables, shown):
    """Return (shown value, recorded value) for the shown cells, by their pointers into the record."""
    recorded = list(tables.values())
    for key, table in shown.tables.items():
        for line, pointers in zip(table.lines, shown.pointers[key], strict=True):
            for cell, pointer in zip(line.cells, pointers, strict=True):
                if pointer and cell.value is not None:
                    _, _, place, _, number, _, column = pointer.split("/")
                    yield cell.value, recorded[int(place)].lines[int(number)].cells[int(column)].value


def test_figure_2_has_people_first_then_baselines_then_judges():
    table = tabulate_measures(MEASURES, "good", "", ("one", "two"))
    assert [line.label[0] for line in table.lines] == [
        "E1: people", "word recall", "bertscore", "E3: one", "E3: two",
    ]  # fmt: skip
    mean, unsure, _, pearson, *_ = table.lines[3].cells
    assert (mean.value, mean.n, mean.failed, mean.interval) == (3.0, 4, 2, (2.5, 3.5))
    assert (unsure.value, pearson.value, pearson.n) == (3, pytest.approx(0.3), 3)
    assert table.lines[2].cells[0].why == "the parameters name no model"
    assert tabulate_measures(MEASURES, "good", "a", ("one", "two")).title == "good on a"


def test_shown_figures_lead_to_the_same_figures_of_the_record():
    recorded = tabulate_correctness(MEASURES, RULES)
    measures = tabulate_measures(MEASURES, "good", "", ("one", "two"))
    shown = show_tables({"figure": measures, "compared": tabulate_rules(RULES)}, recorded)
    pairs = list(read_pointers(recorded, shown))
    assert len(pairs) == 4 + 5 + 1  # means, correlations, and a difference of the rules
    assert all(value == other for value, other in pairs)


def test_grades_and_similarities_are_drawn_on_their_own_scales():
    grades, similarities = draw_means(tabulate_measures(MEASURES, "good", "", ("one", "two")))
    assert [label for label, _ in grades.lines] == ["E1: people", "E3: one", "E3: two"]
    assert ([label for label, _ in similarities.lines], similarities.top) == (["word recall"], 1)


def test_judges_are_listed_with_canaries_and_each_systems_agreement_with_people():
    health = CanaryHealth(3, 2, 1, 0.5, wrong=("c1",))
    judges = [
        JudgeReport("one", 9, 1, health, (HumanAlpha(4, 0.5, 0.1, 0.9, "good"),), ()),
        JudgeReport("two", 9, 0, health, (), ()),
    ]
    table = tabulate_judges(judges, rated=True)
    assert table.columns[3:] == ("agreement with people on good",)
    right, agreement = table.lines[0].cells[2:]
    assert (right.value, right.n, right.failed) == (1, 2, 1)
    assert (agreement.value, agreement.n, agreement.interval) == (0.5, 4, (0.1, 0.9))
    assert table.lines[1].cells[3].why == "no person rated these answers"
    assert len(tabulate_judges(judges, rated=False).columns) == 3


def make_figure(kind, measure, value, system="a", other="", dataset=""):
    name = f"{kind}-{dataset}-{system}-{measure}"
    return ConversationFigure(
        name, kind, dataset, system, other, measure, 2, 1, Estimate(value, None, None), 0.04, 0.05, ()
    )


COMPARISON = [
    *(make_figure("mean", name, 2.0, system) for name in ("wscore", "lscore", "mscore") for system in "ab"),
    make_figure("mean", "wscore", 1.0, dataset="glass"),
    make_figure("mean", "wscore", 3.0, dataset="moss"),
    make_figure("difference", "wscore", 0.5, other="b"),
    make_figure("difference", "wscore", 0.75, other="b", dataset="glass"),
    make_figure("sign", "wscore", 1.0, other="b"),
    make_figure("rate", "leak", 0.25),
]


def test_figures_of_conversations_are_read_by_system_pair_and_dataset():
    means = tabulate_means(COMPARISON, ("a", "b"), {"wscore": 5, "lscore": 3, "mscore": 5})
    assert (means.forms, [line.label for line in means.lines]) == (
        ("scale:0:5", "scale:0:3", "scale:0:5"), [("a",), ("b",)],
    )  # fmt: skip
    pairs = tabulate_pairs(COMPARISON, ("a", "b"), 5)
    difference, p_value, adjusted, sign = pairs["pairs"].lines[0].cells
    assert (difference.value, difference.n, difference.failed, difference.of) == (0.5, 2, 1, "questions")
    assert (p_value.value, adjusted.value, sign.value, sign.n) == (0.04, 0.05, 1.0, 2)
    assert pairs["pairs"].lines[1].cells[0].why == "not measured"
    assert pairs["pairs-by-dataset"].lines[0].label == ("a minus b", "wscore", "glass")
    assert [cell.value for cell in tabulate_rates(COMPARISON, ("a",)).lines[0].cells][:2] == [0.25, None]
    record = tabulate_continuity(COMPARISON)
    assert list(record) == ["mean", "difference", "sign", "rate"]
    assert [line.label for line in record["sign"].lines] == [("", "a", "b", "wscore")]


def test_datasets_are_drawn_in_their_order_and_one_alone_is_not():
    plots = draw_datasets(COMPARISON, ("a", "b"), {"wscore": 5, "lscore": 3, "mscore": 5})
    (series,) = plots[0].series  # b has no mean for a dataset
    assert [point.title for point in series.points] == ["a, glass: 1.000", "a, moss: 3.000"]
    assert [label for _, label, _ in plots[0].x_ticks] == ["glass", "moss"]
    assert draw_datasets([row for row in COMPARISON if not row.dataset], ("a",), {}) == []
