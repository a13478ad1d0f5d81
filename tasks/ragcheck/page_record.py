"""Tables of what the pages show, for their records: every figure is a part of an artifact's row."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.rows import ConversationFigure, Estimate, MeasureCorrelation, RuleDifference
from tasks.reports.figure_cells import FigureCell, FigureTable, Line

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


def _show(
    artifact: str, row: str, column: str, estimate: Estimate, n: int, failed: int, of: str
) -> FigureCell:
    basis = Derivation("mean", (Selection(artifact, {"id": row}),), f"{column}.value")
    why = "" if estimate.value is not None else "not defined"
    return FigureCell(estimate.value, n, failed, estimate.interval, of, why, basis)
