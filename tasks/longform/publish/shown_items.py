"""Items as the page's viewer shows them: question, reference with its evidence, and the whole database."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tasks.artifacts.rows import Origin
from tasks.databases.scratch import write_database
from tasks.databases.values import Value
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.conjecture import list_heads
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import Claim
from tasks.longform.build.items import LongformItem
from tasks.longform.solve.describe_database import read_database

EXACT = 2**53
"""The largest integer that a script's numbers hold exactly; longer ones are shown as text."""


class ShownTable(NamedTuple):
    """A table with some rows. n_rows: of the whole."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    n_rows: int


class ShownQuery(NamedTuple):
    """A query with its result; `error` says why it has none."""

    text: str
    sql: str
    result: ShownTable
    error: str


@dataclass(frozen=True)
class ShownItem:
    """An item; its interactions share it.

    controlled: the question that it was condensed from. measures: id of each measure's column, and whether
    the rows bear the conjecture about it out. by: who wrote the reference.
    """

    id: str
    database: str
    question: str
    controlled: str
    kind: str
    reference: str
    by: str
    claims: list[ShownQuery]
    tables: list[ShownTable]
    rounds: int | None
    measures: list[tuple[str, bool]]
    confirmed_by: str
    origin: list[str]


def show_items(
    items: Sequence[LongformItem],
    control: Sequence[ControlledQuestion],
    construct: Sequence[SyntheticDatabase],
    conclude: Sequence[Conclusion],
) -> dict[str, ShownItem]:
    """Show items by id, each with all rows of its database. Raises BadInput if a script does not run."""
    asked = {question.id: question for question in control}
    made = {database.id: database for database in construct}
    answers = {answer.id: answer for answer in conclude}
    with TemporaryDirectory(prefix="benchloom-items-") as folder:
        return {
            item.id: ShownItem(
                id=item.id,
                database=item.database,
                question=item.question,
                controlled=asked[item.id].text if item.id in asked else "",
                kind=item.kind,
                reference=item.reference,
                by=answers[item.id].by if item.id in answers else "",
                claims=[_show_claim(claim) for claim in item.claims],
                tables=read_tables(item.script, Path(folder) / f"{place}.sqlite"),
                rounds=made[item.id].rounds if item.id in made else None,
                measures=_show_measures(asked.get(item.id), made.get(item.id)),
                confirmed_by=item.confirmed_by,
                origin=show_origin(item.origin),
            )
            for place, item in enumerate(items)
        }


def read_tables(script: str, file: Path) -> list[ShownTable]:
    """Build the database of a script in a file, and read its tables. Raises BadInput if it does not run."""
    write_database(script, file)
    tables = [(table.name, table.rows) for table in read_database(file).tables]
    with closing(sqlite3.connect(file)) as connection:
        return [
            ShownTable(name, _list_columns(connection, name), _show_rows(rows), len(rows))
            for name, rows in tables
        ]


def show_result(columns: Sequence[str], rows: str, n_rows: int | None = None) -> ShownTable:
    """Show a result whose rows are JSON. n_rows: of the whole result, if these are not all."""
    shown = _decode(rows)
    return ShownTable("", columns, shown, len(shown) if n_rows is None else n_rows)


def show_origin(origin: Sequence[Origin]) -> list[str]:
    """Name what a row was made from."""
    return [f"{one.kind} {one.reference}" for one in origin]


def _show_measures(
    question: ControlledQuestion | None, made: SyntheticDatabase | None
) -> list[tuple[str, bool]]:
    if question is None or made is None:
        return []
    return list(zip(list_heads(question), made.borne_out, strict=True))


def _show_claim(claim: Claim) -> ShownQuery:
    return ShownQuery(claim.text, claim.sql, show_result(claim.columns, claim.rows), "")


def _decode(rows: str) -> list[list[Value]]:
    # NaN and infinities, which are no JSON, become text.
    return _show_rows(json.loads(rows, parse_constant=str))


def _show_rows(rows: Iterable[Sequence[Value]]) -> list[list[Value]]:
    return [[_show_cell(cell) for cell in row] for row in rows]


def _show_cell(cell: Value) -> Value:
    """Return a number that a script cannot hold as text."""
    if isinstance(cell, int) and abs(cell) > EXACT:
        return str(cell)
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def _list_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    escaped = table.replace('"', '""')
    cursor = connection.execute(f'SELECT * FROM "{escaped}" LIMIT 0')  # noqa: S608 (a quoted name)
    return [column for column, *_ in cursor.description]
