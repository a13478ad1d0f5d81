"""Convert records of text-to-SQL datasets (Spider, CoSQL, BIRD) to items: question, gold SQL and schema."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tasks.errors import BadInput
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.stream_dataset import DatasetItem, DatasetShot, LeftOutRecord, tidy, tidy_line

PLAIN_NAME = re.compile(r"[\w][\w .()-]{0,100}")
LONGEST_SCHEMA = 200_000
"""Maximum total length in characters of a database's CREATE statements."""
Placed = Iterator[tuple[str, "SqlQuestion | LeftOutRecord"]]


@dataclass(frozen=True)
class SqlQuestion:
    """A question with its gold SQL. `key`: the split or file, and the question's number, such as `dev-12`."""

    key: str
    database: str
    question: str
    query: str


@dataclass(frozen=True)
class PromptDatabase:
    """A database that questions refer to.

    - `schema`: its CREATE statements.
    - `files`: its SQLite file, then the databases of its test suite.
    - `problem`: why the database cannot be used; empty if it is usable.
    """

    schema: str = ""
    files: tuple[Path, ...] = ()
    problem: str = ""


def read_pairs(path: Path, query: str = "query", number: str = "") -> Placed:
    """Yield (position, question or LeftOutRecord) for each record in the layout of Spider or BIRD.

    The key of a question is `<file name without suffix>-<number>`.

    - `query`: the field with the gold SQL.
    - `number`: the field with the question's number; by default, the number is the position, starting at 0.
    """
    for count, (where, record) in enumerate(read_records(path)):
        if isinstance(record, BrokenRecord):
            yield where, LeftOutRecord("broken", record.why)
            continue
        own = record if isinstance(record, Mapping) else {}
        key = str(own.get(number, count)) if isinstance(own.get(number, count), str | int) else str(count)
        yield (
            where,
            make_question(f"{path.stem}-{key}", own.get("db_id"), own.get("question"), own.get(query)),
        )


def make_question(key: str, database: object, question: object, query: object) -> SqlQuestion | LeftOutRecord:
    """Return a question made from published fields, or a LeftOutRecord if a field is missing or invalid."""
    name, text, sql = tidy(database), tidy_line(question), tidy(query).rstrip("; \n")
    if not (name and text and sql):
        lost = [
            word
            for word, text_part in (("database", name), ("question", text), ("SQL", sql))
            if not text_part
        ]
        return LeftOutRecord("incomplete", f"{key}: no {' and no '.join(lost)}")
    if not PLAIN_NAME.fullmatch(name):
        return LeftOutRecord("bad_name", f"{key}: {name[:80]!r}")
    return SqlQuestion(key, name, text, sql)


def make_sql_items(
    questions: Iterable[tuple[str, SqlQuestion | LeftOutRecord]],
    look_up: Callable[[str], PromptDatabase],
    *,
    keep: bool = False,
) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
    """Yield (position, item) for each question; a question without a usable database is a LeftOutRecord.

    `keep`: whether a question without a usable database becomes an item, which is then not scored.
    """
    for where, question in questions:
        if isinstance(question, LeftOutRecord):
            yield where, question
            continue
        name = question.database
        found = look_up(name)
        if found.problem and not keep:
            yield where, LeftOutRecord("no_database", f"{name}: {found.problem}")
            continue
        yield (
            where,
            DatasetItem(
                question.key,
                question.question,
                question.question,
                found.schema,
                question.query,
                {"db_id": name},
                "" if found.problem else f"files/{name}/{name}.sqlite",
            ),
        )


def make_sql_shots(
    questions: Iterable[tuple[str, SqlQuestion | LeftOutRecord]],
) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
    """Yield (position, few-shot example) for each question; pass on each LeftOutRecord."""
    for where, pair in questions:
        if isinstance(pair, LeftOutRecord):
            yield where, pair
        else:
            yield where, DatasetShot(pair.key, pair.question, pair.question, pair.query)


def read_create_statements(path: Path) -> str:
    """Return the CREATE statements of a SQLite file's tables, in file order, separated by blank lines.

    The statements are read from sqlite_master. Raises BadInput if the file is not a database or has no table,
    or if the statements are too long.
    """
    address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            # The file is untrusted: its schema must not call functions with side effects.
            connection.execute("PRAGMA trusted_schema = OFF")
            rows = connection.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL "
                "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid"
            ).fetchall()
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise BadInput(path, f"is not a readable database: {' '.join(str(error).split())}") from error
    statements = [shorten_statement(str(row[0])) for row in rows]
    text = "\n\n".join(statements)
    if not statements:
        raise BadInput(path, "has no table")
    if len(text) > LONGEST_SCHEMA:
        raise BadInput(path, f"has CREATE statements that are too long ({len(text):,} characters)")
    return text


def shorten_statement(sql: str) -> str:
    """Return a CREATE statement without empty lines; any indentation becomes two spaces.

    Other line breaks are kept, because a line break ends a `--` comment.
    """
    lines = [line.rstrip() for line in tidy(sql).rstrip("; \n\t").splitlines()]
    return "\n".join(re.sub(r"^\s+", "  ", line) for line in lines if line) + ";"


def write_table_list(record: Mapping[str, object]) -> str:
    """Return CREATE statements for a database's record in tables.json; empty if the record is invalid."""
    tables, columns = record.get("table_names_original"), record.get("column_names_original")
    types = record.get("column_types")
    if not (isinstance(tables, list) and isinstance(columns, list) and isinstance(types, list)):
        return ""
    lines: dict[int, list[str]] = {number: [] for number in range(len(tables))}
    for column, kind in zip(columns, types, strict=False):
        match column:
            case [int(table), str(name)] if table in lines:
                lines[table].append(f'  "{tidy_line(name)}" {tidy_line(kind)}')
    statements = [
        f'CREATE TABLE "{tidy_line(name)}" (\n' + ",\n".join(lines[number]) + "\n);"
        for number, name in enumerate(tables)
    ]
    return "\n\n".join(statements)
