"""Read a user's items for `benchloom evaluate`: a folder with items.parquet, or items.jsonl."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput, SqlError

PARQUET, LINES = "items.parquet", "items.jsonl"
MOST_TEXT = 100_000


class Identified(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """Its id."""
        ...


Item = TypeVar("Item", bound=Identified)


class BadOwnItem(ValueError):
    """Raised for an item that cannot be asked; the message says why."""


@dataclass(frozen=True)
class OwnItems(Generic[Item]):
    """Items sorted by id. problems: one line for each that is left out."""

    items: tuple[Item, ...]
    problems: tuple[str, ...]


def read_items(
    folder: Path, row: type[Item], read: Callable[[object], Item], check: Callable[[Item], Item], page: str
) -> OwnItems[Item]:
    """Read a dataset folder. Raises BadInput without any item.

    read: makes an item of a line of items.jsonl, None where it is no JSON; check: returns an item that can be
    asked. Both raise BadOwnItem, BadInput or SqlError. page: the page of the docs that says what an item is.
    """
    if not folder.is_dir():
        raise BadInput(folder, "is no folder", hint=f"a folder with {PARQUET} or {LINES}; see {page}")
    found = next((folder / name for name in (PARQUET, LINES) if (folder / name).is_file()), None)
    if found is None:
        raise BadInput(folder, f"has neither {PARQUET} nor {LINES}", hint=f"see {page}")
    items: dict[str, Item] = {}
    problems: list[str] = []
    for place, given in _read_parquet(found, row) if found.name == PARQUET else _read_lines(found):
        try:
            item = check(given if isinstance(given, row) else read(given))
        except (BadOwnItem, BadInput, SqlError) as error:
            problems.append(f"{found.name}, {place}: {' '.join(str(error).split())}")
            continue
        if item.id in items:
            problems.append(f"{found.name}, {place}: the id {item.id!r} stands twice; the first is kept")
        else:
            items[item.id] = item
    if not items:
        raise BadInput(found, f"has no item that can be asked ({problems[0] if problems else 'it is empty'})")
    return OwnItems(tuple(items[name] for name in sorted(items)), tuple(problems))


def take_text(record: Mapping[str, object], name: str, most: int = MOST_TEXT) -> str:
    """Take a text of a record, clean and without blanks around it. Raises BadOwnItem, also for a long one."""
    text = record.get(name)
    if not isinstance(text, str) or not text.strip():
        raise BadOwnItem(f"{name} is missing" if text is None else f"{name} is no text, or empty")
    if len(text) > most:
        raise BadOwnItem(f"{name} has more than {most:,} characters")
    return clean_text(text).strip()


def take_optional(record: Mapping[str, object], name: str) -> str:
    """Take a text that may be left out, or a whole number as one; empty if it is. Raises BadOwnItem."""
    value = record.get(name)
    return "" if value is None else take_text({name: str(value) if type(value) is int else value}, name)


def clean_text(text: str) -> str:
    """Replace half characters, and drop NUL, which no database and no file of texts holds."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _read_parquet(file: Path, row: type[Item]) -> Iterator[tuple[str, object]]:
    for item in read_rows(file, row):
        yield f"item {item.id}", item


def _read_lines(file: Path) -> Iterator[tuple[str, object]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(file, f"cannot be read ({type(error).__name__})") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError):
                yield f"line {number}", None
