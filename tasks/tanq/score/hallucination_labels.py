"""Stage: read human labels for hallucinations that rules cannot detect (TANQ, section 5.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.judging.human_files import is_same_text, write_form
from tasks.judging.human_labels import FOLDER, LabelLine, read_human_labels
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.labels import Hallucination
from tasks.tanq.solve.prediction import Prediction

UNKNOWN, OTHER = "unknown_prediction", "other_response"
FORM_COLUMNS = ("id", "question", "answer", "response", "choices", "label", "rater")


@dataclass(frozen=True)
class HallucinationLabel:
    """A row of stage `hallucination_labels`: a human label for one prediction.

    rater: empty if the file has no rater.
    """

    id: str
    prediction: str
    item: str
    rater: str
    label: Hallucination
    origin: tuple[Origin, ...]


def hallucination_labels(
    items: list[TanqItem], predictions: list[Prediction], entry: TableEvaluation
) -> Drafts[HallucinationLabel]:
    """Match the lines of the label file with predictions; return no rows if no file is set.

    A line has the `id` of a prediction, and yes or no as its `label`. Raises BadInput in the same cases as
    `read_human_labels`. Drop reasons, with the line in `detail`:

    - the same reasons as in `read_human_labels`.
    - `unknown_prediction`: this run has no prediction with this id, or the prediction has no reply.
    - `other_response`: the line and the prediction have different replies, so the label is from another run.
    """
    if entry.labels is None:
        return Drafts([])
    there = {row.id: row for row in predictions if not row.failed}
    read = read_human_labels(entry.labels, tuple(Hallucination))
    kept: list[HallucinationLabel] = []
    dropped = [_drop(line.line, line.reason, line.detail) for line in read.unusable]
    for line in read.labels:
        prediction = there.get(line.label.id)
        if prediction is None:
            dropped.append(_drop(line.line, UNKNOWN, f"{line.label.id} is not a prediction with a reply"))
        elif line.shown and not is_same_text(line.shown, prediction.reply):
            dropped.append(_drop(line.line, OTHER, f"{line.label.id} has another reply in this run"))
        else:
            kept.append(_make_label(line, prediction, entry.labels.name))
    return Drafts(kept, dropped)


def make_label_form(items: Mapping[str, TanqItem], predictions: Iterable[Prediction]) -> str:
    """Return the CSV form: each reply with its question and answer, in order of id."""
    replied = sorted((row for row in predictions if not row.failed), key=lambda row: row.id)
    asked = ((row, items[row.item]) for row in replied)
    return write_form(
        FORM_COLUMNS,
        (
            (row.id, item.question, item.answer_table, row.reply, " or ".join(Hallucination), "", "")
            for row, item in asked
        ),
    )


def _make_label(line: LabelLine, prediction: Prediction, file: str) -> HallucinationLabel:
    return HallucinationLabel(
        id=make_id("hallucination", prediction.id, line.label.rater),
        prediction=prediction.id,
        item=prediction.item,
        rater=line.label.rater,
        label=Hallucination.read(line.label.label),
        origin=(Origin("row", f"predictions#{prediction.id}"), Origin("file", (FOLDER / file).as_posix())),
    )


def _drop(line: int, reason: str, what: str) -> Dropped:
    return Dropped(make_id("hallucination", line, reason), reason, f"line {line}: {what}")
