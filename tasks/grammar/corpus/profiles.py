"""Stage: the things that questions are asked about, each with its facts, to be told in a document.

A thing is a row of one of the tables that `entities` names for a database. Its facts are its own
columns and those of the rows that it refers to, directly or through a table of links.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.dialects import translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.values import Value
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import format_value
from tasks.grammar.construct.names import NAMES, name_column, name_column_with_unit, name_relation, name_table
from tasks.grammar.construct.queries import Query, table_of, write_combinations
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.verbalisation import find_relations
from tasks.grammar.corpus.entities import Fact, Profile
from tasks.grammar.rows import Question, SqlTemplate

Key = tuple[Value, ...]


class Profiles(BaseModel):
    """`grammar.profiles` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entities: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Database -> tables whose rows get a document each; a database without an entry has no corpus."""
    count: int | None = Field(default=None, ge=1)
    """Most things of a table: those that most groups of the balanced set ask about; null = all rows."""
    values: int = Field(default=4, ge=1)
    """A fact with more values than this (a cast of forty) is left out, and counted."""
    seed: int = 0
    """Draws among things that equally many groups ask about."""
    limits: QueryLimits = QueryLimits()


@dataclass(frozen=True)
class Attribute:
    """One column told about each row of an entity's table."""

    column: str
    words: str
    joins: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Source:
    """A table whose rows get a document each."""

    database: str
    table: str
    schema: Sequence[Column]
    primary: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    naming: str | None
    """The column that a row is called by; None where only its key tells it."""


def profiles(
    balanced: list[Question],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    database: DatabaseEntry,
    params: Profiles,
) -> Drafts[Profile]:
    """Collect the facts of the things that the balanced set asks about most (GRAMMAR, section 5.1)."""
    rows: list[Profile] = []
    dropped: list[Dropped] = []
    sources = [open_source(database.name, each, schema) for each in params.entities.get(database.name, ())]
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        for source in sources:
            asked = count_groups(source.table, balanced, sql_templates, schema, safe)
            made, left = profile_table(source, asked, safe, params)
            rows += made
            dropped += left
    return Drafts(rows, dropped)


def open_source(database: str, table: str, schema: Sequence[Column]) -> Source:
    """Look a table up. Raises BadInput where it is not there, or has no key to name its rows by."""
    place = f"params.yaml: grammar.profiles.entities.{database}"
    tables = sorted({column.table for column in schema})
    if table not in tables:
        raise BadInput(place, f"no table {table!r} (there are {', '.join(tables)})")
    primary = tuple(column.id for column in schema if column.table == table and column.primary_key)
    if not primary:
        raise BadInput(place, f"the table {table!r} has no primary key to name its rows by")
    attributes = tuple(list_attributes(table, schema))
    return Source(database, table, schema, primary, attributes, find_naming(table, attributes))


def count_groups(
    table: str,
    questions: Iterable[Question],
    templates: Iterable[SqlTemplate],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> Counter[Key]:
    """Count the semantic groups that each row of a table takes part in."""
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
    source: Source, asked: Counter[Key], safe: SafeDatabase, params: Profiles
) -> tuple[list[Profile], list[Dropped]]:
    """Tell the facts of the rows of one table that are chosen."""
    facts: defaultdict[Key, list[tuple[Attribute, list[str]]]] = defaultdict(list)
    for attribute in source.attributes:
        for key, values in read_values(attribute, source.primary, source.schema, safe):
            facts[key].append((attribute, values))
    chosen = choose_keys(facts, asked, params)
    told = [_profile(source, key, facts[key], params.values) for key in chosen]
    return [profile for profile, _ in told], [each for _, left in told for each in left]


def choose_keys(keys: Iterable[Key], asked: Mapping[Key, int], params: Profiles) -> list[Key]:
    """Take the rows that most groups ask about, ties by a seeded hash; all where no count is set."""
    ranked = sorted(keys, key=lambda key: (-asked.get(key, 0), make_id(params.seed, key)))
    return ranked[: params.count]


def list_attributes(table: str, schema: Sequence[Column]) -> Iterator[Attribute]:
    """List what is told about a table's rows: own columns first, then those of rows it leads to."""
    for column in schema:
        if column.table == table and column.descriptive:
            yield Attribute(column.id, name_column_with_unit(column.id), ())
    for ends, keys in find_relations(schema):
        if table not in ends or (len(keys) == 1 and ends[0] != table):
            continue
        other = ends[1] if ends[0] == table else ends[0]
        own = name_relation(keys)
        words = " ".join(own if own and len(keys) > 1 else [*own, name_table(other)])
        joins = tuple(tuple(sorted((key.id, key.references or ""))) for key in keys)
        for column in schema:
            if column.table == other and column.descriptive:
                named = name_column(column.id).split()[-1] in NAMES
                yield Attribute(
                    column.id,
                    words if named else f"{name_column_with_unit(column.id)} of the {words}",
                    tuple(sorted((one, two) for one, two in joins)),
                )


def find_naming(table: str, attributes: Sequence[Attribute]) -> str | None:
    """Find the column that a row is called by; None where only its key tells it."""
    own = [each.column for each in attributes if table_of(each.column) == table]
    return next((each for each in own if name_column(each).split()[-1] in NAMES), None)


def read_values(
    attribute: Attribute, primary: Sequence[str], schema: Sequence[Column], safe: SafeDatabase
) -> Iterator[tuple[Key, list[str]]]:
    """Read a column for every row of a table that has it: the row's key, and the distinct values."""
    query = Query((attribute.column,), attribute.joins, tuple(sorted(primary)))
    order = [sorted(primary).index(each) for each in primary]
    found: defaultdict[Key, set[str]] = defaultdict(set)
    for batch in safe.stream(translate(write_combinations(query), safe.dialect, schema)):
        for row in batch:
            if row[-1] not in (None, ""):
                found[tuple(row[place] for place in order)].add(format_value(row[-1]))
    for key, values in found.items():
        yield key, sorted(values)


def _profile(
    source: Source, key: Key, told: Sequence[tuple[Attribute, list[str]]], most: int
) -> tuple[Profile, list[Dropped]]:
    said = tuple(format_value(part) for part in key)
    origin = (Origin("evidence", f"{source.database}.{source.table}#{','.join(said)}"),)
    kind, place = name_table(source.table), make_id("document", source.table, said)
    names = [values[0] for attribute, values in told if attribute.column == source.naming]
    name = names[0] if names else f"{kind} {', '.join(said)}"
    facts, dropped = [], []
    for attribute, values in told:
        fact = Fact(
            make_id("fact", place, attribute.column, attribute.joins), name, attribute.words, tuple(values)
        )
        if len(values) > most:
            detail = f"{attribute.words} of {name}: {len(values)} values, more than {most}"
            dropped.append(Dropped(fact.id, "many_values", detail, origin))
        elif attribute.column != source.naming:
            facts.append(fact)
    return Profile(place, source.table, said, kind, name, tuple(facts), origin), dropped
