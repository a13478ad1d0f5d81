"""Write CSV forms for people to fill in, and read filled-in CSV or JSON Lines files, skipping bad lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.scoring.items import BadItem, describe_type, parse_record

MAX_BYTES = 64 * 2**20
"""Maximum size of a file in bytes (64 MiB), because the whole file is read into memory."""
MAX_FIELD = 1000
"""Maximum number of characters in an id, a rater or a label."""
JSON_LINES = (".jsonl", ".ndjson", ".json")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""If a cell begins with one of these characters, a spreadsheet interprets the cell as a formula.

A model's text may begin with one of these characters.
"""
ESCAPE = "'"


@dataclass(frozen=True)
class FormLine:
    """A line of a file, numbered from 1.

    record: the line's values; None if unreadable, with the reason in `problem`.
    """

    number: int
    record: dict[str, object] | None
    problem: str = ""


def read_lines(path: Path, columns: Sequence[str], hint: str) -> list[FormLine]:
    """Read the non-blank lines of a CSV or JSON Lines file; the suffix determines the format.

    columns: required columns of a CSV header. hint: text shown with errors. Raises BadInput if the suffix is
    unknown, or if the file is too large, is not UTF-8, or has lines but no readable line.
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


def read_field(record: dict[str, object], name: str) -> str:
    """Return a field (text or whole number) of a record as stripped text; "" if it is missing or null.

    Raises BadItem if the value has another type or is too long.
    """
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadItem(f"{name} is {describe_type(value)}; expected text or a whole number")
    if len(value) > MAX_FIELD:
        raise BadItem(f"{name} is longer than {MAX_FIELD} characters")
    return value.strip()


def write_form(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a CSV file for people to fill in. Cells that a spreadsheet would read as formulas are escaped."""
    form = io.StringIO(newline="")
    writer = csv.writer(form)
    writer.writerow(columns)
    writer.writerows([escape_cell(cell) for cell in row] for row in rows)
    return form.getvalue()


def escape_cell(text: str) -> str:
    """Add an apostrophe before a text that a spreadsheet would read as a formula."""
    return ESCAPE + text if text.startswith(FORMULA) else text


def is_same_text(cell: str, text: str) -> bool:
    """Return whether a form's cell equals a text, apart from escaping and white space."""
    return cell.removeprefix(ESCAPE).split() == text.removeprefix(ESCAPE).split()


def _read_text(path: Path, hint: str) -> str:
    try:
        with path.open("rb") as stream:
            # One byte more than allowed shows that the file is too large.
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        what = "is a folder" if path.is_dir() else (error.strerror or "cannot be read").lower()
        raise BadInput(path, what) from error
    if len(raw) > MAX_BYTES:
        raise BadInput(path, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        # Excel writes a byte order mark at the start of a UTF-8 file.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(path, "is not UTF-8", hint="save it as UTF-8") from error
    if "\0" in text:
        raise BadInput(path, "is binary: it contains NUL bytes", hint=hint)
    return text


def _read_csv(path: Path, text: str, columns: Sequence[str], hint: str) -> Iterator[FormLine]:
    # `newline=""` keeps line breaks inside quoted cells. Without `strict`, misplaced quotes are accepted.
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
                what = f"has {len(row)} fields, but the header has {len(header)}"
                yield FormLine(reader.line_num, None, what)
    except csv.Error as error:
        raise BadInput(path, f"is not valid CSV: {error}", line=reader.line_num) from error


def _read_json(text: str) -> Iterator[FormLine]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield FormLine(number, parse_record(line.encode()))
        except BadItem as error:
            yield FormLine(number, None, str(error))
