"""Stage: determine which documents state the facts that each group's answer needs.

The true documents are about the source rows, but other documents may state the same facts. For example, a
project's document also states the city of the project's client. Documents are made from rows, so the stage
knows which facts each document states, and whether several documents together state all needed facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.databases.columns import Column, make_column_id
from tasks.databases.content import ensure_unchanged
from tasks.databases.dialects import translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.profile.readings import list_readings
from tasks.databases.rendering import write_plain
from tasks.databases.values import Value
from tasks.grammar.construct.combinations import read_sources
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.free_joins import describe_joins
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.queries import FilledSql, FreeQuery, Query, table_of, write_rows
from tasks.grammar.construct.source_keys import list_wanted
from tasks.grammar.construct.source_rows import write_source_queries
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.documents import UNREAD, UNTOLD
from tasks.grammar.corpus.entities import EntityProfile
from tasks.grammar.corpus.entity_tables import (
    Attribute,
    EntityTable,
    find_naming_column,
    list_attributes,
    list_told,
    make_count_id,
    make_fact_id,
    open_entity_table,
)
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts, AnswerSupport, StatedCells
from tasks.grammar.corpus.true_documents import Told, count_values
from tasks.settings import Settings
from tasks.systems.contract import Document

Joins = tuple[tuple[str, str], ...]
RowKey = tuple[str, ...]
"""The values of a row's primary key, as strings."""


class AnswerFactsParams(Settings):
    """The settings in params.yaml under `grammar.answer_facts`."""

    limits: QueryLimits = QueryLimits()
    """The limits of each query: one query per template, and one per foreign key."""


def answer_facts(
    profiles: list[EntityProfile],
    documents: list[Document],
    documents_dropped: list[Dropped],
    questions: list[AskedQuestion],
    fill_in: list[Group],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    params: AnswerFactsParams,
) -> Drafts[AnswerFacts]:
    """Return the facts that each sampled group's answer needs, and the documents that state these facts.

    A user-written SELECT that joins tables along foreign keys needs all rows that its answer is computed
    from. For SQL of any other shape, the stage cannot determine the needed facts. Groups with such SQL have
    no row; assessments then search the texts of the retrieved documents.
    """
    asked = {question.group for question in questions}
    wanted: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for group in fill_in:
        if group.id in asked:
            wanted[group.sql_template][group.sql] = group.id
    written = {document.id for document in documents}
    left_out = {row.id for row in documents_dropped if row.reason in (UNREAD, UNTOLD)}
    kept = [profile for profile in profiles if profile.id in written]
    tables = [
        open_entity_table(database.name, name, schema) for name in sorted({profile.table for profile in kept})
    ]
    rows = []
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        corpus = _Corpus(tables, kept, count_values(kept, left_out), schema, safe)
        for template in sql_templates:
            if template.id in wanted:
                query = read_stored(template.sql, schema)
                joined = describe_joins(query, schema)
                if not isinstance(query, FreeQuery):
                    rows += list(_FactReader(query, corpus).read(wanted[template.id]))
                elif not isinstance(joined, FreeQuery):
                    rows += list(_FreeFactReader(joined, corpus).read(wanted[template.id]))
    return Drafts(sorted(rows, key=lambda row: row.id))


