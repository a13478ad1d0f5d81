"""Stage: measure what the cells of every column are, from which its kind follows. No prompt holds a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.artifacts.rows import Drafts, Dropped, make_id
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import TYPES, ColumnProfile, ColumnRules, apply_profiles
from tasks.databases.profile.measure import measure_columns
from tasks.databases.profile.readings import is_format
from tasks.databases.reflection import list_unread, reflect
from tasks.errors import BadInput
from tasks.grammar.construct.glossary import find_named


def columns(database: DatabaseEntry, params: ColumnRules) -> Drafts[ColumnProfile]:
    """Profile every column: its kind by its cells, and how queries read them.

    Drop reasons, of cells or columns: `no_value` (cells that do not fit their column's kind, and count as no
    value), `unfit_cells` (too many do not fit: the column is not ranked, bounded or averaged), `unreadable`.
    Of parts of the database: `other_schema`, `partition`, `internal_table`, `foreign_key` (its table is not
    read).
    Raises BadInput if the database cannot be opened, or an override is not valid.
    """
    schema = reflect(database)
    profiles = measure_columns(database, schema, params, read_overrides(database, schema))
    losses = [drop for profile in profiles if (drop := _name_losses(profile))]
    unread = [
        Dropped(make_id("unread", part.what), part.reason, f"{part.what} not read: {part.why}", ())
        for part in list_unread(database)
    ]
    return Drafts(profiles, [*losses, *unread])


def read_columns(database: DatabaseEntry, rules: ColumnRules) -> list[Column]:
    """Read a database's columns with the types and readings of their profiles. Raises as `columns`."""
    schema = reflect(database)
    overrides = read_overrides(database, schema)
    return apply_profiles(schema, measure_columns(database, schema, rules, overrides))


def read_overrides(database: DatabaseEntry, schema: Sequence[Column]) -> Mapping[str, str]:
    """Read `databases.<name>.columns`: column id -> a type or a date format. Raises BadInput."""
    place = f"params.yaml: {database.label}.columns"
    found: dict[str, str] = {}
    names = {column.name for column in schema}
    # A column's name alone stands for all columns of that name; `table.column` comes after it.
    for key, kind in sorted(database.columns.items(), key=lambda entry: entry[0] not in names):
        if kind not in TYPES and not is_format(kind):
            raise BadInput(
                f"{place}: {key}",
                f"{kind!r} is neither a type nor a date format",
                hint=f"one of {', '.join(TYPES)}, or as %d/%m/%Y, %b %d, %Y, %Y%m%d",
            )
        for table, column, column_id in find_named(key, schema, place):
            if not column:
                raise BadInput(f"{place}: {key}", f"is a table, not a column of {table}")
            found[column_id] = kind
    return found


def _name_losses(profile: ColumnProfile) -> Dropped | None:
    reason = (
        "unreadable"
        if profile.kind == "unreadable"
        else "no_value"
        if profile.reading and profile.misfits
        else "unfit_cells"
        if profile.misfits or (profile.kind.startswith("dates") and profile.type == "text")
        else ""
    )
    detail = f"{profile.id}: {profile.why}"
    return Dropped(make_id("column", profile.id), reason, detail, ()) if reason else None
