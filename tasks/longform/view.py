"""What the item viewer shows of a question: its reference answer, the evidence and the whole database."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Origin
from tasks.databases.values import Value
from tasks.longform.build.answers import list_heads
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.solve.describe_database import DescribedTable, read_script
from tasks.reports.blocks import (
    GOOD,
    OFF,
    Block,
    calls,
    code,
    dim,
    fold,
    heading,
    ids,
    items,
    table,
    text,
)
from tasks.reports.viewer import Filter, ViewedRow, Viewer

EXACT = 2**53
"""The largest integer that a script's numbers hold exactly; longer ones are shown as text."""
BY: Mapping[str, str] = {"plain": "stated plainly", "model": "worded by a model"}


@dataclass(frozen=True)
class ItemSources:
    """The rows of a question set by id, of which some may be missing."""

    control: Mapping[str, ControlledQuestion]
    construct: Mapping[str, SyntheticDatabase]
    conclude: Mapping[str, Conclusion]

    @classmethod
    def gather(
        cls,
        control: Iterable[ControlledQuestion],
        construct: Iterable[SyntheticDatabase],
        conclude: Iterable[Conclusion],
    ) -> ItemSources:
        """Index the rows of the three stages."""
        return cls(
            {row.id: row for row in control},
            {row.id: row for row in construct},
            {row.id: row for row in conclude},
        )

    def tell_writer(self, item: LongformItem) -> str:
        """Say who wrote the reference; empty if that is not known."""
        return self.conclude[item.id].by if item.id in self.conclude else ""


def show_items(listed: Sequence[LongformItem], sources: ItemSources) -> dict[str, list[Block]]:
    """Show items by id, each with all rows of its database. Raises BadInput if a script does not run."""
    return {item.id: list(_show_item(item, sources, read_script(item.script).tables)) for item in listed}


def _show_item(item: LongformItem, sources: ItemSources, tables: Sequence[DescribedTable]) -> Iterator[Block]:
    yield heading("Question", (item.kind, OFF))
    yield text(item.question, "question")
    if item.id in sources.control:
        yield fold("What it was condensed from", [text(sources.control[item.id].text)], style="claim")
    plain = sources.tell_writer(item) == "plain"
    yield heading("Reference answer", *([(BY["plain"], OFF)] if plain else []))
    yield text(item.reference, "reply")
    for claim in item.claims:
        rows = decode_rows(claim.rows)
        evidence = [code(claim.sql, sql=True), table(claim.columns, rows)]
        yield fold(claim.text, evidence, beside=f"· {count_things(len(rows), 'row')}", style="claim")
    if not item.claims:
        yield dim("No query backs it.")
    yield heading("Synthetic database", (item.database, OFF))
    n_rows = sum(len(described.rows) for described in tables)
    size = f"{count_things(len(tables), 'table')}, {count_things(n_rows, 'row')}"
    made, question = sources.construct.get(item.id), sources.control.get(item.id)
    if made is not None:
        size += f"; its rows were asked for {'once' if made.rounds == 1 else f'{made.rounds:,} times'}"
    yield dim(f"{size}.")
    if made is None or question is None:
        yield dim("Nothing is known of its conjecture.")
    else:
        yield items(
            (head, "as conjectured", GOOD) if holds else (head, "not as conjectured", OFF)
            for head, holds in zip(list_heads(question), made.borne_out, strict=True)
        )
    for described in tables:
        rows = _make_cells(described.rows)
        inside = [table(described.columns, rows)]
        yield fold(described.name, inside, beside=f"· {count_things(len(rows), 'row')}", style="rows")


def view_questions(
    listed: Sequence[LongformItem],
    sources: ItemSources,
    used: Mapping[str, Sequence[str]],
    artifact: Path,
) -> Viewer:
    """Show every question of a set. used: the calls behind each, by its id."""
    shown = show_items(listed, sources)
    rows = [
        ViewedRow(
            item.id,
            item.question,
            (item.database, item.kind, item.confirmed_by),
            [(item.kind, ""), (item.database, OFF), *([(BY.get(by, by), OFF)] if by else [])],
            [
                *shown[item.id],
                calls("Calls", used.get(item.id, ())),
                ids(
                    question=item.id,
                    **{"confirmed by": item.confirmed_by, "made from": list_origins(item.origin)},
                ),
            ],
        )
        for item in sorted(listed, key=lambda item: (item.database, item.kind, item.id))
        for by in (sources.tell_writer(item),)
    ]
    return Viewer(
        "question",
        "questions",
        "words of a question, its answer or its SQL",
        "Choose a question to see its reference answer, each claim with the query that bears it out, its "
        "database, and the model calls behind it.",
        (Filter("database", "Database"), Filter("kind", "Kind"), Filter("confirmed", "Confirmed by")),
        rows,
        artifact,
    )


def list_origins(origins: Iterable[Origin]) -> str:
    """Name what a row was made from."""
    return ", ".join(f"{origin.kind} {origin.reference}" for origin in origins)


def count_things(number: int, noun: str) -> str:
    """Write a number with what it counts: `1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def decode_rows(rows: str) -> list[list[Value]]:
    """Read the rows of a result, which are JSON, as cells that a page can hold."""
    # NaN and infinities, which are not JSON, become text.
    return _make_cells(json.loads(rows, parse_constant=str))


def _make_cells(rows: Iterable[Sequence[Value]]) -> list[list[Value]]:
    """Make the cells of rows that a page's script can hold; a number that it cannot hold becomes text."""
    return [[_make_cell(cell) for cell in row] for row in rows]


def _make_cell(cell: Value) -> Value:
    if isinstance(cell, int) and abs(cell) > EXACT:
        return str(cell)
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell
