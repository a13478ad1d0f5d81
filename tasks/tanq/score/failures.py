"""Kinds of failure of Table 11 that a rule can tell (section 5.6)."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.tanq.build.skill_table import FILTERS
from tasks.tanq.rows import TanqItem
from tasks.tanq.score.rows import (
    FAILURES,
    FILTER_IGNORED,
    MISSING_ENTITY,
    MISSING_RELATION,
    NO_HEADER,
    NOT_A_TABLE,
    PARTIAL_CELL,
    UNREQUESTED_RELATION,
    WRONG_CELL,
)
from tasks.tanq.score.table_match import PARTIAL, WRONG, TableMatch


def find_failures(item: TanqItem, match: TableMatch | None) -> tuple[str, ...]:
    """List the failures of a reply in Table 11's order. match: of its table, None if it has none."""
    if match is None:
        return (NOT_A_TABLE,)
    found = set(_find(item, match))
    return tuple(kind for kind in FAILURES if kind in found)


def is_filtered(item: TanqItem) -> bool:
    """Tell whether a question has a filter."""
    return any(skill.name in FILTERS for skill in item.skills)


def ignores_filter(item: TanqItem, match: TableMatch) -> bool:
    """Tell whether a table has an entity that fails the question's filter."""
    return any(places and not row.filter_pass for row, places in zip(item.rows, match.entities, strict=True))


def _find(item: TanqItem, match: TableMatch) -> Iterator[str]:
    passing = [number for number, row in enumerate(item.rows) if row.filter_pass]
    if None in match.columns:
        yield MISSING_RELATION
    if not match.head:
        yield NO_HEADER
    if ignores_filter(item, match):
        yield FILTER_IGNORED
    if match.unrequested:
        yield UNREQUESTED_RELATION
    if any(not match.entities[number] for number in passing):
        yield MISSING_ENTITY
    states = {state for number in passing for state in match.cells[number]}
    if PARTIAL in states:
        yield PARTIAL_CELL
    if WRONG in states:
        yield WRONG_CELL
