"""A table of a SQLite database whose rows have Wikidata's item ids: each column can be a property."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

from tasks.errors import BadInput
from tasks.sources.wikidata.entities import Entity, EntityClaim, EntitySelection
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.report import ReadingReport, SkippedEntity
from tasks.sources.wikidata.values import (
    ENTITY,
    NoValue,
    Precision,
    Quantity,
    Text,
    Value,
    make_amount,
    make_date,
    make_item,
    make_text,
    show,
)

MAGIC = b"SQLite format 3\0"
COLUMN = re.compile(r"(?P<name>[^=]+)=(?P<property>P[1-9]\d*)(?::(?P<how>Q[1-9]\d*|item|time|text))?")
DATE = re.compile(r"(-?)(\d{1,16})(?:-(\d\d)(?:-(\d\d))?)?")
LABELS = ("title", "name", "label", "full_name")
NO_ID, TWICE, BROKEN_CELL, NO_PROPERTY = (
    "no item id",
    "entity twice",
    "broken cell",
    "column without a property",
)


@dataclass(frozen=True)
class PropertyColumn:
    """A column and the property that it holds.

    how: a unit's id, `item`, `time` or `text`; empty = a number, or what the cell looks like.
    """

    name: str
    property: str
    how: str = ""


def read_column(text: str) -> PropertyColumn:
    """Read `runtime_minutes=P2047:Q7727`. Raises BadInput."""
    found = COLUMN.fullmatch(text)
    if found is None:
        hint = "NAME=P577, with a unit NAME=P2047:Q7727, or with a type: item, time, text"
        raise BadInput("--column", f"{text!r:.80} is no column with its property", hint=hint)
    return PropertyColumn(found["name"], found["property"], found["how"] or "")


def is_database(path: Path) -> bool:
    """Tell whether a file is a SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class TableSource:
    """The rows of a table as entities. columns: those that are properties; others are named in the report.

    table, label: by default the first table with a column of item ids named `id_column`, and its column
    title, name, label or full_name. language: of the label and of texts.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[PropertyColumn],
        *,
        table: str | None = None,
        id_column: str = "qid",
        label: str | None = None,
        language: str = "en",
    ) -> None:
        self._path, self._columns = path, columns
        self._table, self._id, self._label, self._language = table, id_column, label, language

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield what is selected by id, in the order of ids; see `EntitySource.read`.

        Raises BadInput for a selection by class, for a table or column that is not there, and for a column
        that is said twice of one property.
        """
        if selection.classes:
            raise BadInput(self._path, "is a table, which knows no classes", hint="--entity Q42, or all rows")
        for (name, property_), times in Counter((own.name, own.property) for own in self._columns).items():
            if times > 1:
                raise BadInput("--column", f"{name}={property_} is said twice", hint="each column once")
        path = self._path.resolve()
        # An immutable database is read without its log, where rows may be that were committed last.
        log = path.with_name(f"{path.name}-wal")
        address = f"file:{quote(str(path))}?mode=ro{'' if log.exists() else '&immutable=1'}"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                connection.row_factory = sqlite3.Row
                yield from self._read_rows(connection, selection, report)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise BadInput(self._path, f"cannot be read: {error}") from error

    def _read_rows(
        self, connection: sqlite3.Connection, selection: EntitySelection, report: ReadingReport
    ) -> Iterator[Entity]:
        table, names = self._find_table(connection)
        for column in self._columns:
            if column.name not in names:
                there = ", ".join(names)
                raise BadInput(self._path, f"{table} has no column {column.name!r}", hint=f"there: {there}")
        label = self._label or next((name for name in LABELS if name in names), None)
        for name in names:
            if name not in (self._id, label, *(column.name for column in self._columns)):
                report.keep_out(NO_PROPERTY, table, "", "", name)
        wanted = [
            column
            for column in self._columns
            if selection.properties is None or column.property in selection.properties
        ]
        known = KnownIds()
        quoted = [_quote(self._id), _quote(table), _quote(self._id)]
        query = "SELECT *, {} FROM {} ORDER BY {}".format(*quoted)  # noqa: S608 - quoted names
        for number, row in enumerate(connection.execute(query), start=1):
            # By its place: a column of the table may have any name.
            name, where = row[-1], f"{table}, row {number}"
            if not isinstance(name, str) or not ENTITY.fullmatch(name):
                report.skip(SkippedEntity(NO_ID, where, detail=f"{name!r:.60}"))
            elif selection.entities is not None and name not in selection.entities:
                report.not_asked += 1
            elif not known.add(name):
                report.skip(SkippedEntity(TWICE, where, name, detail="the first one counts"))
            else:
                yield self._read_row(row, label, wanted, name, where, report)

    def _find_table(self, connection: sqlite3.Connection) -> tuple[str, list[str]]:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        tables = [row["name"] for row in connection.execute(query)]
        for table in tables if self._table is None else [self._table]:
            names = [row["name"] for row in connection.execute(f"PRAGMA table_info({_quote(table)})")]
            if self._id in names:
                return table, names
        what = "has no table" if self._table is None else f"has no table {self._table!r}"
        raise BadInput(self._path, f"{what} with a column {self._id!r}", hint=f"tables: {', '.join(tables)}")

    def _read_row(
        self,
        row: sqlite3.Row,
        label: str | None,
        columns: Sequence[PropertyColumn],
        name: str,
        where: str,
        report: ReadingReport,
    ) -> Entity:
        claims: list[EntityClaim] = []
        places: Counter[str] = Counter()
        for column in columns:
            cell = row[column.name]
            if cell is None:
                continue
            try:
                value = read_cell(cell, column.how, self._language)
            except NoValue as error:
                report.skip(
                    SkippedEntity(BROKEN_CELL, where, name, column.property, f"{column.name}: {error}")
                )
                continue
            identifier = f"{name}${column.property}-{column.name}"
            claims.append(EntityClaim(identifier, column.property, places[column.property], "normal", value))
            places[column.property] += 1
        shown = row[label] if label is not None else None
        return Entity(
            id=name,
            kind="item" if name.startswith("Q") else "property",
            revision=None,
            labels=(Text(shown, self._language),) if isinstance(shown, str) and shown else (),
            aliases=(),
            sitelinks=(),
            claims=tuple(sorted(claims, key=lambda claim: (claim.property, claim.position))),
        )


def read_cell(cell: object, how: str, language: str) -> Value:
    """Read a cell: a number, a date of year, month or day, an item's id, or a text. Raises NoValue."""
    if how == "time" or (not how and isinstance(cell, str) and DATE.fullmatch(cell) and "-" in cell[1:]):
        found = DATE.fullmatch(str(cell)) if isinstance(cell, str | int) else None
        if found is None:
            raise NoValue(f"{show(cell)} is no date")
        year, month, day = int(found[1] + found[2]), int(found[3] or 0), int(found[4] or 0)
        precision = Precision.DAY if found[4] else Precision.MONTH if found[3] else Precision.YEAR
        return make_date(year, month, day, precision, "gregorian")
    if isinstance(cell, int | float) and how not in ("item", "text"):
        return Quantity(make_amount(format(Decimal(str(cell)), "f")), how or None)
    if how == "item" or (not how and isinstance(cell, str) and ENTITY.fullmatch(cell)):
        return make_item(cell)
    if how.startswith("Q"):
        return Quantity(make_amount(cell), how)
    return make_text(cell, language)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
