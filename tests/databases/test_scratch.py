"""Tests of temporary databases with rows written by a model."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from tasks.databases.scratch.scratch import Built, ScratchLimits, build_scratch, write_database
from tasks.errors import BadInput, SqlError, SqlFailed, SqlRefused, SqlTooLarge
from tests.hostile.kinds.scratch_replies import CREATE

GOOD = """Here are the rows:
```sql
-- one book, before its author
INSERT INTO Books (book_id, title, price, editor) VALUES (1, 'Ann''s; -- book', -1.5, 7), (2, "B", 1e3, NULL);
INSERT INTO authors /* all columns */ VALUES (7, 'Ünal
Ann\r
''', TRUE)
```
They're done; DROP TABLE books;
```
INSERT INTO "order" VALUES (1, 2, 'x')
"""


def run(script: str) -> dict[str, list[tuple[object, ...]]]:
    """Run a script on an empty database; return the rows by table."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return read_tables(connection)


def read_tables(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    return {
        table: connection.execute(f'SELECT * FROM "{table}" ORDER BY 1').fetchall()
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }


def fail(text: str, kind: type[SqlError] = SqlFailed, create: list[str] = CREATE, **limits: float) -> str:
    with pytest.raises(kind) as caught:
        build_scratch(create, text, ScratchLimits.model_validate(limits))
    assert type(caught.value) is kind
    return str(caught.value)


def test_a_good_reply_builds() -> None:
    built = build_scratch(CREATE, GOOD)
    assert built.rows == {"authors": 1, "books": 2, "order": 1, "reviews": 0}
    assert built.script.startswith("".join(f"{statement};\n" for statement in CREATE))
    assert "\nINSERT INTO books (book_id, title, price, editor) VALUES (2, 'B', 1e3, NULL);\n" in built.script
    assert run(built.script) == {
        "authors": [(7, "Ünal\nAnn\r\n'", 1)],
        "books": [(1, "Ann's; -- book", -1.5, 7), (2, "B", 1000.0, None)],
        "order": [(1, 2, "x")],
        "reviews": [],
    }


def test_a_script_is_a_reply_itself() -> None:
    built = build_scratch(CREATE, GOOD)
    inserts = built.script.split(";\n", len(CREATE))[-1]
    assert build_scratch(CREATE, inserts) == built


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("INSERT INTO authors VALUES (1, 'A', 1), ('x', 'B', 1)",
         "statement 1 (INSERT INTO authors VALUES (1, 'A', 1), ('x', 'B', 1)), row 2: "
         "the key authors.author_id must be a whole number"),
        ("INSERT INTO authors VALUES (1, 'A', 1);\n\n;INSERT INTO authors VALUES (2, 'B', 'long ago');",
         "statement 2 (INSERT INTO authors VALUES (2, 'B', 'long ago')), row 1: "
         "cannot store TEXT value in INTEGER column authors.born"),
        ("INSERT INTO books (book_id, price) VALUES (1, 2)", "row 1: NOT NULL constraint failed: books.t"),
        ("INSERT INTO authors VALUES (1, NULL, 1)", "row 1: NOT NULL constraint failed: authors.full_name"),
        ("INSERT INTO reviews VALUES (NULL, 'x', 'y')", "row 1: NOT NULL constraint failed: reviews.place"),
        ("INSERT INTO authors VALUES (1, 'A', 1); INSERT INTO authors VALUES (1, 'B', 2)",
         "statement 2 (INSERT INTO authors VALUES (1, 'B', 2)), row 1: "
         "UNIQUE constraint failed: authors.author_id"),
        ("INSERT INTO authors (author_id, nmae) VALUES (1, 'A')",
         "unknown column of authors 'nmae'; expected one of author_id, full_name, born"),
        ("INSERT INTO authors (born, BORN) VALUES (1, 2)", "the column born is listed twice"),
        ("INSERT INTO authors VALUES (1, 'A')",
         "row 1: expected a value for each of the 3 columns (author_id, full_name, born) of authors, got 2"),
        ("INSERT INTO books VALUES (1, 'A', 1, 7), (2, 'B', 1, 8); INSERT INTO authors VALUES (8, 'B', 1)",
         "row 1: books.editor = 7, but authors has no such author_id (it has 8)"),
        ("INSERT INTO authors VALUES " + ", ".join(f"({n}, 'A', 1)" for n in range(9)) + ";"
         "INSERT INTO books (title, editor) VALUES ('a', 10), ('b', 11), ('c', 12), ('d', 13)",
         "but authors has no such author_id (it has 0, 1, 2, 3, 4, ...); and 2 more"),
        ("INSERT INTO \"order\" VALUES (1, 2, 'x'); INSERT INTO reviews VALUES ('p', 'y', 'x')",
         "reviews.place = 'p' and reviews.kind = 'y', but order has no such place, kind (it has (2, 'x'))"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(text: str, line: str) -> None:
    assert line in fail(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "the reply contains no statement; allowed: INSERT INTO"),
        ("```\n\n```", "no statement"),
        ("-- nothing", "no statement"),
        ("INSERT INTO authors VALUES (1, 'A\0', 1)", "the reply contains a NUL character"),
        ("INSERT INTO authors VALUES (1, '\ud800', 1)", "the reply contains half of a character"),
        ("DELETE FROM books", "statement 1 (DELETE FROM books): expected INSERT, got 'DELETE'; allowed"),
        ("INSERT INTO authors VALUES (1, 'A', 1); PRAGMA foreign_keys = OFF", "statement 2 (PRAGMA foreign"),
        ("INSERT INTO authors VALUES (1, 'O'Neil's', 1)", "expected a comma or ), got 'Neil'; an apo"),
        ("INSERT INTO authors VALUES (1, 'A', 1);\nINSERT INTO authors VALUES (2, 'O'Neil', 1);\n",
         "statement 2 (INSERT INTO authors VALUES (2, 'O'Neil', 1)): a quote or a comment is not closed"),
        ("INSERT INTO authors VALUES (1, 'A', 2020-01-01)", "expected a comma or ), got '-'; allowed"),
        ("INSERT INTO authors VALUES (1, 'A',",
         "expected a number, a text in single quotes or NULL, but the statement ends"),
        ("INSERT INTO publishers VALUES (1)",
         "unknown table 'publishers'; expected one of authors, books, order,"),
        ("INSERT INTO authors VALUES (1, 'A', 1e400)", "the number 1e400 is too large"),
    ],
)  # fmt: skip
def test_what_is_no_row_is_refused(text: str, line: str) -> None:
    assert line in fail(text, SqlRefused)


def test_each_limit_has_its_own_error() -> None:
    many = "INSERT INTO authors VALUES " + ", ".join(f"({n}, 'A', 1)" for n in range(10))
    assert "the statements insert more than 9 rows" in fail(many, SqlTooLarge, rows=9)
    assert build_scratch(CREATE, many, ScratchLimits(rows=10)).rows["authors"] == 10
    again = many.replace("(", "(1") + ";" + many
    assert "statement 2 (INSERT" in fail(again, SqlTooLarge, rows=15)
    assert "at most 50 are allowed" in fail(many, SqlTooLarge, characters=50)
    long = f"INSERT INTO authors VALUES (1, '{'ü' * 200}', 1)"
    assert "row 1: a value has more than 300 bytes" in fail(long, SqlTooLarge, bytes=300)
    assert build_scratch(CREATE, long, ScratchLimits(bytes=402)).rows["authors"] == 1


def test_a_database_is_the_same_file_each_time(tmp_path: Path) -> None:
    built: Built = build_scratch(CREATE, GOOD)
    first, second = tmp_path / "a" / "one.sqlite", tmp_path / "two.sqlite"
    write_database(built.script, first)
    write_database(built.script, second)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "one.sqlite", "two.sqlite"]
    with contextlib.closing(sqlite3.connect(f"file:{first}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert read_tables(connection) == run(built.script)


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH '{folder}/evil' AS e", "VACUUM INTO '{folder}/evil'", "nonsense", "DELETE FROM a",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) INSERT INTO a SELECT n FROM r",
        "INSERT INTO a VALUES (zeroblob(900000000))",
        "INSERT INTO a VALUES (1); " + "INSERT INTO a SELECT b FROM a;" * 40,
        "PRAGMA user_version = 1", "DROP TABLE a",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT b FROM a",
        "CREATE VIRTUAL TABLE f USING fts5(x)", "UPDATE a SET b = 2", "CREATE TEMP TABLE t (x)",
        "INSERT INTO a SELECT 1 FROM " + ", ".join(f"sqlite_master s{n}" for n in range(30)),
    ],
)  # fmt: skip
def test_a_script_makes_tables_and_rows_and_nothing_else(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    tables = "".join(f"CREATE TABLE t{n} (x);" for n in range(5))
    script = f"CREATE TABLE a (b); {tables} {statement.replace('{folder}', str(tmp_path))};"
    with pytest.raises(BadInput, match=r"the script fails: .*CREATE TABLE and INSERT"):
        write_database(script, path)
    assert list(tmp_path.iterdir()) == []


def test_a_script_may_have_keys_and_several_rows_in_a_statement(tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, 'x')" for n in range(2_000))
    create = "CREATE TABLE a (b INTEGER PRIMARY KEY, c TEXT DEFAULT 'x' REFERENCES a (c), UNIQUE (c, b))"
    script = f"{create}; INSERT INTO a VALUES {rows};"
    write_database(script, tmp_path / "x.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM a").fetchall() == [(2_000,)]


@pytest.mark.parametrize(
    "text",
    [
        "```sql INSERT INTO authors VALUES (1, 'A', 1);\nINSERT INTO authors VALUES (2, 'B', 1);\n```",
        "INSERT INTO authors VALUES (1, 'A', 1);\n```\nINSERT INTO authors VALUES (2, 'B', 1);\n```",
        "```\nINSERT INTO authors VALUES (2, 'B', 1);\n```\nand\n- insert  into authors (born) values (1)",
    ],
)
def test_no_row_outside_of_the_blocks_is_lost_in_silence(text: str) -> None:
    assert "a statement is outside the code blocks (" in fail(text, SqlRefused)


def test_a_columns_name_is_no_kind_of_error() -> None:
    for name in ("interrupted", "out of memory", "too big", "not authorized", "is prohibited"):
        create = [f'CREATE TABLE flights (id INTEGER PRIMARY KEY, "{name}" INTEGER NOT NULL) STRICT']
        assert f"NOT NULL constraint failed: flights.{name}" in fail(
            "INSERT INTO flights VALUES (1, NULL)", create=create
        )
