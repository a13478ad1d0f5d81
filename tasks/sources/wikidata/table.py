"""Read a table of a SQLite database whose rows have Wikidata item ids; each column can be a property.

The table can be a user's table, or a result of Wikidata's query service, which has one row for each
combination of an item's values.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from tasks.errors import BadInput
from tasks.sources.wikidata.cells import choose_kind, clean_cell, read_cell, read_id
from tasks.sources.wikidata.entities import INSTANCE_OF, Entity, EntityClaim, EntitySelection, report_missing
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.languages import LAST, list_fallbacks, pick_label
from tasks.sources.wikidata.report import LIKE_NAMED, NO_ID, NO_LABEL, ReadingReport, SkippedEntity
from tasks.sources.wikidata.snaks import KeptOut
from tasks.sources.wikidata.values import NoValue, Text, Value, show

MAGIC = b"SQLite format 3\0"
COLUMN = re.compile(
    r"(?P<name>[^=]+)=(?P<property>P[1-9]\d*)(?::(?P<how>Q[1-9]\d*|item|time|month|year|text))?"
)
IDS = ("qid", "item")
LABELS = ("title", "name", "label", "full_name", "itemLabel")
BROKEN_CELL, NO_PROPERTY, OTHER_LABEL = "broken cell", "column without a property", "another label"
MOST_NAMELESS = 10_000
"""Maximum number of rows without an id whose statements are listed; further rows are only counted."""


@dataclass(frozen=True)
class PropertyColumn:
    """A column and the property that it contains.

    `how`: the kind of the cells (`item`, `text`, `time`, `month` or `year`), or an item id, which is the unit
    of quantities. `month` and `year` are times with this precision. If `how` is empty, the property or the
    majority of cells determines the kind.
    """

    name: str
    property: str
    how: str = ""


def read_column(text: str) -> PropertyColumn:
    """Parse a column option such as `runtime_minutes=P2047:Q7727`.

    Raises BadInput if the option does not assign a property to a column.
    """
    found = COLUMN.fullmatch(text)
    if found is None:
        hint = "expected NAME=P577, NAME=P577:TYPE (item, time, month, year or text) or NAME=P2047:UNIT"
        raise BadInput("--column", f"{text!r:.80} does not assign a property to a column", hint=hint)
    return PropertyColumn(found["name"], found["property"], found["how"] or "")


def is_database(path: Path) -> bool:
    """Return whether a file is a SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class TableSource:
    """Reads the rows of a table as entities. `columns`: the columns to read; other columns are reported.

    `table`: the table's name, by default the first table with an id column. `label`: the label column, by
    default `title`, `name`, `label`, `full_name` or `itemLabel`. Labels in other languages are in columns
    with the language code as a suffix, such as `label_mul`. `id_column`: by default `qid` or `item`.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[PropertyColumn],
        *,
        table: str | None = None,
        id_column: str | None = None,
        label: str | None = None,
    ) -> None:
        self._path, self._columns = path, columns
        self._table, self._ids, self._label = table, (id_column,) if id_column else IDS, label

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield the entities with the selected ids, sorted by id; see `EntitySource.read`.

        Raises BadInput if the selection has classes, if a table or column does not exist, or if a column is
        assigned to the same property twice.
        """
        if selection.classes:
            raise BadInput(
                self._path,
                "is a database, so --class cannot be used",
                hint="use --entity Q42, or import all rows",
            )
        for (name, property_), times in Counter(
            (column.name, column.property) for column in self._columns
        ).items():
            if times > 1:
                raise BadInput("--column", f"{name}={property_} is given twice", hint="give each column once")
        path = self._path.resolve()
        # With `immutable`, SQLite ignores the write-ahead log, which may contain the last committed rows.
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
        table, names, id_column = self._find_table(connection)
        for column in self._columns:
            if column.name not in names:
                there = ", ".join(names)
                raise BadInput(self._path, f"{table} has no column {column.name!r}", hint=f"known: {there}")
        languages = selection.languages or ()
        language = next(iter(languages)) if len(languages) == 1 else LAST
        labels = find_label_columns(names, self._label, language)
        for name in names:
            if name not in (id_column, *labels, *(column.name for column in self._columns)):
                report.keep_out(NO_PROPERTY, table, "", "", name)
        wanted = [
            column
            for column in self._columns
            if selection.properties is None or column.property in selection.properties
        ]
        kinds = {column: find_kind(connection, table, column) for column in wanted}
        reader = _RowReader(table, language, labels, kinds, report)
        known = KnownIds()
        connection.create_function("wikidata_id", 1, read_id, deterministic=True)
        quoted = [f"wikidata_id({_quote(id_column)})", _quote(table), _quote(id_column)]
        query = "SELECT *, {0}, {2} FROM {1} ORDER BY {0}".format(*quoted)  # noqa: S608 - quoted names
        rows = enumerate(connection.execute(query), start=1)
        # The id is read by position, because a table column may have the same name as the computed column.
        for name, group in groupby(rows, key=lambda pair: pair[1][-2]):
            if name is None:
                for number, row in group:
                    reader.skip_nameless(number, row)
            elif selection.entities is not None and name not in selection.entities:
                report.not_asked += 1
            else:
                known.add(name)
                yield reader.read(name, list(group))
        report_missing(selection, known, table, report)

    def _find_table(self, connection: sqlite3.Connection) -> tuple[str, list[str], str]:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        tables = [row["name"] for row in connection.execute(query)]
        for id_column in self._ids:
            for table in tables if self._table is None else [self._table]:
                names = [row["name"] for row in connection.execute(f"PRAGMA table_info({_quote(table)})")]
                if id_column in names:
                    return table, names, id_column
        what = "has no table" if self._table is None else f"has no table {self._table!r}"
        asked = " or ".join(map(repr, self._ids))
        raise BadInput(self._path, f"{what} with a column {asked}", hint=f"tables: {', '.join(tables)}")


