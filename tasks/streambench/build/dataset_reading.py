"""Read and validate the folder of a dataset from an importer or a user."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.errors import BadInput
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.stream_dataset import (
    ABOUT,
    FILES,
    ITEMS,
    ROWS,
    SHOTS,
    DatasetHead,
    DatasetItem,
    DatasetShot,
    SplitRows,
    digest_file,
    tidy,
)
from tasks.sources.whole_json import read_json_object

HINT = "docs/streambench.md describes a dataset's folder"
LONGEST = 2_000_000
"""Maximum number of characters per field."""


@dataclass(frozen=True)
class StreamDataset:
    """A dataset: its folder, and the fields of dataset.json."""

    folder: Path
    head: DatasetHead
    rows: SplitRows | None = None
    """Number of rows in each published split; None if the dataset does not have the released rows."""

    def read_items(self) -> list[DatasetItem]:
        """Return the items. Raises BadInput if a line is invalid, or if an item's file does not exist."""
        path = self.folder / ITEMS
        items = [_make_item(path, where, record) for where, record in _read_lines(path)]
        if not items:
            raise BadInput(path, "contains no item", hint=HINT)
        _check_unique(path, [item.key for item in items])
        for name in sorted({item.file for item in items if item.file}):
            place = PurePosixPath(name)
            # A dataset may come from another person; its items must not read files outside its folder.
            if place.is_absolute() or ".." in place.parts or not (self.folder / place).is_file():
                raise BadInput(path, f"refers to the file {name[:80]!r}, which is not in the folder")
        return items

    def read_shots(self) -> list[DatasetShot]:
        """Return the few-shot examples; empty if the file is missing or empty.

        Raises BadInput if a line is invalid.
        """
        path = self.folder / SHOTS
        if not path.is_file() or not path.stat().st_size:
            return []
        shots = [_make_shot(path, where, record) for where, record in _read_lines(path)]
        _check_unique(path, [shot.key for shot in shots])
        return shots


def open_dataset(folder: Path) -> StreamDataset:
    """Open a dataset's folder, and verify the checksums in dataset.json, if any.

    Raises BadInput if the folder is missing or is not a dataset, or if a file changed since the import.
    """
    if not folder.is_dir():
        raise BadInput(
            f"streambench: dataset {folder.name}",
            f"does not exist ({folder.parent.name}/{folder.name})",
            hint="run benchloom import, or benchloom run streambench-grammar-dataset",
        )
    about = read_json_object(folder / ABOUT)
    name, kind = tidy(about.get("name")), tidy(about.get("kind"))
    if not name or not kind:
        raise BadInput(folder / ABOUT, "lacks a name or a kind", hint=HINT)
    said = [tidy(about.get(field)) for field in ("title", "licence", "source", "stratum")]
    sums = about.get("sha256")
    for file, digest in sorted(sums.items() if isinstance(sums, Mapping) else ()):
        if file in {ITEMS, SHOTS} or file.startswith(f"{FILES}/"):
            _check_sum(folder, file, digest)
    return StreamDataset(folder, DatasetHead(name, kind, *said), _read_rows(folder, about.get(ROWS)))


def _read_rows(folder: Path, rows: object) -> SplitRows | None:
    match rows:
        case None:
            return None
        case {"items": int(items), "shots": int(shots), "shuffled": bool(shuffled)}:
            return SplitRows(items, shots, shuffled)
    raise BadInput(
        folder / ABOUT, f"{ROWS} is not in the format that an import writes", hint="import the dataset again"
    )


def read_shot_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (memory key, whole text) of each few-shot example; yield nothing if the file does not exist."""
    for shot in StreamDataset(path.parent, DatasetHead("", "", "", "", "")).read_shots():
        yield shot.memory_key, shot.text


def _check_sum(folder: Path, file: str, digest: object) -> None:
    place = folder / file
    if ".." in PurePosixPath(file).parts or not place.is_file():
        raise BadInput(folder / file, "no longer exists", hint="import the dataset again")
    if digest_file(place) != digest:
        raise BadInput(
            place, "has changed since it was imported (the checksum differs)", hint="import the dataset again"
        )


def _read_lines(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    for where, record in read_records(path):
        if isinstance(record, BrokenRecord) or not isinstance(record, Mapping):
            why = record.why if isinstance(record, BrokenRecord) else "it is not an object"
            raise BadInput(path, f"{where} cannot be read: {why}", hint=HINT)
        yield where, record


def _make_item(path: Path, where: str, record: Mapping[str, object]) -> DatasetItem:
    text = _take(path, where, record, "text", needed=True)
    details = record.get("details", {})
    if not isinstance(details, Mapping):
        raise BadInput(path, f"{where}: details is not an object", hint=HINT)
    try:
        json.dumps(details, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise BadInput(path, f"{where}: details cannot be stored: {error}") from error
    return DatasetItem(
        _take(path, where, record, "key", needed=True),
        text,
        _take(path, where, record, "memory_key") or text,
        _take(path, where, record, "context"),
        _take(path, where, record, "gold"),
        details,
        _take(path, where, record, "file"),
        _take_row(path, where, record),
    )


def _make_shot(path: Path, where: str, record: Mapping[str, object]) -> DatasetShot:
    text = _take(path, where, record, "text", needed=True)
    return DatasetShot(
        _take(path, where, record, "key", needed=True),
        text,
        _take(path, where, record, "memory_key") or text,
        _take(path, where, record, "answer", needed=True),
        _take_row(path, where, record),
    )


def _take_row(path: Path, where: str, record: Mapping[str, object]) -> int | None:
    row = record.get("row")
    if row is not None and (not isinstance(row, int) or isinstance(row, bool) or row < 0):
        raise BadInput(path, f"{where}: row is {row!r:.40}; expected a whole number, 0 or more", hint=HINT)
    return row


def _take(path: Path, where: str, record: Mapping[str, object], field: str, *, needed: bool = False) -> str:
    value = record.get(field, "")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or (needed and not value.strip()):
        found = "empty" if isinstance(value, str) else type(value).__name__
        raise BadInput(path, f"{where}: {field} is {found}; expected text", hint=HINT)
    if len(value) > LONGEST:
        raise BadInput(
            path, f"{where}: {field} has {len(value):,} characters; at most {LONGEST:,} are allowed"
        )
    # Lone surrogates cannot be encoded as UTF-8; databases and text files cannot contain NUL.
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _check_unique(path: Path, keys: list[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise BadInput(path, f"has the key {key[:80]!r} twice", hint=HINT)
        seen.add(key)
