"""Stage: which documents hold what each group asks, found by the keys of its source rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from tasks.artifacts.rows import Drafts, Origin
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.grammar.construct.fill_in import format_value
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.corpus.entities import Profile
from tasks.grammar.rows import Group, SqlTemplate


class TrueDocuments(BaseModel):
    """`grammar.true_documents` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limits: QueryLimits = QueryLimits()
    """For the one query of each template and table."""


@dataclass(frozen=True)
class TrueDocument:
    """The documents that a group's answer stands on. Its id is the group's."""

    id: str
    documents: tuple[str, ...]
    """Ids of profiles, sorted; whether a document was written of each is for `documents` to say."""
    origin: tuple[Origin, ...]


def true_documents(
    profiles: list[Profile],
    fill_in: list[Group],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    params: TrueDocuments,
) -> Drafts[TrueDocument]:
    """Map every group that stands on rows of an entity's table to the documents of these rows.

    A group has no row here where one of its source rows has no profile, or where its query reads no
    entity's table: then nobody knows its true documents.
    """
    known = {(each.table, each.key): each.id for each in profiles}
    tables = sorted({each.table for each in profiles})
    wanted = {group.id for group in fill_in}
    found: defaultdict[str, set[str | None]] = defaultdict(set)
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        for template in sql_templates:
            query = read_template(template.sql, schema)
            for table in (each for each in tables if each in query.tables):
                for group, keys in read_keys(query, table, schema, safe):
                    places = ((table, tuple(format_value(part) for part in key)) for key in keys)
                    found[group] |= {known.get(place) for place in places}
    return Drafts([_row(group, ids) for group, ids in found.items() if group in wanted and None not in ids])


def _row(group: str, ids: set[str | None]) -> TrueDocument:
    documents = tuple(sorted(each for each in ids if each is not None))
    origin = (Origin("row", f"fill_in#{group}"), *(Origin("row", f"profiles#{each}") for each in documents))
    return TrueDocument(group, documents, origin)
