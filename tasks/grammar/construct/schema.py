"""Stage: the schema that templates are written from. Reflection only: no row leaves the database here."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.databases.columns import Column
from tasks.databases.content import check_columns
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect


def schema(database: DatabaseEntry) -> Drafts[Column]:
    """Describe every table's columns, types and keys.

    Raises BadInput where the database cannot be opened, or a server's columns are not those of its record.
    """
    columns = reflect(database)
    check_columns(database, columns)
    return Drafts(columns)
