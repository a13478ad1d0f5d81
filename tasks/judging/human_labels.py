"""People's verdicts: a file with an item's id, its label and its rater."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.judging.human_files import FormLine, read_field, read_lines
from tasks.scoring.items import BadItem

HINT = "columns id, label and, where several people rated, rater; see docs/judging.md"
UNREADABLE, NO_ID, NO_LABEL, TWICE = "unreadable", "no_id", "no_label", "labelled_twice"


@dataclass(frozen=True)
class HumanLabel:
    """One person's verdict on one item."""

    id: str
    label: str
    rater: str = ""


@dataclass(frozen=True)
class LabelLine:
    """A label and where it stands. shown: the response that the person saw, where the file tells it."""

    line: int
    label: HumanLabel
    shown: str = ""


@dataclass(frozen=True)
class Unusable:
    """A line that holds no label that counts. reason: one of the few fixed words."""

    line: int
    reason: str
    what: str


@dataclass(frozen=True)
class HumanLabels:
    """What a file holds, in its order."""

    labels: tuple[LabelLine, ...]
    unusable: tuple[Unusable, ...]


def read_human_labels(path: Path, labels: Collection[str]) -> HumanLabels:
    """Read people's labels. labels: what a label may be.

    A line without a label is one that its rater has left open: it is no problem and no label. Raises
    BadInput, one line, where the file cannot be read, or where nothing in it can be used.
    """
    kept: dict[tuple[str, str], LabelLine] = {}
    unusable: list[Unusable] = []
    for line in read_lines(path, ("id", "label"), HINT):
        found = _read_line(line, labels)
        if found is None:
            continue
        if isinstance(found, Unusable):
            unusable.append(found)
        elif (found.label.id, found.label.rater) in kept:
            rater = found.label.rater
            by = f"by rater {rater!r}" if rater else "(name the raters in a column `rater`)"
            what = f"item {found.label.id!r} is labelled twice {by}"
            unusable.append(Unusable(line.number, TWICE, what))
        else:
            kept[found.label.id, found.label.rater] = found
    if not kept:
        if unusable:
            raise BadInput(path, unusable[0].what, line=unusable[0].line, hint=HINT)
        raise BadInput(path, "holds no label", hint=HINT)
    return HumanLabels(tuple(kept.values()), tuple(unusable))


def _read_line(line: FormLine, labels: Collection[str]) -> LabelLine | Unusable | None:
    if line.record is None:
        return Unusable(line.number, UNREADABLE, line.problem)
    try:
        item, label, rater = (read_field(line.record, name) for name in ("id", "label", "rater"))
    except BadItem as error:
        return Unusable(line.number, UNREADABLE, str(error))
    if not item:
        return Unusable(line.number, NO_ID, "has no id")
    if not label:
        return None
    if label not in labels:
        what = f"label is {label[:40]!r}, none of {', '.join(sorted(labels))}"
        return Unusable(line.number, NO_LABEL, what)
    shown = line.record.get("response")
    return LabelLine(line.number, HumanLabel(item, label, rater), shown if isinstance(shown, str) else "")
