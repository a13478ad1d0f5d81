"""Imports people's verdicts: a CSV or JSON Lines file with an item's id, its label and its rater."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.scoring.items import BadItem, name_type, parse_record

MAX_BYTES = 64 * 2**20
MAX_FIELD = 1000
"""Characters of an id, a rater or a label."""
HINT = "columns id, label and, where several people rated, rater; see docs/judging.md"


@dataclass(frozen=True)
class HumanLabel:
    """One person's verdict on one item."""

    id: str
    label: str
    rater: str = ""


def read_human_labels(path: Path, labels: Collection[str], *, column: str = "label") -> list[HumanLabel]:
    """Read people's labels, sorted by item and rater; the file's name tells CSV from JSON Lines.

    labels: what a label may be; scores are labels too ("0" to "5"). column: where the label stands.
    An empty label is left out: that person did not rate that item. Raises BadInput, with the line.
    """
    text = _read_text(path)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        records = _read_json_lines(path, text)
    elif path.suffix.lower() == ".csv":
        records = _read_csv(path, text, column)
    else:
        raise BadInput(path, "is neither .csv nor .jsonl", hint=HINT)
    found: dict[tuple[str, str], HumanLabel] = {}
    for line, record in records:
        try:
            label = _read_label(record, labels, column)
        except BadItem as error:
            raise BadInput(path, str(error), line=line, hint=HINT) from error
        if label is None:
            continue
        if (key := (label.id, label.rater)) in found:
            rater = f" by rater {label.rater!r}" if label.rater else " (name the raters in a column `rater`)"
            raise BadInput(path, f"item {label.id!r} is labelled twice{rater}", line=line)
        found[key] = label
    if not found:
        raise BadInput(path, "holds no label", hint=HINT)
    return [found[key] for key in sorted(found)]


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        what = "is a folder" if path.is_dir() else (error.strerror or "cannot be read").lower()
        raise BadInput(path, what) from error
    if len(raw) > MAX_BYTES:
        raise BadInput(path, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(path, "is not UTF-8", hint="save it as UTF-8") from error
    if "\0" in text:
        raise BadInput(path, "is binary", hint=HINT)
    return text


def _read_csv(path: Path, text: str, column: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        for name in ("id", column):
            if header.count(name) != 1:
                what = f"has no column {name!r}" if name not in header else f"has two columns {name!r}"
                raise BadInput(path, what, line=1, hint=HINT)
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                what = f"has {len(row)} fields where the header has {len(header)}"
                raise BadInput(path, what, line=reader.line_num)
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise BadInput(path, f"is no CSV: {error}", line=reader.line_num) from error


def _read_json_lines(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, parse_record(line.encode())
        except BadItem as error:
            raise BadInput(path, str(error), line=number) from error


def _read_label(record: dict[str, Any], labels: Collection[str], column: str) -> HumanLabel | None:
    item = _read_field(record, "id")
    if not item:
        raise BadItem("has no id")
    label = _read_field(record, column)
    if not label:
        return None
    if label not in labels:
        raise BadItem(f"{column} is {label[:40]!r}, none of {', '.join(sorted(labels))}")
    return HumanLabel(item, label, _read_field(record, "rater"))


def _read_field(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadItem(f"{name} is {name_type(value)}; text or a whole number is wanted")
    if len(value) > MAX_FIELD:
        raise BadItem(f"{name} is longer than {MAX_FIELD} characters")
    return value.strip()
