"""Stage: read human labels of a system's answers from a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.judging.human_files import is_same_text, write_form
from tasks.judging.human_labels import FOLDER, read_human_labels
from tasks.scoring.correctness import Correctness

UNKNOWN, OTHER, TWICE = "unknown_answer", "other_response", "labelled_twice"
FORM = ("id", "question", "answer", "response", "label", "rater")


@dataclass(frozen=True)
class AnswerLabel:
    """A person's label for an answer. `rater` is empty if the file names no rater."""

    id: str
    answer: str
    """The answer's id."""
    rater: str
    label: Correctness
    origin: tuple[Origin, ...]


def human_labels(answers: list[AssessedAnswer], entry: AssessmentEntry) -> Drafts[AnswerLabel]:
    """Return the labels in the assessment's label file, matched with their answers.

    Returns no rows if the assessment has no label file. The id in a line is the id of an answer or of its
    question. The detail of a dropped row contains the line number. Drop reasons are the reasons of
    `read_human_labels` and three further reasons:

    - `unknown_answer`: there is no such answer, or the answer has no response;
    - `other_response`: the line's response differs from the system's, so the label is for another run;
    - `labelled_twice`: the same rater already labelled this answer.
    """
    if entry.labels is None:
        return Drafts([])
    known = {name: given for given in answers for name in (given.id, given.question)}
    read = read_human_labels(entry.labels, tuple(Correctness))
    dropped = [_drop(line.line, line.reason, line.detail) for line in read.unusable]
    kept: dict[str, AnswerLabel] = {}
    for line in read.labels:
        label, answer = line.label, known.get(line.label.id)
        if answer is None or answer.response is None:
            what = "is not an answer of this run" if answer is None else "is an answer without a response"
            dropped.append(_drop(line.line, UNKNOWN, f"{label.id} {what}"))
        elif line.shown and not is_same_text(line.shown, answer.response):
            dropped.append(_drop(line.line, OTHER, f"{label.id} has another response in this run"))
        elif (row := make_id("label", answer.id, label.rater)) in kept:
            dropped.append(_drop(line.line, TWICE, f"{label.id} already has a label by {label.rater!r}"))
        else:
            file = Origin("file", (FOLDER / entry.labels.name).as_posix())
            origin = (Origin("row", f"answers#{answer.id}"), file)
            kept[row] = AnswerLabel(row, answer.id, label.rater, Correctness.read(label.label), origin)
    return Drafts(list(kept.values()), dropped)


def make_form(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """Return the CSV form for labels. `rows` contains (answer id, question, true answer, response).

    Rows are sorted by id, a hash, so the first hundred rows are a random sample. The form does not contain
    the judge's verdicts.
    """
    return write_form(FORM, [(*row, "", "") for row in sorted(rows)])


def _drop(line: int, reason: str, what: str) -> Dropped:
    return Dropped(make_id("label", line, reason), reason, f"line {line}: {what}")
