"""Say of each column what its cells are, what is asked about it, and what is not and why."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.databases.columns import Column
from tasks.databases.profile.kinds import ColumnProfile
from tasks.grammar.construct.sql_rules import fits_placeholder, has_mean, has_order

INTRODUCTION = (
    "What the cells of each column are, whatever type it was declared with. Cells that count as no value are "
    "NULL in every query. The examples are cells: they are on this page alone, and in no prompt. Where a "
    "kind is wrong, set another one in databases.{database}.columns."
)


def describe_columns(profiles: Sequence[ColumnProfile], schema: Sequence[Column]) -> list[tuple[str, str]]:
    """Describe every profiled column: its id, and its kind, counts, uses and examples in a few sentences."""
    known = {column.id: column for column in schema}
    return [
        (profile.id, _describe(profile, known[profile.id])) for profile in profiles if profile.id in known
    ]


def _describe(profile: ColumnProfile, column: Column) -> str:
    counts = [f"{profile.rows - profile.nulls:,} of {profile.rows:,} cells filled"]
    if profile.distinct is not None:
        counts.append(f"{profile.distinct:,} distinct")
    if profile.undecodable:
        counts.append(f"{profile.undecodable:,} not valid UTF-8, in no question or answer")
    if profile.look_alikes:
        counts.append(f"{profile.look_alikes:,} look like another one, and name nothing")
    parts = [f"{profile.kind} ({', '.join(counts)})", _list_uses(column)]
    if profile.why:
        parts.append(profile.why)
    if profile.examples:
        parts.append(f"for instance {', '.join(map(repr, profile.examples))}")
    return "; ".join(parts)


def _list_uses(column: Column) -> str:
    if column.references or (column.primary_key and not column.descriptive):
        return "a key: it joins, and nobody asks about it"
    if not column.descriptive:
        return "nobody asks about it"
    uses = [
        ("asked for", True),
        ("given", fits_placeholder(column)),
        ("ranked", has_order(column)),
        ("bounded", has_order(column)),
        ("averaged", has_mean(column)),
    ]
    done = [words for words, holds in uses if holds]
    not_done = [words for words, holds in uses if not holds]
    *others, last = not_done or [""]
    left = f"{', '.join(others)} or {last}" if others else last
    return ", ".join(done) + (f"; not {left}" if left else "")
