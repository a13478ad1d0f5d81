"""Tell which questions must say what they are confined to: the films in the catalogue, not all films.

What is computed from whichever rows a database holds is true of these rows alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.databases.columns import Column
from tasks.grammar.construct.names import is_name, name_column, tells_year
from tasks.grammar.construct.queries import Query, column_of, table_of


def find_scope(query: Query, columns: Sequence[Column]) -> tuple[str, str]:
    """Find what a query's question must say it is confined to: table, and words; two empty texts if nothing.

    What a thing is that its name and a date or year tell, it is everywhere; a name alone may be another
    thing's elsewhere. What a measure is computed from may be more elsewhere, on the same date, too, if the
    table has words for that.
    """
    asked = table_of(query.projection[0])
    scopes = {column.table: (column.scope, column.dated_scope) for column in columns if column.scope}
    table = asked if asked in scopes else min(scopes.keys() & set(query.tables), default="")
    own = [name_column(name, columns) for name in query.equal if table_of(name) == table]
    named = any(is_name(words) or words.split()[-1] == "number" for words in own)
    told = {column.id for column in columns if column.type == "date"}
    if named and not query.measure:
        told |= {column.id for column in columns if tells_year(column)}
    known = {name for name in map(column_of, query.placeholders) if table_of(name) == table}
    if not table:
        return "", ""
    always, dated = scopes[table]
    words = always if not told & known else dated if query.measure else ""
    return (table, words) if words else ("", "")


def list_scope_words(scope: str) -> str:
    """Write a scope as texts are held against it: letters alone, in lower case."""
    return " ".join(re.findall(r"[^\W\d_]+", scope.lower()))
