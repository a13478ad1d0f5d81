"""Write review forms as CSV or JSON Lines, and read completed forms.

A line of a completed form contains a decision, has been left open, or is invalid.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flows.review.fields import make_decision, read_cell, read_text
from flows.review.items import FORM, ReviewedArtifact, ReviewItem, read_artifact
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.decisions import Decision
from tasks.judging.human_files import FormLine, is_same_text, read_lines, write_form
from tasks.scoring.items import BadItem

CELL = 30_000
"""Maximum length of a CSV cell in characters; spreadsheets truncate texts longer than 32,767."""
BOM = "\ufeff"
"""Byte order mark, which makes spreadsheets recognise UTF-8."""
KINDS = (".csv", ".jsonl")
HINT = "expected a form that `benchloom review export` wrote; see docs/review.md"
TYPED = ("decision", "edited", "rating", "note")
"""Columns that reviewers fill in; a line without values in these columns was left open."""


def write_review_form(artifact: ReviewedArtifact, items: Sequence[ReviewItem], out: Path) -> None:
    """Write a form of items. Raises BadInput if `out` is neither .csv nor .jsonl, or cannot be written."""
    columns = list_columns(artifact)
    rows = [{"item": item.id, "artifact": artifact.path, **item.shown} for item in items]
    if out.suffix == ".csv":
        cells = [[cut_cell(row.get(name, "")) for name in columns] for row in rows]
        text = BOM + write_form(columns, cells)
    elif out.suffix == ".jsonl":
        lines = [{name: row.get(name, "") for name in columns} for row in rows]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    else:
        raise BadInput(out, f"is neither {' nor '.join(KINDS)}")
    try:
        write_text(out, text)
    except OSError as error:
        raise BadInput(out, f"cannot be written: {error.strerror}") from error


def list_columns(artifact: ReviewedArtifact) -> list[str]:
    """List a form's columns: the item, the columns to show, and the columns to fill in."""
    further = [name_edit(artifact, name) for name in artifact.editable[1:]]
    fill_in = ["decision", "edited", *further, "rating", "reviewer", "note", "at"]
    return ["item", "artifact", *artifact.columns, *fill_in]


def name_edit(artifact: ReviewedArtifact, column: str) -> str:
    """Return the form column for edits of an artifact's column; `edited` for the main column."""
    return "edited" if column == artifact.editable[0] else f"edited.{column}"


def cut_cell(text: str) -> str:
    """Truncate a string that is too long for a CSV cell, and append the number of missing characters."""
    return text if len(text) <= CELL else f"{text[:CELL]} [{len(text) - CELL:,} characters more]"


def draw_items(artifact: ReviewedArtifact, take: int | None, seed: int) -> list[ReviewItem]:
    """Sample items with a seed, and sort the sample by id; return all items if `take` is None."""
    items = list(artifact.items.values())
    if take is None or take >= len(items):
        return items
    drawn = random.Random(seed).sample(items, take)  # noqa: S311 - the same items for the same seed
    return sorted(drawn, key=lambda item: item.id)


@dataclass(frozen=True)
class RefusedLine:
    """An invalid line and the reason."""

    line: int
    why: str


@dataclass(frozen=True)
class FilledForm:
    """A form's decisions and invalid lines. left_open: number of lines without a decision."""

    artifact: ReviewedArtifact
    decisions: Sequence[Decision]
    refused: Sequence[RefusedLine]
    left_open: int


def read_form(root: Path, path: Path, reviewer: str, now: datetime) -> FilledForm:
    """Read a completed form. reviewer: the default for lines without a reviewer.

    Raises BadInput if the file cannot be read, lacks a form's columns, or names no artifact of the project.
    """
    is_csv = path.suffix.lower() == ".csv"
    lines = read_lines(path, FORM if is_csv else (), HINT)
    artifact = read_artifact(root, Path(_find_artifact(path, lines)))
    known = {*list_columns(artifact), *FORM}
    if is_csv:
        _check_columns(path, lines, artifact, known)
    decisions: dict[tuple[str, str], tuple[int, Decision]] = {}
    refused: list[RefusedLine] = []
    left_open = 0
    for line in lines:
        try:
            decision = _read_line(artifact, known, line, is_csv, reviewer, now)
        except BadItem as error:
            refused.append(RefusedLine(line.number, str(error)))
            continue
        if decision is None:
            left_open += 1
            continue
        first, _ = decisions.setdefault((decision.item, decision.reviewer), (line.number, decision))
        if first != line.number:
            why = f"{decision.reviewer} already decided on {decision.item} in line {first}"
            refused.append(RefusedLine(line.number, why))
    return FilledForm(artifact, [decision for _, decision in decisions.values()], refused, left_open)


def _find_artifact(path: Path, lines: Sequence[FormLine]) -> str:
    """Return the artifact that the first readable line names."""
    for line in lines:
        if line.record is not None:
            named = line.record.get("artifact")
            if not isinstance(named, str) or not named.strip() or "\0" in named:
                raise BadInput(path, "does not name an artifact", line=line.number, hint=HINT)
            return named.strip()
    raise BadInput(path, "contains no lines", hint=HINT)


def _check_columns(
    path: Path, lines: Sequence[FormLine], artifact: ReviewedArtifact, known: set[str]
) -> None:
    """Raise BadInput if a CSV has an unknown column, or lacks one of the columns `artifact.judged`."""
    columns = next(line.record for line in lines if line.record is not None)
    unknown = [name for name in columns if name not in known and not _is_beside(name)]
    missing = [name for name in artifact.judged if name not in columns]
    if unknown:
        raise BadInput(path, f"has an unknown column {unknown[0][:40]!r}", line=1, hint=HINT)
    if missing:
        raise BadInput(path, f"has no column {missing[0]!r}", line=1, hint=HINT)


def _is_beside(name: str) -> bool:
    """Return whether a column is from another artifact (`--beside`); imports ignore such columns."""
    return "." in name and not name.startswith("edited.")


def _read_line(
    artifact: ReviewedArtifact,
    known: set[str],
    line: FormLine,
    is_csv: bool,
    reviewer: str,
    now: datetime,
) -> Decision | None:
    if line.record is None:
        raise BadItem(line.problem)
    fields = line.record
    if unknown := [name for name in fields if name not in known and not _is_beside(name)]:
        raise BadItem(f"has an unknown field {unknown[0][:40]!r}")
    item = artifact.items.get(read_text(fields, "item").strip())
    if item is None:
        raise BadItem(f"item {read_text(fields, 'item')[:40]!r} is not in {artifact.path}")
    if read_text(fields, "artifact").strip() != artifact.path:
        raise BadItem(f"does not belong to {artifact.path}, the artifact that the first line names")
    edited = _read_edited(artifact, fields, is_csv)
    read = read_cell if is_csv else read_text
    typed = {name: read(fields, name) for name in ("reviewer", "note")}
    if not edited and not any(str(fields.get(name) or "").strip() for name in TYPED):
        return None
    _check_texts(artifact, item, fields, is_csv)
    if not read_text(fields, "decision").strip():
        raise BadItem("has a rating, a note or edited text, but no decision")
    typed["reviewer"] = typed["reviewer"] or reviewer
    return make_decision(artifact, item, {**fields, **typed}, edited, now)


def _read_edited(artifact: ReviewedArtifact, fields: Mapping[str, object], is_csv: bool) -> dict[str, str]:
    if not artifact.editable:
        if fields.get("edited") not in (None, ""):
            raise BadItem(f"has edited text, but {artifact.path} has no column to edit")
        return {}
    read = read_cell if is_csv else read_text
    texts = {name: read(fields, name_edit(artifact, name)).strip() for name in artifact.editable}
    return {name: text for name, text in texts.items() if text}


def _check_texts(
    artifact: ReviewedArtifact, item: ReviewItem, fields: Mapping[str, object], is_csv: bool
) -> None:
    """Raise BadItem if a line's texts differ from the artifact's texts: the form or artifact was edited."""
    for name in artifact.judged:
        cell, text = fields.get(name), item.shown.get(name, "")
        shown = cut_cell(text) if is_csv else text
        if not isinstance(cell, str) or not is_same_text(cell, shown):
            raise BadItem(
                f"{name} differs from {artifact.path}: the artifact has changed since the export, or this "
                "column was edited (enter new text in `edited`)"
            )
