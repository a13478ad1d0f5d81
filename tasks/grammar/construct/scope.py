"""Tell which questions must say what they are confined to: the films in the catalogue, not all films.

What is computed from whichever rows a database holds is true of these rows alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.databases.columns import Column
from tasks.grammar.construct.measures import is_pair
from tasks.grammar.construct.names import NAMES, name_column
from tasks.grammar.construct.queries import Query, column_of, table_of


def find_scope(query: Query, columns: Sequence[Column]) -> tuple[str, str]:
    """Find what a query's question must say it is confined to: table, and words; two empty texts if nothing.

    A measure over rows is confined, and so is what asks for a thing that it does not name. Named things are
    the same everywhere, and so is what happened on a date.
    """
    asked = table_of(query.projection[0])
    scopes = {column.table: column.scope for column in columns if column.scope}
    named = any(
        table_of(name) == asked and name_column(name, columns).split()[-1] in NAMES for name in query.equal
    )
    unnamed = asked in scopes and not named and any(table_of(name) != asked for name in query.equal)
    if is_pair(query) or not (query.measure or unnamed):
        return "", ""
    table = asked if asked in scopes else min(scopes.keys() & set(query.tables), default="")
    dates = {column.id for column in columns if column.type == "date" and column.table == table}
    if not table or dates.intersection(map(column_of, query.placeholders)):
        return "", ""
    return table, scopes[table]


def list_scope_words(scope: str) -> str:
    """Write a scope as texts are held against it: letters alone, in lower case."""
    return " ".join(re.findall(r"[^\W\d_]+", scope.lower()))
