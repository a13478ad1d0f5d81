"""Build the item viewer's data for a question: reference answer, evidence and the whole database."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tasks.artifacts.rows import Origin
from tasks.databases.values import Value
from tasks.longform.build.answers import list_heads
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.solve.describe_database import read_script
from tasks.reports import blocks
from tasks.reports.blocks import GOOD, OFF, Block
from tasks.reports.viewer import Filter, ViewedRow, Viewer

EXACT = 2**53
"""JavaScript represents integers exactly up to this value. Larger integers are shown as text."""
BY: Mapping[str, str] = {"plain": "written by code", "model": "written by a model"}


def show_items(
    items: Iterable[LongformItem],
    control: Iterable[ControlledQuestion],
    construct: Iterable[SyntheticDatabase],
    conclude: Iterable[Conclusion],
) -> dict[str, list[Block]]:
    """Return the viewer blocks of items by id, with all database rows. Raises BadInput if a script fails.

    control, construct, conclude: rows of these stages of the question set; rows of some items may be missing.
    """
    asked = {question.id: question for question in control}
    made = {database.id: database for database in construct}
    by = {answer.id: answer.by for answer in conclude}
    return {
        item.id: list(_show_item(item, asked.get(item.id), made.get(item.id), by.get(item.id, "")))
        for item in items
    }


def _show_item(
    item: LongformItem, question: ControlledQuestion | None, made: SyntheticDatabase | None, by: str
) -> Iterator[Block]:
    yield blocks.heading("Question", (item.kind, OFF))
    yield blocks.text(item.question, "question")
    if question is not None:
        yield blocks.fold("Question before condensing", [blocks.text(question.text)], style="claim")
    yield blocks.heading("Reference answer", *([(BY[by], OFF)] if by == "plain" else []))
    yield blocks.text(item.reference, "reply")
    for claim in item.claims:
        yield _fold_rows(claim.text, claim.columns, decode_rows(claim.rows), "claim", claim.sql)
    if not item.claims:
        yield blocks.dim("No query supports this answer.")
    yield blocks.heading("Synthetic database", (item.database, OFF))
    tables = read_script(item.script).tables
    n_rows = sum(len(table.rows) for table in tables)
    size = f"{count_things(len(tables), 'table')}, {count_things(n_rows, 'row')}"
    if made is not None:
        size += f"; generating the rows took {count_things(made.rounds, 'model request')}"
    yield blocks.dim(f"{size}.")
    if made is None or question is None:
        yield blocks.dim("The conjecture of this database is not known.")
    else:
        yield blocks.items(
            (head, "matches the conjecture", GOOD) if holds else (head, "differs from the conjecture", OFF)
            for head, holds in zip(list_heads(question), made.borne_out, strict=True)
        )
    for table in tables:
        yield _fold_rows(table.name, table.columns, _make_cells(table.rows), "rows")


def _fold_rows(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[Value]], style: str, sql: str = ""
) -> Block:
    query = [blocks.code(sql, sql=True)] if sql else []
    count = f"· {count_things(len(rows), 'row')}"
    return blocks.fold(name, [*query, blocks.table(columns, rows)], beside=count, style=style)


def view_questions(
    items: Sequence[LongformItem],
    shown: Mapping[str, Sequence[Block]],
    conclude: Iterable[Conclusion],
    used: Mapping[str, Sequence[str]],
    artifact: Path,
) -> Viewer:
    """Return a viewer for all questions of a set.

    shown: maps the item id to the blocks that show the item. used: maps the item id to the ids of the calls
    that made the item.
    """
    by = {answer.id: answer.by for answer in conclude}
    rows = [
        ViewedRow(
            item.id,
            item.question,
            (item.database, item.kind, item.confirmed_by),
            [(item.kind, ""), (item.database, OFF), *([(BY[by[item.id]], OFF)] if item.id in by else [])],
            [
                *shown[item.id],
                blocks.calls("Calls", used.get(item.id, ())),
                blocks.ids(
                    question=item.id,
                    **{"confirmed by": item.confirmed_by, "made from": list_origins(item.origin)},
                ),
            ],
        )
        for item in sorted(items, key=lambda item: (item.database, item.kind, item.id))
    ]
    return Viewer(
        "question",
        "questions",
        "words in a question, its answer or its SQL",
        "Choose a question to see its reference answer, the query that supports each claim, the "
        "database and the model calls.",
        (Filter("database", "Database"), Filter("kind", "Kind"), Filter("confirmed", "Confirmed by")),
        rows,
        artifact,
    )


def list_origins(origins: Iterable[Origin]) -> str:
    """List the sources of a row as text, such as the stage and id of another row."""
    return ", ".join(f"{origin.kind} {origin.reference}" for origin in origins)


def count_things(number: int, noun: str) -> str:
    """Write a number with its noun in the singular or plural: `1 row`, `1,200 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def decode_rows(rows: str) -> list[list[Value]]:
    """Decode the rows of a result from JSON to cells that a page can show."""
    # NaN and infinities become text, because JSON does not have them.
    return _make_cells(json.loads(rows, parse_constant=str))


def _make_cells(rows: Iterable[Sequence[Value]]) -> list[list[Value]]:
    """Convert rows to cells for a page's script; numbers that JavaScript cannot represent become text."""
    return [[_make_cell(cell) for cell in row] for row in rows]


def _make_cell(cell: Value) -> Value:
    if isinstance(cell, int) and abs(cell) > EXACT:
        return str(cell)
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell
