"""Stage: reflect the database's schema, from which templates are written. No row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tasks.artifacts.rows import Drafts
from tasks.databases.columns import Column
from tasks.databases.content import check_columns
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect
from tasks.grammar.rows import Term


def schema(glossary: list[Term], database: DatabaseEntry) -> Drafts[Column]:
    """List every table's columns, with types and keys, and the words of the glossary.

    Raises BadInput if the database cannot be opened, or a server's columns differ from its recorded content.
    """
    columns = reflect(database)
    check_columns(database, columns)
    return Drafts(apply_terms(columns, glossary))


def apply_terms(columns: Sequence[Column], terms: Sequence[Term]) -> list[Column]:
    """Give columns the words that a glossary has for them and for their tables."""
    words = {(term.table, term.column): term.words for term in terms}
    return [
        replace(
            column,
            words=words.get((column.table, column.name), ""),
            table_words=words.get((column.table, ""), ""),
        )
        for column in columns
    ]
