"""Stage: reflect the database's schema, the input for templates. The schema contains no cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tasks.artifacts.rows import Drafts
from tasks.databases.columns import Column
from tasks.databases.content import check_columns
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile, apply_profiles
from tasks.databases.reflection import is_empty, reflect
from tasks.errors import BadInput
from tasks.grammar.construct.glossary import Term, leave_out

SCOPE = re.compile(r"(?:among|at|by|for|from|in|of|on|within)(?: [^\W_]+){1,7}")
"""Matches a scope, such as `in the catalogue`: a preposition and one to seven words."""


def schema(glossary: list[Term], columns: list[ColumnProfile], database: DatabaseEntry) -> Drafts[Column]:
    """Return every table's columns with types, keys, readable names from the glossary, and table scopes.

    `columns` contains the profiles, which determine column types from cells.

    Raises BadInput if the database cannot be opened, if it has no tables or no rows, or if the columns on a
    server differ from the recorded columns. Also raises BadInput if a scope is for an unknown table or does
    not match `SCOPE`, or if `leave_out` names an unknown table or column.
    """
    read = reflect(database)
    place = database.file or database.label
    if not read:
        raise BadInput(
            place, "has no tables", hint=f"{database.label} refers to this file; views are not read"
        )
    check_columns(database, read)
    kept = leave_out(apply_profiles(read, columns), database)
    tables = sorted({column.table for column in kept})
    if is_empty(database, tables):
        raise BadInput(
            place,
            f"has no rows in any table ({', '.join(tables)})",
            hint=f"used by {database.label}; questions need rows for their values and answers",
        )
    return Drafts(apply_scope(apply_terms(kept, glossary), database))


def apply_terms(columns: Sequence[Column], terms: Sequence[Term]) -> list[Column]:
    """Return the columns with the readable names of columns and tables from the glossary."""
    words = {(term.table, term.column): term.words for term in terms}
    return [
        replace(
            column,
            words=words.get((column.table, column.name), ""),
            table_words=words.get((column.table, ""), ""),
        )
        for column in columns
    ]


def apply_scope(columns: Sequence[Column], database: DatabaseEntry) -> list[Column]:
    """Return the columns with the scopes of their tables.

    Raises BadInput if a scope is for an unknown table or does not match `SCOPE`.
    """
    place = f"params.yaml: {database.label}.scope"
    tables = {column.table for column in columns}
    scopes: dict[str, list[str]] = {}
    for table, given in database.scope.items():
        if table not in tables:
            raise BadInput(
                f"{place}: {table}",
                "the database has no such table",
                hint=f"known: {', '.join(sorted(tables))}",
            )
        scopes[table] = [" ".join(words.split()) for words in ([given] if isinstance(given, str) else given)]
        if wrong := [words for words in scopes[table] if not SCOPE.fullmatch(words)]:
            raise BadInput(
                f"{place}: {table}",
                f"{wrong[0]!r} must be two to eight words and begin with a preposition",
                hint="such as `in the catalogue` or `on our books`",
            )
    return [
        replace(column, scope=words[0], dated_scope=words[1])
        for column in columns
        for words in [[*scopes.get(column.table, ()), "", ""]]
    ]
