"""Stage: read human labels for answers and steps from a file (section 4.4 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.judging.human_files import is_same_text
from tasks.judging.human_labels import FOLDER, LabelLine, read_human_labels
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.judged_parts import JudgedPart, list_parts
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import Verdict
from tasks.longform.solve.interaction import Interaction

UNKNOWN, OTHER, SCALE = "unknown_verdict", "other_response", "other_scale"


@dataclass(frozen=True)
class PersonLabel:
    """Row of the stage `human_labels`: a person's label for an answer, or for one step of an interaction."""

    id: str
    interaction: str
    item: str
    part: str
    """`match` for the comparison of the answer with the reference; `IP`, `TE` or `IS` for a step."""
    rater: str
    """The rater's name; empty if the file has no names."""
    label: Verdict
    """A verdict on the judges' scale: Match or Not Match, 1 to 5, or Perfect or Imperfect for a step."""
    origin: tuple[Origin, ...]


def human_labels(
    items: list[LongformItem],
    interactions: list[Interaction],
    reference_verdicts: list[ReferenceVerdict],
    revisions: list[Review],
    entry: AgentEvaluation,
) -> Drafts[PersonLabel]:
    """Match human labels with answers and steps; no rows if the evaluation names no label file.

    A line's id is the id of a row of `reference_verdicts`, or of `revisions` for a step. Raises BadInput if
    the file cannot be read. Lines are dropped for these reasons, with the line number in `detail`:
    - the reasons from `read_human_labels`
    - `unknown_verdict`: no row has this id, or the row's interaction has nothing to judge
    - `other_response`: the line's response differs from the judged response, so the line labels another run
    - `other_scale`: the label is not valid for this line, such as Match for a score
    """
    if entry.labels is None:
        return Drafts([])
    parts = {part.id: part for part in list_parts(items, interactions, reference_verdicts, revisions)}
    read = read_human_labels(entry.labels, tuple(Verdict))
    dropped = [_drop(line.line, line.reason, line.detail) for line in read.unusable]
    kept = []
    for line in read.labels:
        part = parts.get(line.label.id)
        if part is None:
            dropped.append(_drop(line.line, UNKNOWN, f"{line.label.id} is not an answer or step of this run"))
        elif line.shown and not is_same_text(line.shown, part.response):
            dropped.append(_drop(line.line, OTHER, f"{line.label.id} has another response in this run"))
        elif line.label.label not in part.choices:
            given = f"{line.label.label!r}; expected {', '.join(part.choices)}"
            dropped.append(_drop(line.line, SCALE, f"{line.label.id} has the label {given}"))
        else:
            kept.append(_make_row(line, part, entry.labels.name))
    return Drafts(kept, dropped)


def _make_row(line: LabelLine, part: JudgedPart, file: str) -> PersonLabel:
    return PersonLabel(
        id=make_id("label", part.id, line.label.rater),
        interaction=part.interaction.id,
        item=part.item.id,
        part=part.part,
        rater=line.label.rater,
        label=Verdict.read(line.label.label),
        origin=(
            Origin("row", f"{part.artifact}#{part.id}"),
            Origin("file", (FOLDER / file).as_posix()),
        ),
    )


def _drop(line: int, reason: str, what: str) -> Dropped:
    return Dropped(make_id("label", line, reason), reason, f"line {line}: {what}")
