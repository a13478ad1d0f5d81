"""Stage: collect the facts of the entities that questions are asked about, for a document each.

An entity is a row of one of the tables that `entities` lists for a database or, where it lists none and an
assessment asks about that database, of a table that questions ask about. Its facts are its own columns and
those of the rows that it refers to, directly or through a link table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.grammar.construct.fill_in import format_value
from tasks.grammar.construct.names import name_table
from tasks.grammar.construct.queries import table_of
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.corpus.entities import EntityProfile, Fact
from tasks.grammar.corpus.entity_tables import (
    Attribute,
    EntityTable,
    Key,
    open_entity_table,
    read_values,
)
from tasks.grammar.rows import Question, SqlTemplate


class Profiles(BaseModel):
    """`grammar.profiles` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entities: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Database -> tables whose rows get a document each. For a database without an entry that an assessment
    names, the tables that questions ask about; for any other there is no corpus."""
    count: int | None = Field(default=None, ge=1)
    """Maximum number of entities per table, those asked about by most groups of the balanced set first;
    null = all rows."""
    values: int = Field(default=4, ge=1)
    """A fact with more values than this (a cast of forty) is left out, and counted."""
    seed: int = 0
    """Decides among entities that equally many groups ask about."""
    limits: QueryLimits = QueryLimits()


def profiles(
    balanced: list[Question],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    settings: Mapping[str, object],
    params: Profiles,
) -> Drafts[EntityProfile]:
    """Collect the facts of the entities that the balanced set asks about most (GRAMMAR, section 5.1).

    settings: `assessments`, dotted name -> value. Drop reasons: `many_values` of a fact, `no_primary_key` of
    a table that questions ask about and whose rows nothing tells apart.
    """
    rows: list[EntityProfile] = []
    dropped: list[Dropped] = []
    names: Sequence[str] = params.entities.get(database.name, ())
    if database.name not in params.entities and is_assessed(database.name, settings):
        names, dropped = choose_tables(balanced, sql_templates, schema)
    tables = [open_entity_table(database.name, name, schema) for name in names]
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        for table in tables:
            counts = count_groups(table.table, balanced, sql_templates, schema, safe)
            table_rows, table_dropped = profile_table(table, counts, safe, params)
            rows += table_rows
            dropped += table_dropped
    return Drafts(rows, dropped)


def is_assessed(database: str, settings: Mapping[str, object]) -> bool:
    """Tell whether an assessment asks about a database. settings: `assessments`, dotted name -> value."""
    return any(
        name.startswith("assessments.") and name.count(".") == 2 and name.endswith(".database")
        for name, value in settings.items()
        if value == database
    )


def choose_tables(
    questions: Iterable[Question], templates: Iterable[SqlTemplate], schema: Sequence[Column]
) -> tuple[list[str], list[Dropped]]:
    """Choose the tables with a column that questions ask for, sorted; those without a primary key drop."""
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
            f"{table}: nothing tells its rows apart",
            tuple(Origin("row", reference) for reference in sorted(references)),
        )
        for table, references in sorted(asked.items())
        if table not in keyed
    ]
    return sorted(keyed.intersection(asked)), dropped


def count_groups(
    table: str,
    questions: Iterable[Question],
    templates: Iterable[SqlTemplate],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> Counter[Key]:
    """Count, for each row of a table, the semantic groups whose answers come from it."""
    wanted = {question.group for question in questions}
    counts: Counter[Key] = Counter()
    for template in templates:
        query = read_template(template.sql, schema)
        if table in query.tables:
            for group, keys in read_keys(query, table, schema, safe):
                if group in wanted:
                    counts.update(keys)
    return counts


def profile_table(
    table: EntityTable, counts: Counter[Key], safe: SafeDatabase, params: Profiles
) -> tuple[list[EntityProfile], list[Dropped]]:
    """Choose rows of one table and collect their facts."""
    values_by_key: defaultdict[Key, list[tuple[Attribute, list[str]]]] = defaultdict(list)
    for attribute in table.attributes:
        for key, values in read_values(attribute, table.primary, table.schema, safe):
            values_by_key[key].append((attribute, values))
    chosen = choose_keys(values_by_key, counts, params)
    made = [_make_profile(table, key, values_by_key[key], params.values) for key in chosen]
    return [profile for profile, _ in made], [row for _, dropped in made for row in dropped]


def choose_keys(keys: Iterable[Key], counts: Mapping[Key, int], params: Profiles) -> list[Key]:
    """Choose the rows that most groups ask about, ties by a seeded hash; all if `params.count` is null."""
    ranked = sorted(keys, key=lambda key: (-counts.get(key, 0), make_id(params.seed, key)))
    return ranked[: params.count]


def _make_profile(
    table: EntityTable, key: Key, attributes: Sequence[tuple[Attribute, list[str]]], most: int
) -> tuple[EntityProfile, list[Dropped]]:
    key_texts = tuple(format_value(part) for part in key)
    origin = (Origin("evidence", f"{table.database}.{table.table}#{','.join(key_texts)}"),)
    kind, profile_id = name_table(table.table, table.schema), make_id("document", table.table, key_texts)
    names = [values[0] for attribute, values in attributes if attribute.column == table.naming]
    name = names[0] if names else f"{kind} {', '.join(key_texts)}"
    facts, dropped = [], []
    for attribute, values in attributes:
        fact_id = make_id("fact", profile_id, attribute.column, attribute.joins)
        if len(values) > most:
            detail = f"{attribute.words} of {name}: {len(values)} values, more than {most}"
            dropped.append(Dropped(fact_id, "many_values", detail, origin))
        elif attribute.column != table.naming:
            facts.append(Fact(fact_id, name, attribute.words, tuple(values)))
    return EntityProfile(profile_id, table.table, key_texts, kind, name, tuple(facts), origin), dropped
