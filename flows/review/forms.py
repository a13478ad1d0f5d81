"""Write items as a form for people: CSV for spreadsheets, or JSON Lines."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from flows.review.items import ReviewedArtifact, ReviewItem
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.human_files import write_form

CELL = 30_000
"""The most characters of a CSV's cell; spreadsheets cut what is longer than 32,767."""
BOM = "\ufeff"
"""Spreadsheets read a CSV as UTF-8 by it."""
KINDS = (".csv", ".jsonl")


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
    """List a form's columns: the item, what is shown of it, and what is to be filled in."""
    further = [name_edit(artifact, name) for name in artifact.editable[1:]]
    fill_in = ["decision", "edited", *further, "rating", "reviewer", "note", "at"]
    return ["item", "artifact", *artifact.columns, *fill_in]


def name_edit(artifact: ReviewedArtifact, column: str) -> str:
    """Name the form's column for the new wording of a row's: `edited` for the main one."""
    return "edited" if column == artifact.editable[0] else f"edited.{column}"


def cut_cell(text: str) -> str:
    """Cut a text that is too long for a spreadsheet, and say how much is missing."""
    return text if len(text) <= CELL else f"{text[:CELL]} [{len(text) - CELL:,} characters more]"


def draw_items(artifact: ReviewedArtifact, take: int | None, seed: int) -> list[ReviewItem]:
    """Draw items by a seed; all of them where `take` is None. They come in the order of their ids."""
    items = list(artifact.items.values())
    if take is None or take >= len(items):
        return items
    drawn = random.Random(seed).sample(items, take)  # noqa: S311 - the same items for the same seed
    return sorted(drawn, key=lambda item: item.id)
