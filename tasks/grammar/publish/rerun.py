"""Run the SQL of answers again, to check that the database still returns the recorded answers."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlglot.errors import SqlglotError

from tasks.artifacts.contracts import Record, RowRule, read_records
from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.dialects import CANONICAL, translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.literals import bind
from tasks.databases.quoted_names import quote_name
from tasks.databases.rendering import write_plain
from tasks.databases.values import Value
from tasks.errors import SqlError
from tasks.grammar.construct.fill_in import ROWS_JSON, Group, find_other_answers

WIDTH = 60
"""The maximum length of an answer in an error message, in characters."""


@dataclass(frozen=True)
class AnswerDigest:
    """A comparable form of an answer.

    `digest` is a hash of the rows that ignores their order. `text` contains the sorted rows as JSON,
    truncated to `WIDTH` characters.
    """

    digest: str
    text: str


class Rerun:
    """Compares recorded answers with the results of their SQL, and runs each distinct SQL text only once.

    `schema` contains the columns, for the translation of SQL to the database's dialect. `skipped` contains
    the SQL that is skipped to save time.
    """

    def __init__(
        self, database: SafeDatabase, schema: Sequence[Column], skipped: frozenset[str] = frozenset()
    ) -> None:
        self._database, self._schema, self._skipped = database, schema, skipped
        self._seen: dict[str, AnswerDigest | str] = {}

    def rule(self) -> RowRule:
        """Return the row rule that requires an answer to equal the result of its SQL."""
        return RowRule(
            "answer_reproduces",
            "The SQL, run again on the database, returns the recorded answer.",
            ("sql", "answer", "answer_rows"),
            self._check,
        )

    def _check(self, record: Record) -> str | None:
        if record["sql"] in self._skipped:
            return None
        try:
            rows = [tuple(row) for row in json.loads(record["answer_rows"])]
        except (ValueError, TypeError):
            return f"answer_rows is not a list of rows: {record['answer_rows'][:WIDTH]}"
        text = "; ".join(", ".join(write_plain(cell) for cell in row) for row in rows)
        if record["answer"] != text:
            return f"answer is {record['answer']!r}, but answer_rows gives {text!r}"
        if record["sql"] not in self._seen:
            self._seen[record["sql"]] = self._run(record["sql"])
        now = self._seen[record["sql"]]
        if isinstance(now, str):
            return now
        then = digest_answer(rows)
        return "" if now.digest == then.digest else f"the database returns {now.text}, not {then.text}"

    def _run(self, sql: str) -> AnswerDigest | str:
        try:
            statement, values = bind(sql, self._database.dialect, self._schema)
            stream = self._database.stream(statement, parameters=values)
            return digest_answer(row for batch in stream for row in batch)
        except (SqlError, SqlglotError) as error:
            return f"the SQL fails: {type(error).__name__}: {' '.join(str(error).split())}"


def digest_answer(rows: Iterable[tuple[Value, ...]]) -> AnswerDigest:
    """Return a digest of rows that ignores their order, because most queries have no ORDER BY.

    A whole number has the same digest as an integer and as a float, because the type of a mean depends on
    the engine.
    """
    whole = (
        [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in row] for row in rows
    )
    encoded = sorted(map(ROWS_JSON.encode, whole))
    text = f"[{', '.join(encoded)}]"
    return AnswerDigest(make_id(encoded), text if len(text) <= WIDTH else text[: WIDTH - 1] + "…")


def choose_skipped_sql(groups: Path, per_template: int | None, seed: int) -> frozenset[str]:
    """Return the SQL to skip, so that only `per_template` groups of each SQL template run.

    `groups` is the artifact fill_in. If `per_template` is None, nothing is skipped. The groups that run are
    sampled with `seed`.
    """
    if per_template is None:
        return frozenset()
    ranked: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for record in read_records(groups, ["id", "sql_template", "sql"]):
        ranked[record["sql_template"]].append((make_id(seed, record["id"]), record["sql"]))
    return frozenset(sql for queries in ranked.values() for _, sql in sorted(queries)[per_template:])


def expect_true_in_world(
    groups: Sequence[Group],
    questions: Mapping[str, str],
    part: SafeDatabase,
    schema: Sequence[Column],
    world: DatabaseEntry,
) -> RowRule:
    """Expect that the SQL of every group returns the same answer on `world`, the larger database.

    `questions` contains a question of each group. `part` is the database that is part of `world`; the limits
    of `part` apply to both databases. Raises BadInput if `world` lacks a column that the groups use.
    """
    others = dict(find_other_answers(filter(_has_rows, groups), world, part.limits))
    with SafeDatabase(world, part.limits) as whole:
        here, there = (count_rows(database, schema) for database in (part, whole))

    def check(record: Record) -> str:
        if record["id"] not in others:
            return ""
        text = digest_answer(others[record["id"]]).text
        asked = questions.get(record["id"], record["sql"])
        return f"{asked}: the full database returns {text}, not {record['answer_rows'][:WIDTH]}"

    says = (
        f"The SQL returns the same answer on the full database. This database has {here:,} of the {there:,} "
        "rows of the full database. A group is not checked if its texts limit the question to this database."
    )
    return RowRule("true_in_world", says, ("id", "sql", "answer_rows"), check)


def count_rows(database: SafeDatabase, schema: Sequence[Column]) -> int:
    """Return the number of rows in all tables of a schema. Raises SqlError if a table does not exist."""
    counts = 0
    for table in sorted({column.table for column in schema}):
        sql = f"SELECT COUNT(*) FROM {quote_name(table).sql(dialect=CANONICAL)}"  # noqa: S608 (quoted)
        ((count,),) = database.query(translate(sql, database.dialect, schema)).rows
        counts += int(count or 0)
    return counts


def _has_rows(group: Group) -> bool:
    try:
        return all(isinstance(row, list) for row in json.loads(group.answer_rows))
    except (ValueError, TypeError):
        return False
