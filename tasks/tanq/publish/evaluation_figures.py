"""Stage: compute the figures of TANQ's Tables 5, 6, 8 to 11, 15 and 16, and the open agents' faults."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.files import write_text
from tasks.judging.trust import TrustThresholds
from tasks.reports.plurals import count_of
from tasks.reports.tables import round_figures
from tasks.settings import read_section
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.outcomes import TableOutcome, join_table_outcomes, list_systems, select_outcomes
from tasks.tanq.score.hallucination_labels import HallucinationLabel
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import ORACLE, Prediction
from tasks.tanq.tables_evaluation import tabulate_failures, tabulate_faults, tabulate_scores

FEW = 30
"""Minimum number of questions.

With fewer questions, the page warns that differences between systems may be due to chance.
"""


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
    """Write an evaluation's figures as one JSON object; scores and shares are from 0 to 1.

    settings: the parameters `judging.thresholds.*`; the page warns if a threshold is exceeded. Raises
    StageFailed if a question uses a skill that has no column in TANQ's Table 6.
    """
    outcomes = join_table_outcomes(items, [*predictions, *human_tables], [*scores, *human_scores])
    failures = tabulate_failures(
        outcomes, hallucination_labels, hallucination_labels_dropped, labelled=entry.labels is not None
    )
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
        "warnings": list(list_table_cautions(outcomes, human_tables_dropped, settings)),
        "tables": {**tabulate_scores(outcomes), "11": failures, "faults": tabulate_faults(outcomes)},
    }
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return Counts(len(predictions), len(predictions) - failed, {"failed": failed} if failed else {})


def list_table_cautions(
    outcomes: Sequence[TableOutcome],
    unread: Sequence[Dropped],
    settings: Mapping[str, object],
) -> Iterator[str]:
    """Yield the warnings for an evaluation's page.

    unread: unusable lines of human-written tables. settings: the parameters `judging.thresholds.*`.
    """
    most = read_section(settings, "judging.thresholds", TrustThresholds).unscored_share
    items = {outcome.item.id for outcome in outcomes}
    if len(items) < FEW:
        few = count_of(len(items), "question")
        yield f"With only {few}, a difference between two systems may be due to chance."
    for system in list_systems(outcomes):
        own = select_outcomes(outcomes, system)
        failed = [outcome.prediction.failed for outcome in own if outcome.prediction.failed]
        if len(failed) > most * len(own):
            what = f"{len(failed)} of {len(own)} predictions have no reply ({failed[0]})"
            yield f"{system.name}: {what}. The means leave out these predictions."
    shown = [
        outcome
        for outcome in outcomes
        if outcome.prediction.setting == ORACLE and not outcome.system.is_people
    ]
    if cut := sum(bool(outcome.prediction.left_out) for outcome in shown):
        yield (
            f"{cut} of {len(shown)} oracle prompts lack some proofs, because the context window was too "
            "small."
        )
    if unread:
        yield f"{count_of(len(unread), 'line')} of people's tables could not be used ({unread[0].detail})."
