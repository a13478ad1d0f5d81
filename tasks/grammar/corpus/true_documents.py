"""Stage: find the documents that contain the answer of each semantic group, by the keys of the source rows.

A document lacks a fact if the fact has too many values, if no sentence could state it, or if the reader did
not find it. `untold` lists the needed columns that a group's documents do not state. If `untold` is not
empty, the documents do not answer the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.rendering import write_plain
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.documents import UNREAD, UNTOLD
from tasks.grammar.corpus.entities import EntityProfile
from tasks.grammar.corpus.entity_tables import (
    Attribute,
    CountTold,
    EntityTable,
    find_untold,
    make_fact_id,
    open_entity_table,
)
from tasks.settings import Settings

UNKNOWN = ""
"""The placeholder for the document id of a row without a profile."""


class TrueDocuments(Settings):
    """The settings in params.yaml under `grammar.true_documents`."""

    limits: QueryLimits = QueryLimits()
    """The limits of each query: one query per template and table."""


@dataclass(frozen=True)
class TrueDocument:
    """The documents that contain a group's answer. The row's id is the group's id."""

    id: str
    documents: tuple[str, ...]
    """The sorted ids of the documents, including dropped documents."""
    origin: tuple[Origin, ...]
    untold: tuple[str, ...] = ()
    """The columns in the group's question that the documents do not state."""


def true_documents(
    profiles: list[EntityProfile],
    documents_dropped: list[Dropped],
    fill_in: list[Group],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    params: TrueDocuments,
) -> Drafts[TrueDocument]:
    """Return the true documents of every group whose source rows are in entity tables.

    Groups are left out if the query reads no entity table, or if a source row has no profile, because the
    true documents are then unknown.
    """
    left_out = {row.id for row in documents_dropped if row.reason in (UNREAD, UNTOLD)}
    told = count_values(profiles, left_out)
    known = {(profile.table, profile.key): profile.id for profile in profiles}
    names = sorted({profile.table for profile in profiles})
    tables = [open_entity_table(database.name, name, schema) for name in names]
    wanted: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for group in fill_in:
        wanted[group.sql_template][group.sql] = group.id
    rows = []
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        for template in sql_templates:
            query = read_stored(template.sql, schema)
            found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
            for table in (name for name in names if name in query.tables):
                for name, keys in read_keys(query, table, wanted[template.id], schema, safe):
                    texts = (tuple(write_plain(part) for part in key) for key in keys)
                    found[name][table] |= {known.get((table, text), UNKNOWN) for text in texts}
            rows += [
                _make_row(name, ids, find_untold(query, tables, _count_in(ids, told)))
                for name, ids in found.items()
                if not any(UNKNOWN in found_ids for found_ids in ids.values())
            ]
    return Drafts(rows)


Told = Mapping[str, int]
"""The number of values of each stated fact, by fact id. Facts that no document states are absent."""


def count_values(profiles: Iterable[EntityProfile], left_out: set[str]) -> Told:
    """Return the number of values of every fact that the documents state, by fact id.

    `left_out` contains the ids of facts that the documents do not state.
    """
    facts = (fact for profile in profiles for fact in profile.facts if fact.id not in left_out)
    return {fact.id: len(fact.values) for fact in facts}


def _count_in(documents: Mapping[str, Iterable[str]], told: Told) -> CountTold:
    """Return a function that counts an attribute's values in `documents` (document ids by table).

    The count of the name column is 1, because a document's title states the entity's name.
    """

    def count(table: EntityTable, attribute: Attribute) -> int:
        if attribute.column == table.naming and not attribute.joins:
            return 1
        counts = [
            told.get(make_fact_id(document, attribute), 0) for document in documents.get(table.table, ())
        ]
        return max(counts, default=0) if all(counts) else 0

    return count


def _make_row(group: str, ids: Mapping[str, Iterable[str]], untold: tuple[str, ...]) -> TrueDocument:
    documents = tuple(sorted({document for found_ids in ids.values() for document in found_ids}))
    origin = (
        Origin("row", f"fill_in#{group}"),
        *(Origin("row", f"profiles#{document}") for document in documents),
    )
    return TrueDocument(group, documents, origin, untold)
