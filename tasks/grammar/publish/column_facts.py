"""Describe each column for the dataset's page: the cells, and the column's uses in questions."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.databases.columns import Column
from tasks.databases.profile.kinds import ColumnProfile
from tasks.grammar.construct.sql_rules import fits_placeholder, has_mean, has_order

INTRODUCTION = (
    "The kind of value in each column comes from its cells, not from its declared type. Cells that mean “no "
    "value” are NULL in every query. The examples are values from the database. They appear only on this "
    "page, never in a prompt. If the kind of a column is wrong, set the correct kind in "
    "databases.{database}.columns in params.yaml."
)


def describe_columns(profiles: Sequence[ColumnProfile], schema: Sequence[Column]) -> list[tuple[str, str]]:
    """Return the id and a description of every profiled column, with its kind, counts, uses and examples."""
    known = {column.id: column for column in schema}
    return [
        (profile.id, _describe(profile, known[profile.id])) for profile in profiles if profile.id in known
    ]


def _describe(profile: ColumnProfile, column: Column) -> str:
    counts = [f"{profile.rows - profile.nulls:,} of {profile.rows:,} cells filled"]
    if profile.distinct is not None:
        counts.append(f"{profile.distinct:,} distinct")
    if profile.undecodable:
        counts.append(f"{profile.undecodable:,} not valid UTF-8, so never used in questions or answers")
    if profile.look_alikes:
        counts.append(f"{profile.look_alikes:,} too similar to another value to fill a placeholder")
    parts = [f"{profile.kind} ({', '.join(counts)})", _list_uses(column)]
    if profile.why:
        parts.append(profile.why)
    if profile.examples:
        parts.append(f"examples: {', '.join(map(repr, profile.examples))}")
    return "; ".join(parts)


def _list_uses(column: Column) -> str:
    if column.references or (column.primary_key and not column.descriptive):
        return "a key, used only in joins"
    if not column.descriptive:
        return "not used in questions"
    uses = [
        ("answers", True),
        ("conditions", fits_placeholder(column)),
        ("rankings", has_order(column)),
        ("ranges", has_order(column)),
        ("averages", has_mean(column)),
    ]
    done = [words for words, holds in uses if holds]
    not_done = [words for words, holds in uses if not holds]
    *others, last = not_done or [""]
    left = f"{', '.join(others)} or {last}" if others else last
    return f"used for {', '.join(done)}" + (f"; not used for {left}" if left else "")