@dataclass(frozen=True)
class _RowReader:
    """Converts an item's rows to an entity. `labels`: column -> language. `kinds`: column -> its kind.

    `nameless`: label -> the rows with this label but without an id. Rows without an id are read first.
    """

    table: str
    language: str
    labels: Mapping[str, str]
    kinds: Mapping[PropertyColumn, str]
    report: ReadingReport
    nameless: dict[str, list[SkippedEntity]] = field(default_factory=dict)

    def skip_nameless(self, number: int, row: sqlite3.Row) -> None:
        """Report a row without an id; it may describe the item with the same label, or another entity."""
        own = SkippedEntity(NO_ID, f"{self.table}, row {number}", detail=f"{row[-1]!r:.60}")
        if self.report.counts[NO_ID] < MOST_NAMELESS:
            own = replace(own, statements=self.list_statements(row))
            for text in {text.text for text in self.list_labels("", row)}:
                self.nameless.setdefault(text, []).append(own)
        self.report.skip(own)

    def skip_like_named(self, name: str, nameless: SkippedEntity) -> None:
        """Report the statements of a row without an id, which may belong to the item with the same label."""
        own = replace(nameless, reason=LIKE_NAMED, entity=name, rank="normal", statements=())
        for property_, item in nameless.statements:
            if item or property_ != INSTANCE_OF:
                self.report.skip(replace(own, property=property_, value=item))

    def list_statements(self, row: sqlite3.Row) -> list[tuple[str, str]]:
        """Return the (property, item id) pairs of a row; the id is empty if the value is not an item.

        If the row has no class, the pairs include `INSTANCE_OF` with an empty id.
        """
        found = []
        for column, kind in self.kinds.items():
            cell = row[column.name]
            if clean_cell(cell)[0] is not None:
                found.append((column.property, (read_id(cell) or "") if kind == "item" else ""))
        known = any(property_ == INSTANCE_OF for property_, _ in found)
        return found if known else [*found, (INSTANCE_OF, "")]

    def read(self, name: str, rows: Sequence[tuple[int, sqlite3.Row]]) -> Entity:
        """Return the entity of an item's rows: each distinct value in a column becomes a claim."""
        claims: list[EntityClaim] = []
        places: Counter[str] = Counter()
        for column in self.kinds:
            for number, value in enumerate(self.list_values(name, column, rows)):
                identifier = f"{name}${column.property}-{column.name}" + (f"-{number}" if number else "")
                place = places[column.property]
                claims.append(EntityClaim(identifier, column.property, place, "normal", value))
                places[column.property] += 1
        label = self.find_label(name, rows)
        for entity in self.nameless.get(label.text, ()) if label else ():
            self.skip_like_named(name, entity)
        if label is None:
            self.report.keep_out(NO_LABEL, self.table, name, "", self.language)
        return Entity(
            id=name,
            kind="item" if name.startswith("Q") else "property",
            revision=None,
            labels=(label,) if label else (),
            aliases=(),
            sitelinks=(),
            claims=tuple(sorted(claims, key=lambda claim: (claim.property, claim.position))),
        )

    def list_values(
        self, name: str, column: PropertyColumn, rows: Sequence[tuple[int, sqlite3.Row]]
    ) -> list[Value]:
        """Return the distinct values of a column; report the cells that do not fit the column's kind."""
        found: dict[Value, None] = {}
        seen: set[object] = {None}
        unit = column.how if column.how.startswith("Q") else None
        for number, row in rows:
            cell = row[column.name]
            if cell in seen or clean_cell(cell)[0] is None:
                continue
            seen.add(cell)
            where = f"{self.table}, row {number}"
            try:
                found[read_cell(cell, self.kinds[column], self.language, unit)] = None
            except NoValue as error:
                reason, detail = BROKEN_CELL, f"{column.name}: {error}"
            except KeptOut as kept:
                reason, detail = kept.reason, column.name
            else:
                continue
            self.report.skip(SkippedEntity(reason, where, name, column.property, detail, rank="normal"))
        return list(found)

    def find_label(self, name: str, rows: Sequence[tuple[int, sqlite3.Row]]) -> Text | None:
        """Return the first label in an item's rows, or None; report the rows with a different label."""
        picked: dict[Text, int] = {}
        for number, row in rows:
            label = pick_label(self.list_labels(name, row), self.language)
            if label is not None:
                picked.setdefault(label, number)
        for label, number in list(picked.items())[1:]:
            where = f"{self.table}, row {number}"
            detail = f"{show(label.text)}: the first one counts"
            self.report.skip(SkippedEntity(OTHER_LABEL, where, name, detail=detail))
        return next(iter(picked), None)

    def list_labels(self, name: str, row: sqlite3.Row) -> list[Text]:
        """Return the labels of a row in all languages."""
        found = []
        for column, language in self.labels.items():
            text, told = clean_cell(row[column])
            # For an item without a label, the query service returns the id as the label.
            if isinstance(text, str | int) and text != name:
                found.append(Text(str(text), told or language))
        return found


def find_label_columns(names: Sequence[str], label: str | None, language: str) -> dict[str, str]:
    """Map label columns to languages, including columns such as `label_mul` for fallback languages."""
    bases = [label] if label else LABELS
    for base in bases:
        found = {f"{base}_{code.replace('-', '_')}": code for code in list_fallbacks(language)}
        found[base] = language
        if there := {name: code for name, code in found.items() if name in names}:
            return there
    return {}


def find_kind(connection: sqlite3.Connection, table: str, column: PropertyColumn) -> str:
    """Return the kind of a column: the given kind, or the kind derived from the property and the cells."""
    if column.how:
        return "quantity" if column.how.startswith("Q") else column.how
    query = f"SELECT {_quote(column.name)} FROM {_quote(table)}"  # noqa: S608 - quoted names
    cells = (row[0] for row in connection.execute(query))
    return choose_kind((cell for cell in cells if clean_cell(cell)[0] is not None), column.property)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
