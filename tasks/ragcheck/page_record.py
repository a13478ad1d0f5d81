"""Tables of what the pages show, for their records: every figure is a part of an artifact's row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.comparison import ConversationFigure
from tasks.ragcheck.contexts import BY_REFERENCE
from tasks.ragcheck.correlations import MeasureCorrelation
from tasks.ragcheck.figures import Estimate
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.rule_comparison import RuleDifference
from tasks.reports.figure_cells import FigureCell, FigureTable, Line
from tasks.reports.metrics import MetricGroup, choose_column
from tasks.reports.page import SystemFigure
from tasks.reports.systems_table import read_systems

DATASET, MEASURE = 1, 2
"""Places in the label of a line of the measures."""
ESTIMATES = ("mean", "pearson", "spearman", "alpha")


def tabulate_correctness(
    correlations: Sequence[MeasureCorrelation], rules: Sequence[RuleDifference]
) -> dict[str, FigureTable]:
    """Tabulate figure 2 and the difference of the rules."""
    measured = tuple(
        Line((row.system, row.dataset, row.measure, row.judge), tuple(_show_measure(row)))
        for row in correlations
    )
    compared = tuple(
        Line(
            (row.system, row.dataset, row.judge, row.figure),
            (_show("rule_comparison", row.id, "estimate", row.estimate, row.n, 0, "answers"),),
        )
        for row in rules
    )
    heads = ("system", "dataset", "measure", "judge")
    return {
        "measures": FigureTable("2", "Measures of correctness", heads, ESTIMATES, measured),
        "rules": FigureTable("", "E3 less E2", (*heads[:2], "judge", "figure"), ("difference",), compared),
    }


def _show_measure(row: MeasureCorrelation) -> list[FigureCell]:
    return [
        _show(
            "correlations",
            row.id,
            name,
            getattr(row, name),
            row.scored if name == "mean" else row.pairs,
            row.failed,
            "answers",
        )
        for name in ESTIMATES
    ]


def tabulate_continuity(comparison: Sequence[ConversationFigure]) -> dict[str, FigureTable]:
    """Tabulate means, differences, signs and rates, in this order."""
    kinds = dict.fromkeys(row.kind for row in comparison)
    return {
        kind: FigureTable(
            "",
            f"Conversations: {kind}",
            ("dataset", "system", "other", "measure"),
            (kind,),
            tuple(
                Line(
                    (row.dataset, row.system, row.other, row.measure),
                    (_show("comparison", row.id, "estimate", row.estimate, row.n, row.failed, "n"),),
                )
                for row in comparison
                if row.kind == kind
            ),
        )
        for kind in kinds
    }


def group_correctness(measures: FigureTable) -> list[MetricGroup]:
    """Choose what DVC shows: each measure's mean over all datasets, and its correlation with people."""
    names = dict.fromkeys(line.label[MEASURE] for line in measures.lines)
    return [
        *(
            choose_column(
                name,
                measures,
                "mean",
                labels=(0, 3),
                where={DATASET: "", MEASURE: name},
            )
            for name in names
        ),
        choose_column("pearson", measures, "pearson", where={DATASET: ""}),
    ]


def group_continuity(tables: Mapping[str, FigureTable]) -> list[MetricGroup]:
    """Choose what DVC shows: the means of every measure over all datasets."""
    if "mean" not in tables:
        return []
    return [
        choose_column(
            name,
            tables["mean"],
            "mean",
            labels=(1,),
            where={0: "", 3: name},
        )
        for name in dict.fromkeys(line.label[3] for line in tables["mean"].lines)
    ]


def list_answer_systems(correlations: Sequence[MeasureCorrelation]) -> list[SystemFigure]:
    """List the mean grade of each system's answers, by rule E3 and over all datasets."""
    judges = sorted({row.judge for row in correlations if row.measure == BY_REFERENCE})
    return [
        figure
        for judge in judges
        for figure in read_systems(
            FigureTable(
                "",
                "",
                ("system",),
                ESTIMATES,
                tuple(
                    Line((row.system,), tuple(_show_measure(row)))
                    for row in correlations
                    if (row.measure, row.judge, row.dataset) == (BY_REFERENCE, judge, "")
                ),
            ),
            "mean",
            dataset="all questions",
            measure="grade of the answers, 0 to 5",
            symbol=f"{BY_REFERENCE}, {judge}",
            top=TOP_SCORE,
        )
    ]


def list_conversation_systems(comparison: Sequence[ConversationFigure]) -> list[SystemFigure]:
    """List how far each system leads, early turns weighing more, over all datasets."""
    means = [row for row in comparison if (row.kind, row.measure, row.dataset) == ("mean", "wscore", "")]
    table = tabulate_continuity([replace(row, measure="") for row in means])
    return [
        figure
        for own in table.values()
        for figure in read_systems(
            own,
            "mean",
            dataset="all conversations",
            measure="how soon the right answer is reached, 0 to 5",
            symbol="wscore",
            top=TOP_SCORE,
        )
    ]


def _show(
    artifact: str, row: str, column: str, estimate: Estimate, n: int, failed: int, of: str
) -> FigureCell:
    basis = Derivation("mean", (Selection(artifact, {"id": row}),), f"{column}.value")
    why = "" if estimate.value is not None else "not defined"
    return FigureCell(estimate.value, n, failed, estimate.interval, of, why, basis)
