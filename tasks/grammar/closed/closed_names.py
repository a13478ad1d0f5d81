"""Stage: a fictitious name for every name of a database that is to be closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from sqlalchemy import Connection, String, column, inspect, select, table, types
from sqlalchemy.exc import SQLAlchemyError

from tasks.artifacts.rows import Drafts, Dropped, make_id
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect
from tasks.grammar.closed.closed_columns import group_columns
from tasks.grammar.closed.closed_entry import Closed, Renaming
from tasks.grammar.closed.rewriting import make_finder
from tasks.grammar.invent.invented_names import Invention, Inventor
from tasks.grammar.invent.seeded_random import draw_letter
from tasks.grammar.invent.shapes import Shape, shape_coined, shape_firm, shape_person, shape_place
from tasks.models.ask import Ask

PLACES = frozenset(["town", "city", "place", "country", "village", "river"])
ROOM = 24
"""A name may be so many characters longer than the one it stands for, where its column has the room."""


async def closed_names(entry: Closed, ask: Ask) -> Drafts[Renaming]:
    """Invent a name for each distinct value of the configured columns: nobody's, and everywhere the same.

    A value for which the model finds none gets a generic name, and stands among the dropped rows as well.
    Raises BadInput where a column is not there or is no text.
    """
    source = DatabaseEntry(name=entry.file.stem, file=entry.file)
    kinds = group_columns(entry, reflect(source))
    values, longest = read_names(source, kinds)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(kinds):
        for old in values[name]:
            places[old].append(name)
    inventor = Inventor(ask, entry.tries, entry.sure, places)
    find = make_finder(places)
    rows: list[Renaming] = []
    dropped: list[Dropped] = []
    counts: defaultdict[str, int] = defaultdict(int)
    taken = {old.casefold() for old in places}
    for old in sorted(places):
        kind = kinds[places[old][0]]
        room = min([len(old) + ROOM, *(longest[each] for each in places[old] if each in longest)])
        found = await _invent(old, kind, room, find, inventor, entry.seed)
        new = found.name
        if new is None:
            dropped.append(found.drop(make_id("name", old)))
            while new is None or new.casefold() in taken:
                counts[kind] += 1
                new = f"{kind.title()} {counts[kind]}"[-room:]
        for each in places[old]:
            table, _, column = each.partition(".")
            rows.append(
                Renaming(
                    make_id("renaming", each, old),
                    table,
                    column,
                    kind,
                    old,
                    new,
                    found.name is None,
                    found.calls,
                )
            )
    return Drafts(rows, dropped)


async def _invent(
    old: str, kind: str, room: int, find: Callable[[str], str], inventor: Inventor, seed: int
) -> Invention:
    def fit(name: str) -> str:
        if len(name) > room:
            return f"too_long: {name}"
        return f"holds_old: {name} holds {find(name)}" if find(name) else ""

    return await inventor.invent(
        "closed_name",
        {"kind": kind},
        choose_shape(old, kind, seed),
        row=make_id("name", old),
        kind=kind,
        fits=fit,
    )


def choose_shape(old: str, kind: str, seed: int) -> Callable[[int], Shape]:
    """Shape the new name as its kind and the old one's number of words have it; letters are drawn."""

    def shape(sample: int) -> Shape:
        first, last = (draw_letter(seed, place, old, sample) for place in ("first", "last"))
        if kind == "person":
            return shape_person(first, last)
        if kind in PLACES:
            return shape_place(first)
        return shape_firm(first) if len(old.split()) > 1 else shape_coined(first)

    return shape


def read_names(entry: DatabaseEntry, names: dict[str, str]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Read each column's distinct texts, and how long a text in it may be where it says so."""
    engine = entry.connect()
    try:
        with engine.connect() as connection:
            values = {each: _read_distinct(connection, each) for each in names}
            longest = _read_lengths(connection, names)
    except SQLAlchemyError as error:
        raise entry.explain(error, "its names cannot be read") from None
    finally:
        engine.dispose()
    return values, longest


def _read_distinct(connection: Connection, name: str) -> list[str]:
    of, _, bare = name.partition(".")
    found = connection.execute(select(column(bare, String())).select_from(table(of)).distinct()).scalars()
    return sorted(each for each in found if isinstance(each, str) and each.strip())


def _read_lengths(connection: Connection, names: dict[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for of in {each.partition(".")[0] for each in names}:
        for each in inspect(connection).get_columns(of):
            kind = each["type"]
            if f"{of}.{each['name']}" in names and isinstance(kind, types.String) and kind.length:
                found[f"{of}.{each['name']}"] = kind.length
    return found
