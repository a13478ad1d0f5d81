"""Stage: collect the facts about entities; each entity gets one document.

An entity is a row of a table that `entities` lists for the database. For an assessed database without an
entry in `entities`, an entity is a row of a table that questions ask about. The facts are the columns of the
entity's row, and of the rows that this row refers to, directly or through a link table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Self

from pydantic import Field
from sqlglot import exp

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.profile.readings import apply_readings, list_readings
from tasks.databases.rendering import name_kinds, write_plain
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.names import name_table
from tasks.grammar.construct.pairs import Question, take_turns
from tasks.grammar.construct.queries import DIALECT, FilledSql, Query, build_select, table_of
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.entities import COLLECTION, EntityProfile, ProfileFact
from tasks.grammar.corpus.entity_tables import (
    Attribute,
    EntityTable,
    Key,
    find_untold,
    make_count_id,
    make_fact_id,
    open_entity_table,
    read_values,
)
from tasks.grammar.corpus.natural_keys import MOST, RowNames, name_rows
from tasks.grammar.corpus.plain_patterns import make_plural
from tasks.settings import Settings

LEAST_COUNT = 10
"""Documents state only counts greater than this number, because questions may ask for the rows behind a
smaller count."""
Totals = Mapping[tuple[Attribute, str], int]
"""The number of rows of the entity table, by (attribute, value)."""


class Profiles(Settings):
    """The settings in params.yaml under `grammar.profiles`."""

    entities: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """The tables with one document per row, by database. An assessed database without an entry uses
    the tables that its questions ask about; other databases have no documents."""
    count: int | None = Field(default=None, ge=1)
    """The maximum number of entities per table; null means all rows. Entities that the balanced set's groups
    need come first, in a seeded order."""
    documents_per_group: int = Field(default=6, ge=1)
    """The maximum number of documents that a group's answer may need.

    If `count` is set, groups that need more documents are skipped.
    """
    documents_of: Mapping[str, int] = Field(default_factory=dict)
    """The value of `documents_per_group` for individual databases. Set a low value for systems that retrieve
    few documents."""
    counts: int = Field(default=4, ge=0)
    """The maximum number of counts per entity, such as `the database has 152 films with the genre Drama`.
    Counts must exceed `documents_per_group` and 10, so that no count in a document answers a question."""
    natural_keys: bool = True
    """Whether rows without a unique name get a natural key as their name, such as title and year. If false,
    rows are named by the name column or the primary key, as in earlier documents."""
    values: int = Field(default=12, ge=1)
    """The maximum number of values in a fact; facts with more values are dropped."""
    seed: int = 0
    """The seed for sampling groups, counts, and entities that no group needs."""
    limits: QueryLimits = QueryLimits()
    """The limits of each query."""

    def select(self, database: str) -> Self:
        """Return the parameters with the database's value of `documents_per_group`."""
        most = self.documents_of.get(database, self.documents_per_group)
        return self.model_copy(update={"documents_per_group": most})


def profiles(
    balanced: list[Question],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    settings: Mapping[str, object],
    params: Profiles,
) -> Drafts[EntityProfile]:
    """Collect the facts about the entities that the balanced set's groups need (GRAMMAR, section 5.1).

    `settings` contains the settings under `assessments`, by dotted name. Drop reasons are `many_values` for
    facts and `not_assessed` for a database. The drop reasons for a table are `no_primary_key` (no key
    identifies the rows that questions ask about) and `no_natural_key` (some rows have no unique name). The
    dropped rows `many_documents` and `no_room` state how many groups of a SQL template get no documents.
    """
    params = params.select(database.name)
    rows: list[EntityProfile] = []
    dropped: list[Dropped] = []
    names: Sequence[str] = params.entities.get(database.name, ())
    if database.name not in params.entities:
        if is_assessed(database.name, settings):
            names, dropped = choose_tables(balanced, sql_templates, schema)
        else:
            dropped = [
                Dropped(
                    make_id("entity_table", database.name),
                    "not_assessed",
                    f"no assessment uses {database.name}: add one with `benchloom add system NAME --database "
                    f"{database.name}`, or name tables in grammar.profiles.entities",
                    (Origin("file", "params.yaml"),),
                )
            ]
    tables = [open_entity_table(database.name, name, schema) for name in names]
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        needs = read_needs(tables, balanced, sql_templates, schema, safe)
        chosen, left_out = choose_keys(needs, balanced, params)
        dropped += left_out
        for table in tables:
            table_rows, table_dropped = profile_table(table, chosen[table.table], safe, params)
            rows += table_rows
            dropped += table_dropped
    return Drafts(rows, dropped)


def is_assessed(database: str, settings: Mapping[str, object]) -> bool:
    """Return whether an assessment uses a database. `settings` contains settings by dotted name."""
    return any(
        name.startswith("assessments.") and name.count(".") == 2 and name.endswith(".database")
        for name, value in settings.items()
        if value == database
    )


