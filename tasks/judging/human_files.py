"""Files that people fill in: CSV or JSON Lines, read line by line however broken; and forms to fill in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.scoring.items import BadItem, describe_type, parse_record

MAX_BYTES = 64 * 2**20
MAX_FIELD = 1000
"""Characters of an id, a rater or a label."""
JSON_LINES = (".jsonl", ".ndjson", ".json")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula; what a model wrote may begin with it."""
GUARD = "'"


@dataclass(frozen=True)
class FormLine:
    """One line of a file, from 1. record: None where it cannot be read; then `problem` says why."""

    number: int
    record: dict[str, Any] | None
    problem: str = ""


def read_lines(path: Path, columns: Sequence[str], hint: str) -> list[FormLine]:
    """Read a file's lines that are not blank; the file's name tells CSV from JSON Lines.

    columns: what a CSV's header must have. Raises BadInput, one line, where the file is no such file, or
    where it has lines and none of them can be read.
    """
    text = _read_text(path, hint)
    if path.suffix.lower() in JSON_LINES:
        lines = list(_read_json(text))
    elif path.suffix.lower() == ".csv":
        lines = list(_read_csv(path, text, columns, hint))
    else:
        raise BadInput(path, "is neither .csv nor .jsonl", hint=hint)
    if lines and all(line.record is None for line in lines):
        raise BadInput(path, lines[0].problem, line=lines[0].number, hint=hint)
    return lines


def read_field(record: dict[str, Any], name: str) -> str:
    """Read a text or a whole number without its margins; "" where there is none. Raises BadItem."""
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadItem(f"{name} is {describe_type(value)}; text or a whole number is wanted")
    if len(value) > MAX_FIELD:
        raise BadItem(f"{name} is longer than {MAX_FIELD} characters")
    return value.strip()


def write_form(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a CSV that people fill in with a spreadsheet, which must take no cell for a formula."""
    form = io.StringIO(newline="")
    writer = csv.writer(form)
    writer.writerow(columns)
    writer.writerows([guard_cell(cell) for cell in row] for row in rows)
    return form.getvalue()


def guard_cell(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run."""
    return GUARD + text if text.startswith(FORMULA) else text


def is_same_text(cell: str, text: str) -> bool:
    """Tell whether a form's cell still shows a text; spreadsheets change blanks and line ends."""
    return cell.removeprefix(GUARD).split() == text.removeprefix(GUARD).split()


def _read_text(path: Path, hint: str) -> str:
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
        raise BadInput(path, "is binary: it holds NUL bytes", hint=hint)
    return text


def _read_csv(path: Path, text: str, columns: Sequence[str], hint: str) -> Iterator[FormLine]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        for name in columns:
            if header.count(name) != 1:
                found = f" (there: {', '.join(header)})"[:80] if any(header) else ""
                what = f"has no column {name!r}{found}" if name not in header else f"has two columns {name!r}"
                raise BadInput(path, what, line=1, hint=hint)
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) == len(header):
                yield FormLine(reader.line_num, dict(zip(header, row, strict=True)))
            else:
                what = f"has {len(row)} fields where the header has {len(header)}"
                yield FormLine(reader.line_num, None, what)
    except csv.Error as error:
        raise BadInput(path, f"is no CSV: {error}", line=reader.line_num) from error


def _read_json(text: str) -> Iterator[FormLine]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield FormLine(number, parse_record(line.encode()))
        except BadItem as error:
            yield FormLine(number, None, str(error))
