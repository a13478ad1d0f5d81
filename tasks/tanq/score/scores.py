"""Stage: score every predicted table, and list its failures and faults (TANQ, sections 5.1, 5.6 and 5.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.artifacts.splitting import splits
from tasks.judging.answered import Answered, Scored
from tasks.scoring.rms_paper import compute_paper
from tasks.scoring.rms_released import RmsScores, compute_released
from tasks.scoring.tables import Cell, CellTable, get_table, parse_table
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.labels import AgentFault, FailureKind
from tasks.tanq.score.failures import find_failures, find_faults
from tasks.tanq.score.table_match import Rows, match_table
from tasks.tanq.solve.prediction import OPEN, Prediction

PREDICTIONS = 500
"""Number of predictions in a shard."""


@dataclass(frozen=True)
class PredictionScore:
    """A row of stages `scores`, `system_scores` and `human_scores`: RMS (mapping similarity) in two variants.

    - id: the id of the prediction.
    - precision, recall, F1: from 0 to 1; None if there is no reply.
    - failures: the failures of TANQ's Table 11 that rules detect.
    - faults: the faults of TANQ, section 5.7; None if there is no reply, or if the system is not the open
      agent.
    """

    id: str
    item: str
    system: str
    released_precision: float | None
    released_recall: float | None
    released_f1: float | None
    paper_precision: float | None
    paper_recall: float | None
    paper_f1: float | None
    failures: tuple[FailureKind, ...]
    faults: tuple[AgentFault, ...] | None
    origin: tuple[Origin, ...]


@splits("predictions", PREDICTIONS)
def scores(items: list[TanqItem], predictions: list[Prediction]) -> Drafts[PredictionScore]:
    """Score every prediction; for a prediction without a reply, the row has no scores.

    A reply without a table is scored as an empty table: precision 1, recall 0.
    """
    return Drafts(score_all(items, predictions, "predictions"))


def score_all(
    items: Iterable[TanqItem], predictions: Iterable[Prediction], artifact: str
) -> list[PredictionScore]:
    """Return the scores of predictions, in the same order.

    artifact: the name of the artifact that contains the predictions; each score lists it as an origin.
    """
    by_id = {item.id: item for item in items}
    return [score_prediction(by_id[row.item], row, artifact) for row in predictions]


def score_prediction(item: TanqItem, prediction: Prediction, artifact: str) -> PredictionScore:
    """Score one prediction by both variants of the metric, and list its failures and faults."""
    replied = not prediction.failed
    match = match_table(item, prediction.table) if prediction.table else None
    released, paper = compare_tables(item, prediction.table or ()) if replied else (None, None)
    return PredictionScore(
        id=prediction.id,
        item=item.id,
        system=prediction.system,
        released_precision=released.precision if released else None,
        released_recall=released.recall if released else None,
        released_f1=released.f1 if released else None,
        paper_precision=paper.precision if paper else None,
        paper_recall=paper.recall if paper else None,
        paper_f1=paper.f1 if paper else None,
        failures=find_failures(item, match) if replied else (),
        faults=find_faults(item, prediction, match) if replied and prediction.setting == OPEN else None,
        origin=(Origin("row", f"items#{item.id}"), Origin("row", f"{artifact}#{prediction.id}")),
    )


def compare_tables(item: TanqItem, table: Rows) -> tuple[RmsScores, RmsScores]:
    """Compute the similarity of a predicted table with the answer in both RMS variants.

    The first result follows TANQ's released code, and uses the text of the answer. The second result follows
    the TANQ paper, and uses the answer's lists of values.
    """
    said = read_rows(table)
    return compute_released(parse_table(item.answer_table), said), compute_paper(list_values(item), said)


def read_rows(table: Rows) -> CellTable:
    """Convert predicted rows to a table, as `benchloom score rms` does.

    If the first header is `title`, it is a header and does not mark the table's title.
    """
    return get_table({"rows": [list(row) for row in table]}, "rows")


def list_values(item: TanqItem) -> CellTable:
    """Return the answer table with a list of values in each cell, without rows that fail a filter."""
    rows: list[tuple[Cell, ...]] = [_fold(["entity", *(column.header for column in item.columns)])]
    for row in item.rows:
        if row.filter_pass:
            name = _fold([row.label])
            rows.append((*name, *(_fold(cell.values) for cell in row.cells)))
    return CellTable(tuple(rows))


def _fold(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.strip().lower() for text in texts)


def list_scored(rows: Iterable[PredictionScore]) -> list[Scored]:
    """List each prediction's F1 in the released variant, to compare nightly runs; None if unscored."""
    return [Scored(row.id, row.item, row.released_f1) for row in rows]


def list_answered(
    items: list[TanqItem], predictions: list[Prediction], scores: list[PredictionScore]
) -> list[Answered]:
    """List the question, reference and prediction for each score, to compare nightly runs."""
    asked, given = {row.id: row for row in items}, {row.id: row for row in predictions}
    return [
        Answered(
            id=row.id,
            case=row.item,
            system=row.system,
            metric="released F1",
            question=asked[row.item].question,
            reference=asked[row.item].answer_table,
            answer=given[row.id].reply or given[row.id].failed,
            note=", ".join((*row.failures, *(row.faults or ()))),
            further={"paper F1": row.paper_f1},
        )
        for row in scores
    ]
