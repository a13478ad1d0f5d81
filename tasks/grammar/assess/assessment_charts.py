"""Choose the figures of an assessment that DVC plots: what its page prints of the fault's set and mode."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.grammar.assess.assessment_figures import AssessmentFigures
from tasks.reports.metrics import DvcMetric, MetricGroup, choose_column

RATES = {
    "accuracy": "accuracy",
    "R": "robustness",
    "Acc_retrieval_db": "retrieval_db_accuracy",
}
"""The page's name of a rate -> its field: of the whole system, its model, retrieval and database."""


def list_charts(figures: AssessmentFigures) -> Iterator[MetricGroup]:
    """List the charts: each rate by criterion, groups by how they were answered, and Table 4."""
    fault = figures.fault
    parts = figures.rates[fault.set][fault.mode]
    for name, field in RATES.items():
        yield MetricGroup(
            f"{name} by criterion",
            tuple(
                DvcMetric(part, value, getattr(rates.ci, field))
                for part, rates in parts.items()
                if (value := getattr(rates, field)) is not None
            ),
        )
    yield MetricGroup(
        "groups by criterion",
        tuple(
            DvcMetric(f"{part} · {tag}", count)
            for part, tags in figures.gaps[fault.set][fault.mode].items()
            for tag, count in tags.items()
        ),
    )
    if "4" in figures.tables:
        for column in figures.tables["4"].columns:
            yield choose_column(f"{column} by queries", figures.tables["4"], column)
