"""Use rules to detect failures of tables and faults of the open agent (TANQ, sections 5.6 and 5.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tasks.tanq.build.skill_use import FILTERS
from tasks.tanq.build.tanq_item import ItemThing, TanqItem
from tasks.tanq.graph.seed_question import COMPOSITION, INTERSECTION
from tasks.tanq.labels import AgentFault, CellState, FailureKind
from tasks.tanq.score.same_values import fold, is_nothing, is_same_name, simplify
from tasks.tanq.score.table_match import TableMatch
from tasks.tanq.solve.open_replies import SUB_TASK
from tasks.tanq.solve.prediction import UNREAD, Prediction

OWN_WORDS = frozenset({"", SUB_TASK, UNREAD})
"""Values of `tool` in steps whose result is not the output of a tool."""


def find_failures(item: TanqItem, match: TableMatch | None) -> tuple[FailureKind, ...]:
    """List the failures of a reply in the order of TANQ's Table 11.

    match: the match of the reply's table with the answer; None if the reply has no table.
    """
    if match is None:
        return (FailureKind.NOT_A_TABLE,)
    found = set(_find_kinds(item, match))
    return tuple(kind for kind in FailureKind if kind in found)


def is_filtered(item: TanqItem) -> bool:
    """Return whether a question has a filter."""
    return any(skill.name in FILTERS for skill in item.skills)


def ignores_filter(item: TanqItem, match: TableMatch) -> bool:
    """Return whether a table contains an entity that fails the question's filter."""
    return any(places and not row.filter_pass for row, places in zip(item.rows, match.entities, strict=True))


def _find_kinds(item: TanqItem, match: TableMatch) -> Iterator[FailureKind]:
    passing = [number for number, row in enumerate(item.rows) if row.filter_pass]
    if None in match.columns:
        yield FailureKind.MISSING_RELATION
    if not match.head:
        yield FailureKind.NO_HEADER
    if ignores_filter(item, match):
        yield FailureKind.FILTER_IGNORED
    if match.unrequested:
        yield FailureKind.UNREQUESTED_RELATION
    if any(not match.entities[number] for number in passing):
        yield FailureKind.MISSING_ENTITY
    states = {state for number in passing for state in match.cells[number]}
    if CellState.PARTIAL in states:
        yield FailureKind.PARTIAL_CELL
    if CellState.WRONG in states:
        yield FailureKind.WRONG_CELL


def find_faults(item: TanqItem, prediction: Prediction, match: TableMatch | None) -> tuple[AgentFault, ...]:
    """List the faults of the open agent in the order of section 5.7 of the TANQ paper.

    match: the match of the reply's table with the answer; None if the reply has no table.
    """
    if match is None:
        return (AgentFault.MALFORMED_TABLE,)
    found = set(_find_faults(item, prediction, match))
    return tuple(fault for fault in AgentFault if fault in found)


def can_have(item: TanqItem) -> Mapping[AgentFault, bool]:
    """Map each fault to whether the rules can detect this fault in replies to an item.

    - `ONE_CONDITION`: only for intersections where the entities that meet only one condition are known.
    - `INTERMEDIATES_LISTED`: only for compositions whose intermediate entities are known.
    - `FILTER_IGNORED`: only for questions with a filter.

    All other faults can be detected in every reply.
    """
    return {
        **dict.fromkeys(AgentFault, True),
        AgentFault.ONE_CONDITION: item.kind == INTERSECTION and bool(item.near),
        AgentFault.INTERMEDIATES_LISTED: item.kind == COMPOSITION and bool(item.intermediates),
        AgentFault.FILTER_IGNORED: is_filtered(item),
    }


def _find_faults(item: TanqItem, prediction: Prediction, match: TableMatch) -> Iterator[AgentFault]:
    if ends_search(item, prediction, match):
        yield AgentFault.SEARCH_ENDED
    if is_malformed(match):
        yield AgentFault.MALFORMED_TABLE
    if lacks_attributes(item, match):
        yield AgentFault.ATTRIBUTES_MISSING
    if item.kind == INTERSECTION and lists_any(item.near, match):
        yield AgentFault.ONE_CONDITION
    if item.kind == COMPOSITION and lists_any(item.intermediates, match):
        yield AgentFault.INTERMEDIATES_LISTED
    if ignores_filter(item, match):
        yield AgentFault.FILTER_IGNORED


def ends_search(item: TanqItem, prediction: Prediction, match: TableMatch) -> bool:
    """Return whether the table has some answers, and a missing answer occurs in no tool result."""
    # The spaces at both ends let the comparison match whole words only.
    seen = f" {fold(' '.join(step.result for step in prediction.steps if step.tool not in OWN_WORDS))} "
    lacking = [
        row.label
        for row, places in zip(item.rows, match.entities, strict=True)
        if row.filter_pass and not places
    ]
    return any(match.entities) and any(f" {simplify(label)} " not in seen for label in lacking)


def is_malformed(match: TableMatch) -> bool:
    """Return whether a table has no header, rows of different lengths, or a row that repeats a header.

    A row repeats a header if its first cell equals any header. Rows about entities of the answer list are
    not compared with the headers. A row without cells also counts as malformed.
    """
    if not match.head or len({len(row) for row in match.rows}) > 1:
        return True
    heads = {simplify(cell) for cell in match.rows[0]}
    return any(
        not match.rows[place] or simplify(match.rows[place][0]) in heads
        for place in match.body
        if place in match.others
    )


def lacks_attributes(item: TanqItem, match: TableMatch) -> bool:
    """Return whether an answer has an empty cell in the table, but a value in the answer list.

    Missing columns are ignored.
    """
    return any(
        all(is_nothing(match.read(place, column)) for place in places)
        for row, places in zip(item.rows, match.entities, strict=True)
        if places and row.filter_pass
        for cell, column in zip(row.cells, match.columns, strict=True)
        if cell.values and column is not None
    )


def lists_any(things: tuple[ItemThing, ...], match: TableMatch) -> bool:
    """Return whether the table has a row that is not an answer, but is about one of the given entities."""
    names = [match.read(place, 0) for place in match.others]
    return any(is_same_name(thing.label, name) for thing in things for name in names if name)
