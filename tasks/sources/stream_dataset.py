"""Write an imported dataset: JSON Lines of inputs with gold answers, other files and checksums."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tasks.files import remove_leftovers

ABOUT, ITEMS, SHOTS, FILES, SKIPPED = "dataset.json", "items.jsonl", "shots.jsonl", "files", "skipped.jsonl"
ROWS = "rows"
"""The field of dataset.json that contains `SplitRows`."""
PUBLISHED = "published/"
"""Prefix in `sha256` for the names of published files, which are not in the dataset's folder."""
CHUNK = 2**20
OF_THE_DATABASE = "that of the database"
"""Text of the licence field of a dataset that a stage creates from a database with its own licence."""


@dataclass(frozen=True)
class DatasetItem:
    """A line of items.jsonl: one input with its gold answer (docs/streambench.md)."""

    key: str
    text: str
    memory_key: str
    context: str
    gold: str
    details: Mapping[str, object] = field(default_factory=dict)
    file: str = ""
    """Path of the item's file, relative to the dataset's folder."""
    row: int | None = None
    """Row number in the published split, starting at 0; only in datasets with `SplitRows`."""


@dataclass(frozen=True)
class DatasetShot:
    """A line of shots.jsonl: a few-shot example, with its answer in the form used in prompts."""

    key: str
    text: str
    memory_key: str
    answer: str
    row: int | None = None
    """Row number in the examples split, starting at 0; only in datasets with `SplitRows`."""


@dataclass(frozen=True)
class SplitRows:
    """Row counts of the published splits; a stream with `order: released` shuffles these rows.

    - `items`: number of rows of the evaluated split.
    - `shots`: number of rows of the examples split.
    - `shuffled`: whether the examples split is shuffled with the stream's seed before examples are selected;
      otherwise the first rows are the examples.
    """

    items: int
    shots: int
    shuffled: bool


@dataclass(frozen=True)
class LeftOutRecord:
    """A published record that is skipped. `reason`: one of a few fixed strings. `what`: details."""

    reason: str
    what: str = ""


@dataclass(frozen=True)
class DatasetHead:
    """The fields of dataset.json besides counts and checksums."""

    name: str
    kind: str
    title: str
    licence: str
    source: str
    stratum: str = ""
    """The field of `details` by which a sample is stratified; empty if samples are not stratified."""


def write_dataset(
    folder: Path,
    head: DatasetHead,
    items: Iterable[DatasetItem],
    shots: Iterable[DatasetShot],
    files: Mapping[str, Path | bytes],
    published: Mapping[str, str] | None = None,
    skipped: Iterable[Mapping[str, str]] = (),
    draw: Mapping[str, int | None] | None = None,
    rows: SplitRows | None = None,
) -> None:
    """Write a dataset's folder atomically; an existing folder is replaced.

    - `files`: path in `files/` -> a file to copy, or its content.
    - `published`: name -> SHA-256 of the files that were read.
    - `skipped`: one line per skipped record.
    - `draw`: the seed of the sample of items and shots, and the number of items (None: all); None if nothing
      was sampled.
    - `rows`: the row counts of the released splits.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder.parent, f".{folder.name}.")
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    draft.mkdir()
    try:
        counts = {
            "items": write_lines(draft / ITEMS, map(list_fields, items)),
            "shots": write_lines(draft / SHOTS, map(list_fields, shots)),
        }
        write_lines(draft / SKIPPED, skipped)
        for name, content in sorted(files.items()):
            place = draft / FILES / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                place.write_bytes(content)
            else:
                shutil.copyfile(str(content), place)
        sums = {f"{PUBLISHED}{name}": digest for name, digest in (published or {}).items()}
        for file in sorted(place for place in draft.rglob("*") if place.is_file()):
            sums[file.relative_to(draft).as_posix()] = digest_file(file)
        drawn: dict[str, object] = {} if draw is None else {"draw": dict(draw)}
        if rows is not None:
            drawn[ROWS] = asdict(rows)
        about = {**asdict(head), **counts, **drawn, "sha256": dict(sorted(sums.items()))}
        (draft / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def list_fields(record: DatasetItem | DatasetShot) -> dict[str, object]:
    """Return the fields of a record for its JSON line; the field `row` is left out if it is None."""
    return {name: value for name, value in asdict(record).items() if name != "row" or value is not None}


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> int:
    """Write records as JSON Lines; return the number of records."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tidy(value: object) -> str:
    """Return a string without NULs or surrounding white space, with lone surrogates replaced by `?`.

    Return "" for any other type.
    """
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "").strip()


def tidy_line(value: object) -> str:
    """Convert a published string to one line; empty for any other type."""
    return " ".join(tidy(value).split())
