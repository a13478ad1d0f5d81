"""Stage: reflect the database's schema, from which templates are written. No row is read."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.databases.columns import Column
from tasks.databases.content import check_columns
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect


def schema(database: DatabaseEntry) -> Drafts[Column]:
    """List every table's columns, with types and keys.

    Raises BadInput if the database cannot be opened, or a server's columns differ from its recorded content.
    """
    columns = reflect(database)
    check_columns(database, columns)
    return Drafts(columns)