class _Corpus:
    """Finds the documents about a row, and the documents about rows that refer to this row."""

    def __init__(
        self,
        tables: Sequence[EntityTable],
        profiles: Iterable[EntityProfile],
        told: Told,
        schema: Sequence[Column],
        safe: SafeDatabase,
    ) -> None:
        self.tables, self.told, self.schema, self.safe = tables, told, schema, safe
        self.documents = {(profile.table, profile.key): profile.id for profile in profiles}
        self._referring: dict[str, Mapping[RowKey, Mapping[str, frozenset[str]]]] = {}

    def find_referring(self, table: str) -> Mapping[RowKey, Mapping[str, frozenset[str]]]:
        """Return the documents about rows that refer to a `table` row, by the key of the `table` row.

        Each document id is mapped to the columns of `table` that the document states. Documents that do not
        state the name of the `table` row are left out, because nothing links their facts to this row.
        """
        if table not in self._referring:
            found: defaultdict[RowKey, dict[str, frozenset[str]]] = defaultdict(dict)
            naming = find_naming_column(table, tuple(list_attributes(table, self.schema)))
            for owner in self.tables:
                for joins, attributes in _list_references(owner, table).items():
                    for key, document in self._read_references(owner, table, joins):
                        columns = frozenset(
                            attribute.column
                            for attribute in attributes
                            if make_fact_id(document, attribute) in self.told
                        )
                        if naming in columns:
                            found[key][document] = columns | found[key].get(document, frozenset())
            self._referring[table] = found
        return self._referring[table]

    def _read_references(self, owner: EntityTable, table: str, joins: Joins) -> Iterator[tuple[RowKey, str]]:
        """Yield (key of a `table` row, id of a document about an `owner` row that refers to this row)."""
        own = tuple(sorted(owner.primary))
        # Placeholders of a query are sorted, but the keys of documents have the order of the primary key.
        order = [own.index(column) for column in owner.primary]
        primary = list_keys(table, self.schema)
        sql = write_rows(Query(primary, joins, own), primary, readings=list_readings(self.schema))
        for batch in self.safe.stream(translate(sql, self.safe.dialect, self.schema)):
            for row in batch:
                key = tuple(write_plain(row[place]) for place in order)
                if document := self.documents.get((owner.table, key)):
                    yield tuple(map(write_plain, row[len(own) :])), document


def _list_references(owner: EntityTable, table: str) -> Mapping[Joins, Sequence[Attribute]]:
    """Return the attributes of `owner` that are columns of `table`, grouped by the join to `table`."""
    found: defaultdict[Joins, list[Attribute]] = defaultdict(list)
    for attribute in owner.attributes:
        if len(attribute.joins) == 1 and table_of(attribute.column) == table != owner.table:
            found[attribute.joins].append(attribute)
    return found


def list_keys(table: str, schema: Sequence[Column]) -> tuple[str, ...]:
    """List the columns of a table's primary key."""
    return tuple(column.id for column in schema if column.table == table and column.primary_key)


