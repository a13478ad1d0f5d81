"""Read people's labels from a file in data/labels, with the columns id, label and rater."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from tasks.errors import BadInput
from tasks.judging.human_files import FormLine, read_field, read_lines
from tasks.scoring.items import BadItem

FOLDER = Path("data/labels")
"""The folder of label files.

In dvc.yaml, stages depend on the whole folder, because the label files are optional.
"""
HINT = "expected the columns id and label, and rater if several people rated; see docs/judging.md"
UNREADABLE, NO_ID, NO_LABEL, TWICE = "unreadable", "no_id", "no_label", "labelled_twice"


def check_folder(file: Path) -> Path:
    """Return the path if it is in `FOLDER`.

    Otherwise raise ValueError, since no stage depends on the file.
    """
    if file.parent != FOLDER:
        raise ValueError(f"must be a file in {FOLDER}")
    return file


LabelFile = Annotated[Path, AfterValidator(check_folder)]


@dataclass(frozen=True)
class HumanLabel:
    """A person's verdict on one item."""

    id: str
    label: str
    rater: str = ""


@dataclass(frozen=True)
class LabelLine:
    """A label with its line number. shown: the response in the rater's file; empty if the file has none."""

    line: int
    label: HumanLabel
    shown: str = ""


@dataclass(frozen=True)
class UnusableLine:
    """A line without a valid label. reason: a constant of this module that names the error."""

    line: int
    reason: str
    detail: str


@dataclass(frozen=True)
class HumanLabels:
    """A file's labels and unusable lines, in file order."""

    labels: tuple[LabelLine, ...]
    unusable: tuple[UnusableLine, ...]


def read_human_labels(path: Path, labels: Collection[str]) -> HumanLabels:
    """Read people's labels. labels: the allowed labels.

    Lines with an empty label are skipped, because the rater has not labelled these items. Raises BadInput if
    the file cannot be read or contains no valid label.
    """
    kept: dict[tuple[str, str], LabelLine] = {}
    unusable: list[UnusableLine] = []
    for line in read_lines(path, ("id", "label"), HINT):
        found = _read_line(line, labels)
        if found is None:
            continue
        if isinstance(found, UnusableLine):
            unusable.append(found)
        elif (found.label.id, found.label.rater) in kept:
            rater = found.label.rater
            by = f"by rater {rater!r}" if rater else "(name the raters in a column `rater`)"
            detail = f"item {found.label.id!r} is labelled twice {by}"
            unusable.append(UnusableLine(line.number, TWICE, detail))
        else:
            kept[found.label.id, found.label.rater] = found
    if not kept:
        if unusable:
            raise BadInput(path, unusable[0].detail, line=unusable[0].line, hint=HINT)
        raise BadInput(path, "contains no label", hint=HINT)
    return HumanLabels(tuple(kept.values()), tuple(unusable))


def _read_line(line: FormLine, labels: Collection[str]) -> LabelLine | UnusableLine | None:
    if line.record is None:
        return UnusableLine(line.number, UNREADABLE, line.problem)
    try:
        item, label, rater = (read_field(line.record, name) for name in ("id", "label", "rater"))
    except BadItem as error:
        return UnusableLine(line.number, UNREADABLE, str(error))
    if not item:
        return UnusableLine(line.number, NO_ID, "has no id")
    if not label:
        return None
    if label not in labels:
        detail = f"label is {label[:40]!r}; expected one of {', '.join(sorted(labels))}"
        return UnusableLine(line.number, NO_LABEL, detail)
    shown = line.record.get("response")
    return LabelLine(line.number, HumanLabel(item, label, rater), shown if isinstance(shown, str) else "")
