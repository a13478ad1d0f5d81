"""Read the values of the columns that describe entities, to find what a document must not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.grammar.corpus.entities import EntityProfile
from tasks.grammar.corpus.entity_tables import open_entity_table, read_distinct_values
from tasks.grammar.corpus.sentence_rules import Ground, KnownValues


def ground_profiles(
    database: str, profiles: Iterable[EntityProfile], schema: Sequence[Column], safe: SafeDatabase
) -> dict[str, Ground]:
    """Make the ground that each profile's document stands on, by the profile's id. Raises SqlError."""
    profiles = list(profiles)
    known = read_known_values(database, (profile.table for profile in profiles), schema, safe)
    return {
        profile.id: Ground(profile.kind, (profile.name,), profile.facts, known[profile.table])
        for profile in profiles
    }


def read_known_values(
    database: str, tables: Iterable[str], schema: Sequence[Column], safe: SafeDatabase
) -> Mapping[str, KnownValues]:
    """Read all values of all attributes of some entity tables, but the rows' own names, by table.

    Numbers are left out: `KnownValues` finds only what has a letter.
    """
    numbers = {column.id for column in schema if column.type in {"integer", "real"}}
    found = {}
    for name in sorted(set(tables)):
        table = open_entity_table(database, name, schema)
        found[name] = KnownValues(
            {
                attribute.words: read_distinct_values(attribute, schema, safe)
                for attribute in table.attributes
                if attribute.column != table.naming and attribute.column not in numbers
            }
        )
    return found
