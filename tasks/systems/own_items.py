"""Read a user's dataset for `benchloom evaluate`: JSON Lines or Parquet; broken rows are skipped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from tasks.artifacts.rows import Origin, make_id, schema_of
from tasks.errors import BadInput, SqlError
from tasks.scoring.item_tables import find_kind, read_records
from tasks.scoring.items import BadItem, NumberedRecord, Record, describe_type
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import KEY, SYSTEM, EvaluationOptions, OwnDataset, ReadSection

PARQUET, LINES = "items.parquet", "items.jsonl"
MOST_TEXT = 100_000
"""Maximum number of characters of a text."""


class Identified(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """The item's id; a later row with the same id is skipped."""
        ...


Item = TypeVar("Item", bound=Identified)
Member = TypeVar("Member")


@dataclass(frozen=True)
class ItemSource:
    """The position of a row in a user's file. `place`: text such as `line 3`."""

    file: Path
    place: str

    @property
    def reference(self) -> str:
        """The file and the place, as shown in errors and origins."""
        return f"{write_name(self.file)}, {self.place}"


@dataclass(frozen=True)
class ItemReader(Generic[Item]):
    """Converts the rows of a user's file to items.

    `make`: converts a JSON object or a Parquet row to an item. `check`: returns the item if it is usable. If
    `make` or `check` raises BadItem, BadInput or SqlError, the row is skipped. `page`: the documentation
    page on the format of rows.
    """

    make: Callable[[Record, ItemSource], Item]
    check: Callable[[Item], Item] = lambda item: item
    row: type[Item] | None = None
    """The row type of the flow's items.

    A record that has the columns of this type is validated as a row, without `make`.
    """
    names: tuple[str, ...] = (PARQUET, LINES)
    """File names to look for in a folder; the first existing file is read."""
    page: str = ""

    def read(self, found: Record | BadItem, source: ItemSource) -> Item:
        """Return the checked item of a record. `found`: a record, or the record's error, which is raised."""
        if isinstance(found, BadItem):
            raise found
        whole = self.row is not None and has_columns(self.row, list(found))
        return self.check(validate_row(self.row, found) if self.row and whole else self.make(found, source))


def has_columns(row: type, names: list[str]) -> bool:
    """Return whether the names are the columns of a row type.

    The last columns may be missing if they have defaults.
    """
    known: list[str] = schema_of(row).names
    required = sum(part.default is MISSING and part.default_factory is MISSING for part in fields(row))
    return names == known[: max(len(names), required)]


@dataclass(frozen=True)
class OwnItems(Generic[Item]):
    """A user's items, sorted by id. `problems`: one line per skipped row. `file`: the file that was read."""

    items: tuple[Item, ...]
    problems: tuple[str, ...]
    file: Path


def read_items(path: Path, reader: ItemReader[Item]) -> OwnItems[Item]:
    """Return the items in a .jsonl, .jsonl.gz or .parquet file.

    If `path` is a folder, the first existing file of `reader.names` is read. Raises BadInput if no row can
    be read.
    """
    file = _find_file(path, reader)
    word = "row" if find_kind(str(file)) else "line"
    return collect_items(read_records(str(file)), file, word, reader)


def collect_items(
    records: Iterable[NumberedRecord], file: Path, word: str, reader: ItemReader[Item]
) -> OwnItems[Item]:
    """Convert a file's records to items.

    `word`: the word for a record in error messages, `row` or `line`. Raises BadInput if no record can be
    read.
    """
    kept: dict[str, tuple[str, Item]] = {}
    problems: list[str] = []
    for number, found in records:
        place = f"{word} {number}"
        source = ItemSource(file, place)
        try:
            item = reader.read(found, source)
        except (BadItem, BadInput, SqlError) as error:
            problems.append(f"{source.reference}: {' '.join(str(error).split())}")
            continue
        first, _ = kept.setdefault(item.id, (place, item))
        if first != place:
            problems.append(f"{source.reference}: repeats the id of {first}")
    if not kept:
        raise BadInput(
            file,
            "contains no usable item",
            hint="; ".join(problems[:3]) or f"the file is empty; see {reader.page}",
        )
    return OwnItems(tuple(kept[name][1] for name in sorted(kept)), tuple(problems), file)


def _find_file(path: Path, reader: ItemReader[Any]) -> Path:
    if not path.exists():
        raise BadInput(path, "no such file or folder")
    if not path.is_dir():
        return path
    found = next((path / name for name in reader.names if (path / name).is_file()), None)
    if found is None:
        raise BadInput(path, f"has no {' and no '.join(reader.names)}", hint=f"see {reader.page}")
    return found


