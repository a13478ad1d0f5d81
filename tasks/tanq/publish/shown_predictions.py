"""Predictions as the viewer shows them: each cell with how it matches the answer (section 5.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.publish.table_outcomes import RULES, TableOutcome, is_people
from tasks.tanq.score.table_match import MISSING, UNTOLD, TableMatch, match_table

OTHER, UNREQUESTED, FAILING = "other", "unrequested", "failing"
"""Of a predicted cell: its row is no answer; its column is not asked for; its row fails the filter."""
FOUND = "found"
"""Of a name or a header that the answer has too."""
HEAD = "head"


class ShownCell(NamedTuple):
    """A predicted cell. state: of `table_match` or of this module; gold: row and column of the answer."""

    text: str
    state: str
    gold: tuple[int, int] | None


class ShownChainStep(NamedTuple):
    """A step of the open agent."""

    agent: str
    thought: str
    tool: str
    argument: str
    result: str


@dataclass(frozen=True)
class ShownPrediction:
    """A prediction beside its answer.

    rows: its cells, None without a table; turned: it is shown as it was read, entities down; states: of the
    answer's cells, row by row, the first of each for its name; scores: precision, recall and F1 x100 by rule;
    calls: ledger keys.
    """

    id: str
    system: str
    people: bool
    reply: str
    failed: str
    rows: list[list[ShownCell]] | None
    turned: bool
    states: list[list[str]]
    scores: dict[str, list[float]]
    failures: list[str]
    faults: list[str] | None
    steps: list[ShownChainStep]
    left_out: list[str]
    calls: list[str]


def show_predictions(outcomes: Iterable[TableOutcome]) -> dict[str, list[ShownPrediction]]:
    """Show predictions by item, in the order of systems."""
    shown: dict[str, list[ShownPrediction]] = {}
    for outcome in outcomes:
        shown.setdefault(outcome.item.id, []).append(show_prediction(outcome))
    return shown


def show_prediction(outcome: TableOutcome) -> ShownPrediction:
    """Show one prediction."""
    row, score = outcome.prediction, outcome.score
    match = match_table(outcome.item, row.table) if row.table else None
    measures = {rule: outcome.measure(rule) for rule in RULES}
    return ShownPrediction(
        id=row.id,
        system=" · ".join(filter(None, outcome.system.label)),
        people=is_people(outcome.system),
        reply=row.reply,
        failed=row.failed,
        rows=show_cells(outcome.item, match) if match else None,
        turned=bool(match and row.table and match.rows[0] != tuple(cell.strip() for cell in row.table[0])),
        states=show_states(outcome.item, match),
        scores={
            rule: [round(100 * value, 1) for value in values] for rule, values in measures.items() if values
        },
        failures=[kind.replace("_", " ") for kind in score.failures],
        faults=None if score.faults is None else [fault.replace("_", " ") for fault in score.faults],
        steps=[ShownChainStep(s.agent, s.thought, s.tool, s.argument, s.result) for s in row.steps],
        left_out=list(row.left_out),
        calls=[origin.reference for origin in row.origin if origin.kind == "call" and origin.reference],
    )


def show_states(item: TanqItem, match: TableMatch | None) -> list[list[str]]:
    """List how each row of the answer fares: its name, then its cells; without a table all are missing."""
    if match is None:
        return [[MISSING, *(MISSING if cell.values else UNTOLD for cell in row.cells)] for row in item.rows]
    return [
        [FOUND if places else MISSING, *states]
        for places, states in zip(match.entities, match.cells, strict=True)
    ]


def show_cells(item: TanqItem, match: TableMatch) -> list[list[ShownCell]]:
    """Show every predicted cell with its place in the answer."""
    golds = {place: row for row, places in enumerate(match.entities) for place in places}
    columns = {place: column for column, place in enumerate(match.columns) if place is not None}
    shown = []
    for place, cells in enumerate(match.rows):
        if place == 0 and match.head:
            shown.append([_show_head(text, number, columns) for number, text in enumerate(cells)])
            continue
        row = golds.get(place)
        shown.append(
            [_show_cell(item, match, text, row, number, columns) for number, text in enumerate(cells)]
        )
    return shown


def _show_head(text: str, number: int, columns: Mapping[int, int]) -> ShownCell:
    return ShownCell(text, HEAD if number == 0 or number in columns else UNREQUESTED, None)


def _show_cell(
    item: TanqItem,
    match: TableMatch,
    text: str,
    row: int | None,
    number: int,
    columns: Mapping[int, int],
) -> ShownCell:
    if row is None:
        return ShownCell(text, OTHER, None)
    column = columns.get(number)
    gold = None if column is None else (row, column)
    if not item.rows[row].filter_pass:
        return ShownCell(text, FAILING, gold)
    if number == 0:
        return ShownCell(text, FOUND, None)
    return (
        ShownCell(text, UNREQUESTED, None)
        if column is None
        else ShownCell(text, match.cells[row][column], gold)
    )


def list_choices(predictions: Mapping[str, Sequence[ShownPrediction]]) -> list[str]:
    """List the systems that a reader can choose between, in order."""
    return list(dict.fromkeys(row.system for rows in predictions.values() for row in rows))
