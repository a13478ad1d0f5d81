"""Stage: the figures of an evaluation: Tables 5, 6, 8 to 11, 15, 16, and open agents' faults (section 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.files import write_text
from tasks.reports.figure_cells import round_figures
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.publish.failure_tables import count_failures, count_faults
from tasks.tanq.publish.score_tables import tabulate_scores
from tasks.tanq.publish.table_cautions import list_table_cautions
from tasks.tanq.publish.table_outcomes import join_table_outcomes
from tasks.tanq.score.hallucination_labels import HallucinationLabel
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import Prediction


def evaluation_figures(
    items: list[TanqItem],
    predictions: list[Prediction],
    scores: list[PredictionScore],
    human_tables: list[Prediction],
    human_tables_dropped: list[Dropped],
    human_scores: list[PredictionScore],
    hallucination_labels: list[HallucinationLabel],
    hallucination_labels_dropped: list[Dropped],
    entry: TableEvaluation,
    key: str,
    settings: Mapping[str, object],
    out: Path,
) -> Counts:
    """Write an evaluation's figures as one JSON object; scores and shares are fractions of 1.

    settings: `judging.thresholds.*`, beyond which the page has a warning at its head. Raises StageFailed for
    a skill that no column has.
    """
    outcomes = join_table_outcomes(items, [*predictions, *human_tables], [*scores, *human_scores])
    labelled = count_failures(outcomes, hallucination_labels, hallucination_labels_dropped, entry)
    failed = sum(bool(row.failed) for row in predictions)
    figures = {
        "evaluation": key,
        "set": entry.set,
        "settings": entry.settings,
        "models": entry.models,
        "counts": {
            "items": len({row.item for row in predictions}),
            "predictions": len(predictions),
            "scored": len(predictions) - failed,
            "failed": failed,
            "without_table": sum(not row.failed and row.table is None for row in predictions),
            "of_people": len(human_tables),
        },
        "warnings": list_table_cautions(outcomes, human_tables_dropped, settings),
        "tables": {**dict(tabulate_scores(outcomes)), "11": labelled, "faults": count_faults(outcomes)},
    }
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return Counts(len(predictions), len(predictions) - failed, {"failed": failed} if failed else {})
