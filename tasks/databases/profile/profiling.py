"""Profile the columns of a database, apply overrides from params.yaml, and report ignored cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.artifacts.rows import Dropped, make_id
from tasks.databases.columns import Column, find_named
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import TYPES, ColumnProfile, ColumnRules, apply_profiles
from tasks.databases.profile.measure import measure_columns
from tasks.databases.profile.readings import is_format
from tasks.databases.reflection import list_unread, reflect
from tasks.errors import BadInput


def profile_columns(database: DatabaseEntry, rules: ColumnRules, place: str = "") -> list[ColumnProfile]:
    """Return the profile of every column.

    `place`: the position of the entry's `columns` in params.yaml, for error messages. Raises BadInput if the
    database cannot be opened or an override is not valid.
    """
    schema = reflect(database)
    return measure_columns(database, schema, rules, read_overrides(database, schema, place))


def read_columns(database: DatabaseEntry, rules: ColumnRules) -> list[Column]:
    """Return a database's columns, with types and readings that match the cells.

    Raises the same errors as `profile_columns`.
    """
    return apply_profiles(reflect(database), profile_columns(database, rules))


def read_overrides(database: DatabaseEntry, schema: Sequence[Column], place: str = "") -> Mapping[str, str]:
    """Map column ids to types or date formats from the entry's `columns`.

    Raises BadInput if a key names no column, or if a type or date format is not valid.
    """
    place = place or f"params.yaml: {database.label}.columns"
    found: dict[str, str] = {}
    names = {column.name for column in schema}
    # A column name without a table means all columns of that name; `table.column` overrides it.
    for key, kind in sorted(database.columns.items(), key=lambda entry: entry[0] not in names):
        if kind not in TYPES and not is_format(kind):
            raise BadInput(
                f"{place}: {key}",
                f"{kind!r} is neither a type nor a date format",
                hint=f"use {', '.join(TYPES)}, or a date format such as %d/%m/%Y, %b %d, %Y, %Y%m%d",
            )
        for table, column, column_id in find_named(key, schema, place):
            if not column:
                raise BadInput(f"{place}: {key}", f"is a table, not a column of {table}")
            found[column_id] = kind
    return found


def list_losses(profiles: Sequence[ColumnProfile]) -> list[Dropped]:
    """Return a dropped row for each column with cells that do not fit or cannot be read.

    The reasons are:

    - `no_value`: cells that do not fit count as empty.
    - `unfit_cells`: too many cells do not fit, so the column is not ranked, bounded or averaged.
    - `unreadable`: the cells cannot be read.
    - `undecodable`: some strings are not valid UTF-8.
    """
    return [drop for profile in profiles if (drop := _name_loss(profile))]


def _name_loss(profile: ColumnProfile) -> Dropped | None:
    reason = (
        "unreadable"
        if profile.kind == "unreadable"
        else "no_value"
        if profile.reading and profile.misfits
        else "unfit_cells"
        if profile.misfits or (profile.kind.startswith("dates") and profile.type == "text")
        else "undecodable"
        if profile.undecodable
        else ""
    )
    broken = f"{profile.undecodable:,} distinct texts are not valid UTF-8"
    detail = f"{profile.id}: {broken if reason == 'undecodable' else profile.why}"
    return Dropped(make_id("column", profile.id), reason, detail, ()) if reason else None


def name_unread(database: DatabaseEntry) -> list[Dropped]:
    """Return a dropped row for each part of a database that is not read.

    Raises the same errors as `list_unread`.
    """
    return [
        Dropped(make_id("unread", part.what), part.reason, f"{part.what} not read: {part.why}", ())
        for part in list_unread(database)
    ]