def write_name(path: Path) -> str:
    """Convert a file's name to text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def take_text(
    record: Record, name: str, most: int = MOST_TEXT, *, default: str | None = None, verbatim: bool = False
) -> str:
    """Return a field's text, or its number as text; `default` if the field is missing or empty.

    `most`: maximum number of characters. `verbatim`: whether to keep surrounding white space and NUL
    characters; otherwise, both are removed, because databases and text files cannot contain NUL. Raises
    BadItem if the value is not valid.
    """
    value = record.get(name)
    if default is not None and (value is None or value == ""):
        return default
    if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadItem(f"{name} is {'missing' if value is None else describe_type(value)}; expected text")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # a lone surrogate, or a number with too many digits
        raise BadItem(f"{name} contains a number or character that cannot be written as text") from error
    if not text.strip():
        raise BadItem(f"{name} is empty")
    if len(text) > most:
        raise BadItem(f"{name} has more than {most:,} characters")
    return text if verbatim else text.replace("\0", "").strip()


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return the value if it is one of the choices. Raises BadItem otherwise."""
    if value not in choices:
        raise BadItem(f"{name} is {value[:40]!r}; expected one of {', '.join(choices)}")
    return value


def fill_row(row: type[Item], record: Record, source: ItemSource) -> Item:
    """Convert a record to an item, using the names and types of the row type's fields.

    A field without a default is required. By default, `id` is a hash of the other fields, `group` is the id,
    and `origin` is the row's position. Raises BadItem if a field is not valid.
    """
    hints = get_type_hints(row)
    given: dict[str, Any] = {}
    for part in fields(row):  # type: ignore[arg-type] # mypy: an item is a dataclass
        default = part.default if isinstance(part.default, str) else None
        if part.name in {"id", "group"}:
            given[part.name] = take_text(record, part.name, default="")
        elif part.name == "origin":
            given[part.name] = (Origin("file", source.reference),)
        elif hints[part.name] is str:
            given[part.name] = take_text(record, part.name, default=default)
        elif record.get(part.name) is not None or part.default is MISSING:
            given[part.name] = record.get(part.name)
    asked = {name: value for name, value in given.items() if name not in {"id", "group", "origin"}}
    given["id"] = given["id"] or make_id("own item", row.__name__, asked)
    if "group" in given:
        given["group"] = given["group"] or given["id"]
    return validate_row(row, given)


def validate_row(row: type[Item], record: Record) -> Item:
    """Convert a record with all fields to a row. Raises BadItem if a field is not valid."""
    try:
        return cast("Item", _adapt(row).validate_python(record))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadItem(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


@cache
def _adapt(row: type) -> TypeAdapter[Any]:
    return TypeAdapter(row)


def sample_groups(rows: Iterable[Member], limit: int | None, seed: int) -> list[Member]:
    """Return the rows of up to `limit` groups, sampled with a seed, regardless of the file's order."""
    every, find_group = list(rows), attrgetter("group")
    groups = sorted(set(map(find_group, every)), key=lambda group: make_id("evaluated", seed, group))
    chosen = set(groups[:limit])
    return [row for row in every if find_group(row) in chosen]


@dataclass(frozen=True)
class ItemDataset(Generic[Item]):
    """Declares a user's dataset: the items, the settings that affect answers, and the stages.

    Call an instance to read the dataset (`Evaluation.read`).
    """

    row: type[Item]
    stages: tuple[str, ...]
    """The stages to run, in order."""
    entries: Mapping[str, Mapping[str, object]]
    """Section of params.yaml -> the evaluation's entry in this section (field -> value).

    The value `KEY` is replaced by the evaluation's key, and `SYSTEM` by the system's name.
    """
    reader: ItemReader[Item] | None = None
    """The reader; None if the fields of a line are the row type's fields (`fill_row`)."""
    identify: Callable[[Item], object] = lambda item: asdict(item)  # type: ignore[call-overload] # a dataclass
    """Function that returns the part of an item that determines the evaluation's key."""
    settings: tuple[str, type[BaseModel]] | None = None
    """Key and pydantic model of a params.yaml section that affects the answers; None if no section does."""
    settled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Section of params.yaml -> fields that the evaluation's entry there copies from `settings`."""
    named: tuple[str, ...] = ()
    """Additional inputs to the evaluation's key, such as the flow's name."""
    artifact: str = "items"
    """Name of the stage argument that receives the items, and of the items file in the output folder."""

    def __call__(self, options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
        """Read and check the items; return the dataset.

        Raises BadInput, with a one-line message, if the items cannot be evaluated.
        """
        reader = self.reader or ItemReader(
            lambda record, source: fill_row(self.row, record, source), row=self.row, page="docs/stages.md"
        )
        found = read_items(options.dataset, reader)
        grouped = any(part.name == "group" for part in fields(self.row))  # type: ignore[arg-type] # a dataclass
        items = sample_groups(found.items, options.limit, 0) if grouped else found.items[: options.limit]
        params = read(*self.settings) if self.settings else None
        determined = [part.model_dump(mode="json") for part in (entry, params) if part is not None]
        asked = [self.identify(item) for item in items]
        key = make_id("evaluation", *self.named, options.system, asked, *determined, options.as_of)
        values = {KEY: key, SYSTEM: options.system}
        entries = {
            section: {name: values.get(str(value), value) for name, value in fields.items()}
            | (params.model_dump(include=set(self.settled.get(section, ()))) if params else {})
            for section, fields in self.entries.items()
        }
        return OwnDataset(
            key,
            entries,
            {self.artifact: (self.row, items)},
            self.stages,
            found.problems,
            (),
            {self.artifact: len(items)},
            kept=(self.artifact,),
        )
