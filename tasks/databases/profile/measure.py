"""Count the cells of each column by kind, with aggregate queries that the database's engine runs.

First, a sample of each column's texts is read to propose date formats. Then, one query counts the cells of a
table. Finally, the distinct texts are read to find look-alikes. No table is loaded into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry, name_cause
from tasks.databases.profile.aggregates import find_odd, list_cell_counts, list_text_counts, write_text
from tasks.databases.profile.kinds import SHOWN, CellCounts, ColumnProfile, ColumnRules, decide_kind
from tasks.databases.profile.look_alikes import find_look_alikes
from tasks.databases.profile.readings import ON_SERVERS
from tasks.databases.profile.texts import find_shape
from tasks.databases.values import UNDECODABLE, to_plain

SESSION = {
    "postgres": ("SET TIME ZONE 'UTC'", "SET DateStyle TO ISO", "SET TRANSACTION READ ONLY"),
    "mysql": ("SET time_zone = '+00:00'",),
}


def measure_columns(
    entry: DatabaseEntry, columns: Sequence[Column], rules: ColumnRules, overrides: Mapping[str, str]
) -> list[ColumnProfile]:
    """Profile every column of a schema. `overrides`: column id -> a type or a date format.

    A column whose cells cannot be read gets the kind `unreadable` and the reason. Raises BadInput if the
    database cannot be opened, and DatabaseGone if a server does not answer.
    """
    profiles: list[ColumnProfile] = []
    with _connect(entry) as connection:
        for table, table_columns in groupby(columns, key=lambda column: column.table):
            reader = _TableReader(connection, entry.dialect, table, list(table_columns), rules, overrides)
            profiles += reader.measure()
    return profiles


@contextmanager
def _connect(entry: DatabaseEntry) -> Iterator[Connection]:
    engine = entry.connect()
    try:
        with engine.connect() as connection:
            for statement in SESSION.get(entry.dialect, ()):
                connection.exec_driver_sql(statement)
            if entry.dialect == "sqlite":
                raw: Any = connection.connection.driver_connection
                raw.text_factory = lambda cell: cell.decode("utf-8", "replace")
            yield connection
    except SQLAlchemyError as error:
        raise entry.explain(error, "its columns cannot be read") from None
    finally:
        engine.dispose()


class _TableReader:
    """Profiles the columns of one table over a connection."""

    def __init__(
        self,
        connection: Connection,
        dialect: str,
        table: str,
        columns: Sequence[Column],
        rules: ColumnRules,
        overrides: Mapping[str, str],
    ) -> None:
        self._connection, self._dialect, self._rules = connection, dialect, rules
        self._columns, self._overrides = columns, overrides
        self._table = self._quote(table)

    def measure(self) -> list[ColumnProfile]:
        """Return the profile of each column.

        One query counts the cells of all columns. A second query counts the strings of each column by format.
        """
        found = self._aggregate(
            {
                column.id: list_cell_counts(column, self._quote(column.name), self._dialect)
                for column in self._columns
            }
        )
        samples = {
            column.id: self._sample(column) for column in self._columns if found[column.id].get("text")
        }
        dated = [column for column in self._columns if column.id in samples or column.type == "date"]
        texts = {
            column.id: list_text_counts(
                column, self._quote(column.name), self._dialect, self._rules, samples.get(column.id, []),
                self._overrides.get(column.id, ""),
            )
            for column in dated
        }  # fmt: skip
        further = self._aggregate(texts)
        return [
            self._describe(
                column, self._count(column, found[column.id] | further.get(column.id, {}), samples)
            )
            for column in self._columns
        ]

    def _describe(self, column: Column, counts: CellCounts) -> ColumnProfile:
        decided = decide_kind(column.type, counts, self._rules, self._overrides.get(column.id, ""))
        if column.type == "text" and self._dialect != "sqlite":
            decided = replace(decided, reading=ON_SERVERS.get(decided.reading, decided.reading))
        if decided.type == "text" and not counts.unreadable:
            alike, undecodable = self._read_distinct(column, counts)
            counts = replace(counts, look_alikes=alike, undecodable=undecodable)
        odd = self._list_odd(column, decided.reading) if decided.misfits else ()
        if odd:
            why = f"{decided.why} ({', '.join(map(repr, odd))})"
            decided = replace(decided, why=why)
        return ColumnProfile(
            column.id, column.table, column.name, column.type, decided.kind, decided.type, decided.reading,
            decided.form, decided.asked, decided.why, counts.rows, counts.nulls,
            counts.no_value if decided.reading else 0, decided.misfits, counts.distinct, counts.look_alikes,
            counts.undecodable, counts.least, counts.greatest, counts.examples, odd,
        )  # fmt: skip

    def _sample(self, column: Column) -> list[str]:
        """Return some distinct texts of a column."""
        cell, rules = self._quote(column.name), self._rules
        holds = f"typeof({cell}) = 'text'" if self._dialect == "sqlite" else f"{cell} IS NOT NULL"
        # The inner limit bounds the work: DISTINCT with ORDER BY would otherwise sort the whole table.
        source = f"SELECT {cell} AS c FROM {self._table} WHERE {holds} LIMIT 5000"  # noqa: S608 (quoted names)
        rows = self._run(
            f"SELECT DISTINCT c FROM ({source}) AS sampled ORDER BY c LIMIT {rules.sample}"  # noqa: S608 (quoted)
        )
        return [] if isinstance(rows, str) else [str(cell) for (cell,) in rows]

    def _count(
        self, column: Column, found: Mapping[str, Any], samples: Mapping[str, Sequence[str]]
    ) -> CellCounts:
        def number(name: str) -> int:
            return int(found.get(name) or 0)

        if "error" in found:
            return CellCounts(0, unreadable=str(found["error"]))
        filled, none = number("filled"), number("no_value")
        fits = {name.removeprefix("fits "): number(name) for name in found if name.startswith("fits ")}
        typed = self._dialect != "sqlite"
        texts = number("not_finite") + (0 if typed else number("text") - none)
        if typed and column.type == "text":
            texts = filled - none
        elif typed and column.type in ("integer", "real"):
            none, texts = texts, 0
        infinite = 0 if typed else number("not_finite")
        # A date column on a server has no sampled texts, so the minimum and maximum show the format.
        shown = (
            [_show(found.get(end)) for end in ("least", "greatest")]
            if column.type == "date" and typed
            else samples.get(column.id, [])
        )
        counts = CellCounts(
            rows=number("rows"), nulls=number("rows") - filled, no_value=none,
            integers=number("integer"), reals=number("real") - infinite, texts=texts, infinite=infinite,
            blobs=number("blob"),
            no_dates=number("no_dates"), outside=number("outside"),
            distinct=None if "distinct" not in found else number("distinct"),
            length=float(found.get("length") or 0), lengths=number("lengths"),
            plain_days=number("plain_days"), with_t=number("with_t"), fits=fits,
            shape=find_shape([text for text in shown if text.strip().lower() not in self._rules.no_value]),
            least=_show(found.get("least")), greatest=_show(found.get("greatest")),
        )  # fmt: skip
        return replace(counts, examples=self._list_examples(column, counts))

    def _list_examples(self, column: Column, counts: CellCounts) -> tuple[str, ...]:
        if self._dialect != "sqlite" or not counts.filled:
            return tuple(dict.fromkeys(filter(None, (counts.least, counts.greatest))))[: self._rules.examples]
        cell = self._quote(column.name)
        some = f"SELECT {cell} AS c FROM {self._table} WHERE {cell} IS NOT NULL LIMIT 1000"  # noqa: S608 (quoted names)
        rows = self._run(f"SELECT DISTINCT c FROM ({some}) LIMIT {self._rules.examples}")  # noqa: S608 (quoted names)
        return () if isinstance(rows, str) else tuple(_show(cell) for (cell,) in rows)

    def _list_odd(self, column: Column, reading: str) -> tuple[str, ...]:
        """List some cells that do not fit the column's kind."""
        cell, most = self._quote(column.name), self._rules.examples
        if not (odd := find_odd(column, cell, self._dialect, self._rules, reading)):
            return ()
        shown = write_text(cell, self._dialect)
        source = f"SELECT DISTINCT {shown} AS c FROM {self._table} WHERE {odd}"  # noqa: S608 (quoted names)
        order = "" if self._dialect == "sqlite" else " ORDER BY c"
        rows = self._run(f"{source}{order} LIMIT {most}")
        return () if isinstance(rows, str) else tuple(_show(cell) for (cell,) in rows)

    def _read_distinct(self, column: Column, counts: CellCounts) -> tuple[int, int]:
        """Count the distinct texts with a look-alike, and the undecodable ones; (0, 0) if not counted."""
        if not counts.distinct or counts.distinct > self._rules.look_alikes:
            return 0, 0
        cell = self._quote(column.name)
        text = write_text(cell, self._dialect)
        if self._dialect == "mysql":
            text = f"CAST({text} AS BINARY)"  # the column's collation treats look-alikes as equal
        rows = self._run(f"SELECT DISTINCT {text} FROM {self._table} WHERE {cell} IS NOT NULL")  # noqa: S608 (quoted names)
        if isinstance(rows, str):
            return 0, 0
        cells = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for (cell,) in rows]
        undecodable = sum(isinstance(cell, str) and UNDECODABLE in cell for cell in cells)
        return len(find_look_alikes(cells)), undecodable

    def _aggregate(self, parts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Any]]:
        """Run aggregates; return column id -> name of the aggregate -> value.

        One query covers all columns. If this query fails, a separate query is run for each column, so that an
        unreadable cell affects only its own column. A column that cannot be read gets {"error": message}.
        """
        every = [sql for queries in parts.values() for sql in queries.values()]
        if not every:
            return {}
        rows = self._run(f"SELECT {', '.join(every)} FROM {self._table}")  # noqa: S608 (quoted names)
        if isinstance(rows, str):
            if len(parts) == 1:
                return {column: {"error": rows} for column in parts}
            alone = [self._aggregate({column: queries}) for column, queries in parts.items()]
            return {column: values for found in alone for column, values in found.items()}
        left = iter(rows[0])
        return {column: {name: next(left) for name in queries} for column, queries in parts.items()}

    def _run(self, sql: str) -> list[Any] | str:
        """Run a statement; return its rows, or the first line of the engine's error message."""
        try:
            # PostgreSQL can only continue after an error if the statement ran within a savepoint.
            with self._connection.begin_nested() if self._dialect == "postgres" else nullcontext():
                return [tuple(row) for row in self._connection.exec_driver_sql(sql)]
        except SQLAlchemyError as error:
            if getattr(error, "connection_invalidated", False):
                raise
            return name_cause(error)

    def _quote(self, name: str) -> str:
        quoted: str = self._connection.dialect.identifier_preparer.quote_identifier(name)
        return quoted


def _show(cell: object) -> str:
    text = "" if cell is None else str(to_plain(cell))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