class _FactReader:
    """Reads the facts that the answers of one SQL template's groups need."""

    def __init__(self, query: Query, corpus: _Corpus) -> None:
        self.query, self.corpus = query, corpus
        self.keys = {table: list_keys(table, corpus.schema) for table in query.tables}
        found = (
            find_naming_column(table, tuple(list_attributes(table, corpus.schema))) for table in query.tables
        )
        self.names = {table: name for table, name in zip(query.tables, found, strict=True) if name}
        self.needed = query.columns
        self.columns = tuple(dict.fromkeys([*self.needed, *sorted(self.names.values())]))
        self.described = {column.id for column in corpus.schema if column.descriptive}

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """The columns to read for every combination of rows."""
        keys = (key for keys in self.keys.values() for key in keys)
        return tuple(dict.fromkeys([*self.columns, *keys]))

    def read(self, groups: Mapping[str, str]) -> Iterator[AnswerFacts]:
        """Yield the facts that groups need. `groups` contains group ids by filled SQL. Raises SqlError."""
        query, schema = self.query, self.corpus.schema
        filled = FilledSql(query, list_readings(schema))
        among = list_wanted(query, filled, groups, schema)
        for sources in read_sources(query, self.cells, schema, self.corpus.safe, among):
            given = [value for value in sources.values if value is not None]
            if group := groups.get(filled.write(given)):
                rows = (dict(zip(self.cells, row, strict=True)) for row in sources.cells)
                yield AnswerFacts(
                    id=group,
                    needed=self.needed,
                    names=tuple(sorted(self.names.values())),
                    columns=self.columns,
                    supports=self._list_supports(rows),
                    origin=(Origin("row", f"fill_in#{group}"),),
                    whole=self._list_counts(given),
                )

    def _list_counts(self, given: Sequence[Value]) -> tuple[str, ...]:
        """List the documents that state how many rows have the given value, if this count is the answer."""
        query, (table, *_) = self.query, map(table_of, self.query.projection)
        if query.measure != "count" or query.placeholders != query.equal[:1]:
            return ()
        told, value = self.corpus.told, write_plain(given[0])
        return tuple(
            sorted(
                document
                for (owner, _), document in self.corpus.documents.items()
                if owner == table and make_count_id(document, query.equal[0], query.joins, value) in told
            )
        )

    def _list_supports(self, rows: Iterable[Mapping[str, Value]]) -> tuple[AnswerSupport, ...]:
        parts: dict[tuple[Value, ...], int] = {}
        found = []
        for row in rows:
            part = self._tell_part(row)
            if None not in part:
                number = parts.setdefault(part, len(parts))
                values = tuple(
                    write_plain(row[column]) if column in self.described else "" for column in self.columns
                )
                found.append(AnswerSupport(number, values, self._list_statements(row)))
        return tuple(dict.fromkeys(found))

    def _tell_part(self, row: Mapping[str, Value]) -> tuple[Value, ...]:
        """Return a key for the part of the answer that a combination of rows supports.

        A combination with an empty cell in this key supports no part. For example, a mean skips empty cells.
        """
        query = self.query
        if query.measure not in ("average", "most", "least"):
            return tuple(row[column] for column in query.projection)
        read = query.ranked_by or query.projection[0]
        return (row[read], *(row[key] for key in self.keys[table_of(query.projection[0])]))

    def _list_statements(self, row: Mapping[str, Value]) -> tuple[StatedCells, ...]:
        stated: defaultdict[frozenset[str], set[str]] = defaultdict(set)
        for table in self.query.tables:
            key = tuple(write_plain(row[column]) for column in self.keys[table])
            own = self.corpus.documents.get((table, key))
            if own is not None:
                stated[self._note_keys(self._list_told(table, own))].add(own)
            for document, columns in self.corpus.find_referring(table).get(key, {}).items():
                stated[self._note_keys(columns)].add(document)
        gathered: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for told, documents in stated.items():
            if kept := tuple(column for column in self.columns if column in told):
                gathered[kept] |= documents
        return tuple(StatedCells(tuple(sorted(gathered[columns])), columns) for columns in sorted(gathered))

    def _list_told(self, table: str, document: str) -> frozenset[str]:
        """Return the query's columns that a document about a row of `table` states."""
        entity = next(known for known in self.corpus.tables if known.table == table)

        def count(owner: EntityTable, attribute: Attribute) -> int:
            if attribute.column == owner.naming and not attribute.joins:
                return 1
            return self.corpus.told.get(make_fact_id(document, attribute), 0)

        return frozenset(list_told(self.query, entity, count))

    def _note_keys(self, told: frozenset[str]) -> frozenset[str]:
        """Return the stated columns, plus the keys of tables whose name column is stated.

        A name identifies a row, so stating the name has the same effect as stating the key.
        """
        named = [table for table, name in self.names.items() if name in told]
        return told.union(*(self.keys[table] for table in named))


class _FreeFactReader(_FactReader):
    """Reads the facts that the groups of a free-form SELECT need: all rows that satisfy its conditions."""

    def __init__(self, query: Query, corpus: _Corpus) -> None:
        super().__init__(query, corpus)
        things = (key for table in sorted(self.names) for key in self.keys[table])
        self.needed = tuple(dict.fromkeys([*query.columns, *things]))
        self.columns = tuple(dict.fromkeys([*self.needed, *sorted(self.names.values())]))

    def read(self, groups: Mapping[str, str]) -> Iterator[AnswerFacts]:
        """Yield the facts that groups need. `groups` contains group ids by filled SQL. Raises SqlError."""
        for sql, group in groups.items():
            yield AnswerFacts(
                id=group,
                needed=self.needed,
                names=tuple(sorted(self.names.values())),
                columns=self.columns,
                supports=self._list_supports(self._read_rows(sql)),
                origin=(Origin("row", f"fill_in#{group}"),),
            )

    def _read_rows(self, sql: str) -> Iterator[Mapping[str, Value]]:
        schema, safe = self.corpus.schema, self.corpus.safe
        for source, selected in write_source_queries(sql, schema)[0]:
            names = [make_column_id(table, column) for table, column in selected]
            for batch in safe.stream(translate(source, safe.dialect, schema)):
                yield from (dict(zip(names, row, strict=True)) for row in batch)

    def _tell_part(self, row: Mapping[str, Value]) -> tuple[Value, ...]:
        """Return the keys of all rows in a combination, because the answer needs every row."""
        return tuple(row[key] for table in sorted(self.names) for key in self.keys[table])
