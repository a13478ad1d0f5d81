"""`benchloom evaluate tanq`: a system of the user's on a folder of questions, scored as the baselines are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.own_evaluation import Evaluation, Measured, OwnRows, warn_few
from tasks.reports.printed import Column, Printed, Rows
from tasks.reports.tables import Cell, mean_cell
from tasks.systems.evaluation import KEY, SYSTEM, EvaluationOptions, ReadSection
from tasks.systems.own_items import ItemDataset
from tasks.tanq.own_items import READER
from tasks.tanq.rows import KINDS, TanqItem
from tasks.tanq.score.rows import FAILURES, NOT_A_TABLE, PredictionScore
from tasks.tanq.solve.system_predictions import SystemTables

RULES = ("released", "paper")
FIGURES = ("precision", "recall", "f1")
PREDICTIONS, GIVEN = Selection("predictions"), Selection("predictions", {"failed": ""})


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Compute the figures from the stages' rows."""
    predictions = rows["predictions"]
    scores = {score.id: score for score in rows["scores"]}
    kinds = {item.id: item.kind for item in rows["items"]}
    given = [scores[prediction.id] for prediction in predictions if not prediction.failed]
    lost = [prediction for prediction in predictions if prediction.failed]
    asked = {kinds[prediction.item] for prediction in predictions}
    failures = count_failures(given)
    warning = f"{len(lost)} of {len(predictions)} questions have no answer: they are in no mean below."
    figures = {
        "warnings": [*warn_few(len(predictions)), *([warning] if lost else [])],
        "rms": measure_rms(given, len(lost)),
        "kinds": {
            kind: measure_rms(
                [score for score in given if kinds[score.item] == kind],
                sum(kinds[prediction.item] == kind for prediction in lost),
                kind,
            )
            for kind in KINDS
            if kind in asked
        },
        "failure_kinds": failures,
    }
    counts = {
        "items": PREDICTIONS,
        "scored": GIVEN,
        "failed": Selection("predictions", {"failed": tuple(sorted({row.failed for row in lost}))}),
        "no_table": select_failure(NOT_A_TABLE),
    }
    bases = {f"/failure_kinds/{kind}": Derivation("count", (select_failure(kind),)) for kind in failures}
    return Measured(
        figures,
        [f"item {row.item}: no table: {row.failed}" for row in lost],
        {name: Derivation("count", (selection,)) for name, selection in counts.items()},
        bases,
    )


def measure_rms(scores: Sequence[PredictionScore], failed: int, kind: str = "") -> dict[str, dict[str, Cell]]:
    """Compute the means of both rules, fractions of 1, with intervals. kind: of the items; empty for all."""
    through = {"id": GIVEN, **({"item": Selection("items", {"kind": kind})} if kind else {})}
    rows = (Selection("scores", {}, through),)
    return {
        rule: {
            figure: mean_cell(
                [getattr(score, f"{rule}_{figure}") for score in scores] + [None] * failed,
                "predictions",
                interval=True,
                basis=Derivation("mean", rows, f"{rule}_{figure}"),
            )
            for figure in FIGURES
        }
        for rule in RULES
    }


def count_failures(scores: Sequence[PredictionScore]) -> dict[str, int]:
    """Count predictions by kind of failure, those of Table 11 that a rule can tell."""
    found = Counter(kind for score in scores for kind in set(score.failures))
    return {kind: found[kind] for kind in FAILURES if found[kind]}


def select_failure(kind: str) -> Selection:
    """Select the scores of predictions that failed in a way."""
    return Selection("scores", {"failures": kind}, {"id": GIVEN})


def tell_failures(figures: Mapping[str, Any]) -> Iterator[str]:
    """List the kinds of failures in a line."""
    kinds = [f"{kind.replace('_', ' ')} {count}" for kind, count in figures["failure_kinds"].items()]
    yield f"failures: {', '.join(kinds) or 'none'}"


EVALUATION = Evaluation(
    ItemDataset(
        TanqItem,
        stages=("tanq.system_predictions", "tanq.scores"),
        entries={"tanq.systems": {"set": KEY, "system": SYSTEM}, "tanq.evaluations": {"set": KEY}},
        reader=READER,
        identify=lambda item: (
            item.id,
            item.question,
            item.answer_table,
            [proof.id for proof in item.proofs],
        ),
        settings=("tanq.system_predictions", SystemTables),
        named=("tanq",),
    ),
    measure,
    (
        Printed(
            ("questions", "rule"),
            (Rows("/rms/*", ("all", "{0}")), Rows("/kinds/*/*", ("{0}", "{1}"))),
            (
                Column("n", "f1/n"),
                Column("without", "f1/failed"),
                Column("precision", "precision", scale=100, digits=1),
                Column("recall", "recall", scale=100, digits=1),
                Column("F1", "f1", scale=100, digits=1),
            ),
            "{items} items, {scored} scored, {failed} failed, {no_table} without a table",
        ),
    ),
    tell_failures,
)
