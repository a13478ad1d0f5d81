"""Stage: map each semantic group to the documents that hold its answer, by the keys of its source rows."""

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
from tasks.grammar.corpus.entities import EntityProfile
from tasks.grammar.rows import Group, SqlTemplate


class TrueDocuments(BaseModel):
    """`grammar.true_documents` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limits: QueryLimits = QueryLimits()
    """Limits of the one query per template and table."""


@dataclass(frozen=True)
class TrueDocument:
    """The documents that a group's answer comes from. Its id is the group's."""

    id: str
    documents: tuple[str, ...]
    """Ids of profiles, sorted. A profile whose document was dropped is listed too."""
    origin: tuple[Origin, ...]


def true_documents(
    profiles: list[EntityProfile],
    fill_in: list[Group],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    params: TrueDocuments,
) -> Drafts[TrueDocument]:
    """Map every group whose source rows are in entity tables to the documents of these rows.

    A group whose query reads no entity table, or with a source row without a profile, is left out: its true
    documents are unknown.
    """
    known = {(profile.table, profile.key): profile.id for profile in profiles}
    tables = {profile.table for profile in profiles}
    wanted = {group.id for group in fill_in}
    found: defaultdict[str, set[str | None]] = defaultdict(set)
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        for template in sql_templates:
            query = read_template(template.sql, schema)
            for table in sorted(tables.intersection(query.tables)):
                for group, keys in read_keys(query, table, schema, safe):
                    texts = (tuple(format_value(part) for part in key) for key in keys)
                    found[group] |= {known.get((table, text)) for text in texts}
    return Drafts(
        [_make_row(group, ids) for group, ids in found.items() if group in wanted and None not in ids]
    )


def _make_row(group: str, ids: set[str | None]) -> TrueDocument:
    documents = tuple(sorted(document for document in ids if document is not None))
    origin = (
        Origin("row", f"fill_in#{group}"),
        *(Origin("row", f"profiles#{document}") for document in documents),
    )
    return TrueDocument(group, documents, origin)
