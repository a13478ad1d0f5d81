"""Kinds of failure of Table 11 that a rule can tell (section 5.6)."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.tanq.build.skill_use import FILTERS
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.labels import CellState, Failure
from tasks.tanq.score.table_match import TableMatch


def find_failures(item: TanqItem, match: TableMatch | None) -> tuple[Failure, ...]:
    """List the failures of a reply in Table 11's order. match: of its table, None if it has none."""
    if match is None:
        return (Failure.NOT_A_TABLE,)
    found = set(_find(item, match))
    return tuple(kind for kind in Failure if kind in found)


def is_filtered(item: TanqItem) -> bool:
    """Tell whether a question has a filter."""
    return any(skill.name in FILTERS for skill in item.skills)


def ignores_filter(item: TanqItem, match: TableMatch) -> bool:
    """Tell whether a table has an entity that fails the question's filter."""
    return any(places and not row.filter_pass for row, places in zip(item.rows, match.entities, strict=True))


def _find(item: TanqItem, match: TableMatch) -> Iterator[Failure]:
    passing = [number for number, row in enumerate(item.rows) if row.filter_pass]
    if None in match.columns:
        yield Failure.MISSING_RELATION
    if not match.head:
        yield Failure.NO_HEADER
    if ignores_filter(item, match):
        yield Failure.FILTER_IGNORED
    if match.unrequested:
        yield Failure.UNREQUESTED_RELATION
    if any(not match.entities[number] for number in passing):
        yield Failure.MISSING_ENTITY
    states = {state for number in passing for state in match.cells[number]}
    if CellState.PARTIAL in states:
        yield Failure.PARTIAL_CELL
    if CellState.WRONG in states:
        yield Failure.WRONG_CELL
