"""Stage: invent a fictitious name for every name in the configured columns of a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, String, column, inspect, select, table, types
from sqlalchemy.exc import SQLAlchemyError

from tasks.artifacts.rows import Drafts, Dropped, make_id
from tasks.databases.columns import Column, make_column_id, split_column_id
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import read_columns
from tasks.errors import BadInput
from tasks.grammar.closed.closed_entry import ClosedVariant, Renaming
from tasks.grammar.closed.rewriting import make_finder
from tasks.grammar.invent.invented_names import (
    Invention,
    Inventor,
    Shape,
    shape_coined,
    shape_firm,
    shape_person,
    shape_place,
)
from tasks.grammar.invent.offered_names import PLACES, choose_shape
from tasks.grammar.invent.seeded_random import random_letter
from tasks.models.ask import Ask
from tasks.settings import read_section

ROOM = 24
"""The maximum number of characters by which a new name may be longer than the old name."""


async def closed_names(entry: ClosedVariant, settings: Mapping[str, object], ask: Ask) -> Drafts[Renaming]:
    """Invent one new name for each distinct value of the configured columns.

    A value that occurs in several columns gets the same new name in all of them. `settings` contains
    `grammar.columns`, the rules that determine column types from cells. If the model produces no valid name
    for a value, the value gets a generic name and is recorded as dropped. Raises BadInput if a column does
    not exist or is not text.
    """
    source = DatabaseEntry(name=entry.file.stem, file=entry.file)
    rules = read_section(settings, "grammar.columns", ColumnRules)
    kinds = group_columns(entry, read_columns(source, rules))
    values, limits = read_names(source, kinds)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for column_name in sorted(kinds):
        for old in values[column_name]:
            places[old].append(column_name)
    inventor = Inventor(ask, entry.tries, entry.sure, places)
    find = make_finder(places)
    rows: list[Renaming] = []
    dropped: list[Dropped] = []
    counts: defaultdict[str, int] = defaultdict(int)
    taken = {old.casefold() for old in places}
    for old in sorted(places):
        kind = kinds[places[old][0]]
        longest = min([len(old) + ROOM, *(limits[place] for place in places[old] if place in limits)])
        invention = await _invent(old, kind, longest, find, inventor, entry)
        new = invention.name
        if new is None:
            dropped.append(invention.drop(make_id("name", old)))
            while new is None or new.casefold() in taken:
                counts[kind] += 1
                # The front is cut, because the number at the end makes the name unique.
                new = f"{kind.title()} {counts[kind]}"[-longest:]
        for place in places[old]:
            table_name, column_name = split_column_id(place)
            rows.append(
                Renaming(
                    make_id("renaming", place, old),
                    table_name,
                    column_name,
                    kind,
                    old,
                    new,
                    invention.name is None,
                    invention.calls,
                )
            )
    return Drafts(rows, dropped)


async def _invent(
    old: str, kind: str, longest: int, find: Callable[[str], str], inventor: Inventor, entry: ClosedVariant
) -> Invention:
    def check(name: str) -> str:
        if len(name) > longest:
            return f"too_long: {name}"
        return f"holds_old: {name} holds {find(name)}" if find(name) else ""

    return await inventor.invent(
        "closed_name",
        {"kind": kind},
        choose_shape(
            shape_name(old, kind, entry.seed),
            kind,
            entry.offered,
            entry.seed,
            old,
            coined=len(old.split()) == 1,
        ),
        row=make_id("name", old),
        kind=kind,
        fits=check,
    )


def shape_name(old: str, kind: str, seed: int) -> Callable[[int], Shape]:
    """Return a function that maps the attempt's number to the required `Shape` of a new name.

    The shape depends on the kind of entity, and on whether the old name has several words.
    """

    def shape(sample: int) -> Shape:
        first, last = (random_letter(seed, place, old, sample) for place in ("first", "last"))
        if kind == "person":
            return shape_person(first, last)
        if kind in PLACES:
            return shape_place(first)
        return shape_firm(first) if len(old.split()) > 1 else shape_coined(first)

    return shape


def read_names(entry: DatabaseEntry, columns: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the distinct texts by column, and the maximum length of each column that declares one."""
    names = list(columns)
    engine = entry.connect()
    try:
        with engine.connect() as connection:
            values = {name: _read_distinct(connection, name) for name in names}
            limits = _read_lengths(connection, names)
    except SQLAlchemyError as error:
        # A chained driver error could show the password, which `explain` masks.
        raise entry.explain(error, "its names cannot be read") from None
    finally:
        engine.dispose()
    return values, limits


def _read_distinct(connection: Connection, name: str) -> list[str]:
    table_name, column_name = split_column_id(name)
    query = select(column(column_name, String())).select_from(table(table_name)).distinct()
    values = connection.execute(query).scalars()
    return sorted(value for value in values if isinstance(value, str) and value.strip())


def _read_lengths(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for table_name in {split_column_id(name)[0] for name in names}:
        for column_info in inspect(connection).get_columns(table_name):
            name, kind = make_column_id(table_name, str(column_info["name"])), column_info["type"]
            if name in names and isinstance(kind, types.String) and kind.length:
                lengths[name] = kind.length
    return lengths


def group_columns(variant: ClosedVariant, schema: Sequence[Column]) -> dict[str, str]:
    """Return the kind of entity of every column in which names are replaced, by column id.

    Columns that are connected by foreign keys get the same new names. Raises BadInput if a column does not
    exist, is not text, or is listed with two kinds.
    """
    columns = {column.id: column for column in schema}
    kinds: dict[str, str] = {}
    for configured, kind in sorted(variant.columns.items()):
        for name in _list_connected(_require_text(configured, columns, variant), columns.values()):
            if kinds.setdefault(name, kind) != kind:
                raise BadInput(
                    f"params.yaml: closed: columns.{configured}",
                    f"{name} is listed both as {kinds[name]} and as {kind}",
                )
    for name in variant.texts:
        if _require_text(name, columns, variant) in kinds:
            raise BadInput(
                "params.yaml: closed: texts",
                f"{name} is already listed in `columns`, directly or through a foreign key",
            )
    return kinds


def _require_text(name: str, columns: Mapping[str, Column], variant: ClosedVariant) -> str:
    """Return the column's name. Raises BadInput if the column does not exist or is not text."""
    column = columns.get(name)
    if column is None:
        texts = ", ".join(sorted(column.id for column in columns.values() if column.type == "text"))
        raise BadInput(
            f"params.yaml: closed: {name}",
            f"{variant.file.name} does not have this column",
            hint=f"text columns: {texts}",
        )
    if column.type != "text":
        raise BadInput(f"params.yaml: closed: {name}", f"contains {column.type} values, not text")
    return name


def _list_connected(start: str, columns: Iterable[Column]) -> set[str]:
    """Return a column and all columns that foreign keys connect to it, in either direction."""
    links = [(column.id, column.references) for column in columns if column.references]
    connected, pending = {start}, [start]
    while pending:
        name = pending.pop()
        neighbours = {a for a, b in links if b == name} | {b for a, b in links if a == name}
        pending += neighbours - connected
        connected |= neighbours
    return connected
