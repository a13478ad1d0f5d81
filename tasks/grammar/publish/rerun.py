"""Run the SQL behind answers again, to see that the database still says what the artifact says."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlglot.errors import SqlglotError

from tasks.artifacts.contracts import Record, RowRule, read_records
from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value
from tasks.errors import SqlError
from tasks.grammar.construct.fill_in import ROWS_JSON, format_value

WIDTH = 60


@dataclass(frozen=True)
class AnswerDigest:
    """An answer as far as it is compared: a hash of its rows in any order, and how they begin."""

    digest: str
    text: str


class Rerun:
    """Runs each SQL text once, whichever artifacts it stands in.

    left_out: SQL that is not run, for want of time.
    """

    def __init__(
        self, database: SafeDatabase, schema: Sequence[Column], skipped: frozenset[str] = frozenset()
    ) -> None:
        self._database, self._schema, self._skipped = database, schema, skipped
        self._seen: dict[str, AnswerDigest | str] = {}

    def rule(self) -> RowRule:
        """Make the rule that an answer is what its SQL gives."""
        return RowRule(
            "answer_reproduces",
            "Its SQL, run again on the database, gives its answer.",
            ("sql", "answer", "answer_rows"),
            self._check,
        )

    def _check(self, record: Record) -> str | None:
        if record["sql"] in self._skipped:
            return None
        try:
            rows = [tuple(row) for row in json.loads(record["answer_rows"])]
        except (ValueError, TypeError):
            return f"answer_rows is no list of rows: {record['answer_rows'][:WIDTH]}"
        said = "; ".join(", ".join(format_value(cell) for cell in row) for row in rows)
        if record["answer"] != said:
            return f"answer is {record['answer']!r}, its rows say {said!r}"
        if record["sql"] not in self._seen:
            self._seen[record["sql"]] = self._run(record["sql"])
        now = self._seen[record["sql"]]
        if isinstance(now, str):
            return now
        then = digest_answer(rows)
        return "" if now.digest == then.digest else f"the database says {now.text}, not {then.text}"

    def _run(self, sql: str) -> AnswerDigest | str:
        try:
            statement = translate(sql, self._database.dialect, self._schema)
            return digest_answer(row for batch in self._database.stream(statement) for row in batch)
        except (SqlError, SqlglotError) as error:
            return f"its SQL does not run: {type(error).__name__}: {' '.join(str(error).split())}"


def digest_answer(rows: Iterable[tuple[Value, ...]]) -> AnswerDigest:
    """Sum rows up, in whatever order they come: no SQL here says one."""
    told = sorted(map(ROWS_JSON.encode, rows))
    text = f"[{', '.join(told)}]"
    return AnswerDigest(make_id(told), text if len(text) <= WIDTH else text[: WIDTH - 1] + "…")


def choose_skipped_sql(groups: Path, per_template: int | None, seed: int) -> frozenset[str]:
    """List the SQL that is not run where only so many groups of each SQL template are: by hash and seed."""
    if per_template is None:
        return frozenset()
    ranked: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for record in read_records(groups, ["id", "sql_template", "sql"]):
        ranked[record["sql_template"]].append((make_id(seed, record["id"]), record["sql"]))
    return frozenset(sql for queries in ranked.values() for _, sql in sorted(queries)[per_template:])