def choose_tables(
    questions: Iterable[Question], templates: Iterable[SqlTemplate], schema: Sequence[Column]
) -> tuple[list[str], list[Dropped]]:
    """Return the sorted tables that questions ask about, and a dropped row per table without a primary key.

    Tables without a primary key are not in the sorted tables.
    """
    wanted = {question.sql_template for question in questions}
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for template in templates:
        if template.id in wanted:
            for column in template.projection:
                asked[table_of(column)].add(f"sql_templates#{template.id}")
    keyed = {column.table for column in schema if column.primary_key}
    dropped = [
        Dropped(
            make_id("entity_table", table),
            "no_primary_key",
            f"{table}: no key distinguishes its rows",
            tuple(Origin("row", reference) for reference in sorted(references)),
        )
        for table, references in sorted(asked.items())
        if table not in keyed
    ]
    return sorted(keyed.intersection(asked)), dropped


Needs = Mapping[str, Mapping[str, Collection[Key]]]


"""The keys of the rows that an answer comes from, by group and table."""


def read_needs(
    tables: Sequence[EntityTable],
    questions: Iterable[Question],
    templates: Iterable[SqlTemplate],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> Needs:
    """Return, for each group, the rows of the entity tables that the group's answer comes from.

    SQL templates whose columns cannot all be in documents about these tables are skipped.
    """
    wanted: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for question in questions:
        wanted[question.sql_template][question.sql] = question.group
    needs: defaultdict[str, defaultdict[str, set[Key]]] = defaultdict(lambda: defaultdict(set))
    for template in templates:
        query = read_stored(template.sql, schema)
        # There are no documents yet, so every attribute counts as stated, with one value.
        if find_untold(query, tables, lambda *_: 1):
            continue
        for table in tables:
            if table.table in query.tables:
                for group, keys in read_keys(query, table.table, wanted[template.id], schema, safe):
                    needs[group][table.table].update(keys)
    return needs


def choose_keys(
    needs: Needs, questions: Iterable[Question], params: Profiles
) -> tuple[Mapping[str, set[Key]], list[Dropped]]:
    """Return the keys of up to `params.count` rows per table, and dropped rows for the skipped groups.

    A group is skipped if it needs more than `params.documents_per_group` rows, or if its rows exceed
    `params.count`. The second result has one row per SQL template and reason. If `params.count` is None, the
    second result is empty, because the profiles include every row.
    """
    template_of = {question.group: question.sql_template for question in questions}
    groups = take_turns(
        sorted(needs, key=lambda group: make_id("profiled", params.seed, group)), template_of.__getitem__
    )
    chosen: defaultdict[str, set[Key]] = defaultdict(set)
    passed: Counter[tuple[str, str]] = Counter()
    for group in groups:
        if sum(map(len, needs[group].values())) > params.documents_per_group:
            passed[template_of[group], "many_documents"] += 1
        elif params.count is not None and any(
            len(chosen[table] | set(keys)) > params.count for table, keys in needs[group].items()
        ):
            passed[template_of[group], "no_room"] += 1
        else:
            for table, keys in needs[group].items():
                chosen[table].update(keys)
    totals = Counter(template_of[group] for group in needs)
    dropped = [
        Dropped(
            make_id("profiles", template, reason),
            reason,
            f"SQL template {template}: {count} of {totals[template]} groups",
            (Origin("row", f"sql_templates#{template}"),),
        )
        for (template, reason), count in sorted(passed.items())
        if params.count is not None  # otherwise every row is used
    ]
    return chosen, dropped


def profile_table(
    table: EntityTable, needed: Collection[Key], safe: SafeDatabase, params: Profiles
) -> tuple[list[EntityProfile], list[Dropped]]:
    """Return profiles of the needed rows of a table, and of other random rows, up to `params.count`."""
    values_by_key: defaultdict[Key, list[tuple[Attribute, list[str]]]] = defaultdict(list)
    for attribute in table.attributes:
        for key, values in read_values(attribute, table.primary, table.schema, safe):
            values_by_key[key].append((attribute, values))
    ranked = sorted(values_by_key, key=lambda key: (key not in needed, make_id(params.seed, key)))
    totals = count_values(table, values_by_key)
    found = name_rows(table, values_by_key, natural_keys=params.natural_keys)
    made = [
        _make_profile(table, key, found, values_by_key[key], totals, params) for key in ranked[: params.count]
    ]
    dropped = [row for _, drops in made for row in drops]
    if found.alike:
        origin = (Origin("evidence", f"{table.database}.{table.table}"),)
        told = f"{table.table}: {found.alike} of {len(ranked)} rows are not distinguished by {MOST} columns"
        dropped.append(Dropped(make_id("natural_key", table.table), "no_natural_key", told, origin))
    return [profile for profile, _ in made], dropped


def _make_profile(
    table: EntityTable,
    key: Key,
    row_names: RowNames,
    attributes: Sequence[tuple[Attribute, list[str]]],
    totals: Totals,
    params: Profiles,
) -> tuple[EntityProfile, list[Dropped]]:
    key_texts = tuple(write_plain(part) for part in key)
    origin = (Origin("evidence", f"{table.database}.{table.table}#{','.join(key_texts)}"),)
    kind, profile_id = name_table(table.table, table.schema), make_id("document", table.table, key_texts)
    name = row_names.names[key]
    facts, dropped, kinds = [], [], name_kinds(table.schema)
    for attribute, values in attributes:
        fact_id = make_fact_id(profile_id, attribute)
        if len(values) > params.values:
            detail = f"{attribute.words} of {name}: {len(values)} values, more than {params.values}"
            dropped.append(Dropped(fact_id, "many_values", detail, origin))
        elif attribute.column != table.naming:
            sql = write_fact_query(table, attribute, key)
            facts.append(
                ProfileFact(fact_id, name, attribute.words, tuple(values), sql, kinds[attribute.column])
            )
    least = max(params.documents_per_group, LEAST_COUNT)
    told = [(attribute, values) for attribute, values in attributes if len(values) <= params.values]
    counts = choose_counts(table, told, totals, least, (params.seed, profile_id))[: params.counts]
    facts += [make_count(table, kind, profile_id, *count) for count in counts]
    in_name = (attribute for attribute in row_names.natural_key if not attribute.joins)
    named = tuple(make_fact_id(profile_id, attribute) for attribute in in_name)
    profile = EntityProfile(profile_id, table.table, key_texts, kind, name, tuple(facts), origin, named)
    return profile, dropped


def count_values(
    table: EntityTable, values_by_key: Mapping[Key, Sequence[tuple[Attribute, Sequence[str]]]]
) -> Totals:
    """Count the rows per value of each text or year attribute, except the name column."""
    types = {column.id: column.type for column in table.schema}
    return Counter(
        (attribute, value)
        for attributes in values_by_key.values()
        for attribute, values in attributes
        if types[attribute.column] == "text" or _is_year(attribute, types[attribute.column])
        for value in values
        if attribute.column != table.naming
    )


def choose_counts(
    table: EntityTable,
    attributes: Sequence[tuple[Attribute, Sequence[str]]],
    totals: Totals,
    least: int,
    key: tuple[object, ...],
) -> list[tuple[Attribute, str, int]]:
    """Return (attribute, value, row count) for at most one value per attribute, in a seeded order.

    Values are returned only if more than `least` rows have the value. If the table has a composite key, the
    list is empty.
    """
    if len(table.primary) > 1:
        return []
    found = []
    for attribute, values in attributes:
        shared = [(value, totals.get((attribute, value), 0)) for value in values]
        if many := [(value, total) for value, total in shared if total > least]:
            value, total = min(many, key=lambda pair: make_id(*key, attribute.column, pair[0]))
            found.append((attribute, value, total))
    return sorted(found, key=lambda pair: make_id(*key, pair[0].column, pair[0].joins))


def make_count(
    table: EntityTable, kind: str, profile: str, attribute: Attribute, value: str, total: int
) -> ProfileFact:
    """Return a fact about the number of rows with a value, with the query that counts the rows."""
    column = next(column for column in table.schema if column.id == attribute.column)
    typed = int(value) if column.type == "integer" else value
    query = Query(table.primary, attribute.joins, (attribute.column,))
    select = apply_readings(build_select(query, {attribute.column: typed}), list_readings(table.schema))
    rows = exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("found")))
    sql = exp.select(exp.Count(this=exp.Star())).from_(rows).sql(dialect=DIALECT)
    words = f"number of {make_plural(kind)} with the {attribute.words} {value}"
    row = make_count_id(profile, attribute.column, attribute.joins, value)
    return ProfileFact(row, COLLECTION, words, (str(total),), sql)


def write_fact_query(table: EntityTable, attribute: Attribute, key: Key) -> str:
    """Write the query that returns one row's values of an attribute."""
    values = {column: value for column, value in zip(table.primary, key, strict=True) if value is not None}
    query = Query((attribute.column,), attribute.joins, tuple(sorted(table.primary)))
    readings = tuple(list_readings(table.schema).items())
    return _prepare(query, readings).write([values[column] for column in query.placeholders])


@lru_cache(maxsize=1024)
def _prepare(query: Query, readings: tuple[tuple[str, str], ...]) -> FilledSql:
    return FilledSql(query, dict(readings))


def _is_year(attribute: Attribute, type_name: str) -> bool:
    return type_name == "integer" and attribute.words.split()[-1] == "year"
