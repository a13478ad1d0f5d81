"""`benchloom evaluate tanq`: a system of the user's on a folder of questions, scored as the baselines are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.figure_cells import FigureCell, mean_cell, round_figures
from tasks.systems.capabilities import needs_documents
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import Evaluated, EvaluationOptions, OwnDataset, ReadSection, refuse_options
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.seed_question import KINDS
from tasks.tanq.labels import Failure
from tasks.tanq.own_items import read_own_items
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import Prediction
from tasks.tanq.solve.system_predictions import SystemTables

STAGES = ("system_predictions", "scores")
RULES = ("released", "paper")
FIGURES = ("precision", "recall", "f1")
PREDICTIONS, GIVEN = Selection("predictions"), Selection("predictions", {"failed": ""})
FEW = 20
"""Items below which figures are warned of."""


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read and check the items. Raises BadInput, one line."""
    refuse_options(options, "tanq.system_predictions.proofs sends proofs")
    if needs_documents(entry):
        raise BadInput(f"systems.{options.system}", "retrieves from documents, and tables have none")
    params = read("tanq.system_predictions", SystemTables)
    found = read_own_items(options.dataset)
    items = found.items[: options.limit]
    settings = entry.model_dump(mode="json"), params.model_dump(mode="json")
    asked = [
        (item.id, item.question, item.answer_table, [proof.id for proof in item.proofs]) for item in items
    ]
    key = make_id("evaluation", "tanq", options.system, asked, *settings, options.as_of)
    return OwnDataset(
        key,
        {"tanq.systems": {"set": key, "system": options.system}, "tanq.evaluations": {"set": key}},
        {"items": (TanqItem, items)},
        tuple(f"tanq.{stage}" for stage in STAGES),
        found.problems,
        (),
        {"items": len(items)},
        kept=("items",),
    )


def evaluate(rows: Mapping[str, Sequence[Any]], options: EvaluationOptions, read: ReadSection) -> Evaluated:
    """Compute the figures from the stages' rows. rows: name of the artifact -> its rows."""
    predictions: Sequence[Prediction] = rows["predictions"]
    scores: Mapping[str, PredictionScore] = {score.id: score for score in rows["scores"]}
    items: Mapping[str, TanqItem] = {item.id: item for item in rows["items"]}
    given = [scores[prediction.id] for prediction in predictions if not prediction.failed]
    failed = len(predictions) - len(given)
    kinds = {score.item: items[score.item].kind for score in given}
    figures = {
        "warnings": warn_of(len(predictions), failed),
        "counts": {
            "items": len(predictions),
            "scored": len(given),
            "failed": failed,
            "no_table": sum(Failure.NOT_A_TABLE in score.failures for score in given),
        },
        "rms": measure_rms(given, failed),
        "kinds": {
            kind: measure_rms(
                [score for score in given if kinds[score.item] == kind],
                sum(items[row.item].kind == kind for row in predictions if row.failed),
                kind,
            )
            for kind in KINDS
            if any(items[row.item].kind == kind for row in predictions)
        },
        "failure_kinds": count_failures(given),
    }
    rounded = round_figures(figures)
    assert isinstance(rounded, dict)  # noqa: S101 - as it was given
    lines = [f"item {row.item}: no table: {row.failed}" for row in predictions if row.failed]
    return Evaluated(rounded, lines, derive_counts(predictions))


def warn_of(items: int, failed: int) -> list[str]:
    """Warn of figures over few items, and of failures, which are in no mean."""
    warnings = [f"{items} items are few: read the intervals."] if items < FEW else []
    if failed:
        warnings.append(f"{failed} of {items} questions have no answer: they are in no mean below.")
    return warnings


def measure_rms(
    scores: Sequence[PredictionScore], failed: int, kind: str = ""
) -> dict[str, dict[str, FigureCell]]:
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
    return {kind: found[kind] for kind in Failure if found[kind]}


def derive_counts(predictions: Sequence[Prediction]) -> dict[str, Derivation]:
    """Name the rows of the counts, by their places in the figures."""
    lost = Selection("predictions", {"failed": tuple(sorted({row.failed for row in predictions} - {""}))})
    counts = {
        "items": PREDICTIONS,
        "scored": GIVEN,
        "failed": lost,
        "no_table": _select_failure(Failure.NOT_A_TABLE),
    }
    kinds = {f"/failure_kinds/{kind}": _select_failure(kind) for kind in Failure}
    rows = {**{f"/counts/{name}": selection for name, selection in counts.items()}, **kinds}
    rows["/items"] = Selection("items")
    return {place: Derivation("count", (selection,)) for place, selection in rows.items()}


def _select_failure(kind: str) -> Selection:
    return Selection("scores", {"failures": kind}, {"id": GIVEN})
