from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from tasks.databases.reflection import reflect
from tasks.databases.scratch.scratch import build_scratch, write_create
from tasks.errors import BadInput
from tests.databases.test_scratch import GOOD, fail, run


def test_our_own_mistake_is_no_models_error() -> None:
    with pytest.raises(BadInput, match=r"the scratch database: .*incomplete input"):
        build_scratch(["CREATE TABLE"], GOOD)
    broken = ["CREATE TABLE a (x INTEGER)", "CREATE TABLE b (y INTEGER REFERENCES a (x))"]
    with pytest.raises(BadInput, match="foreign key mismatch"):
        build_scratch(broken, "INSERT INTO a VALUES (1)")


def test_a_schema_becomes_strict_tables_with_its_keys(library: Path) -> None:
    columns = reflect(library)
    create = write_create(columns, {"books", "book_subjects", "authors", "subjects", "notes"})
    assert create[-1] == (
        "CREATE TABLE book_subjects (\n  book_id INTEGER NOT NULL,\n  subject_code TEXT NOT NULL,\n"
        "  PRIMARY KEY (book_id, subject_code),\n  FOREIGN KEY (book_id) REFERENCES books (book_id),\n"
        "  FOREIGN KEY (subject_code) REFERENCES subjects (subject_code)\n) STRICT"
    )
    names = [statement.split()[2] for statement in create]
    assert names == ["authors", "books", "notes", "subjects", "book_subjects"]
    assert '"odd type" INTEGER' in create[2]
    assert "REFERENCES" not in write_create(columns, {"book_subjects"})[0]
    built = build_scratch(create, 'INSERT INTO notes ("odd type", lost) VALUES (2, 1)')
    assert run(built.script)["notes"] == [(1, None, 2, None)]


def test_keys_of_several_columns_circles_and_words_of_sql(tmp_path: Path) -> None:
    schema = """
    CREATE TABLE "order" (a INTEGER, b TEXT, "group by" REAL, PRIMARY KEY (a, b));
    CREATE TABLE lines (x INTEGER, y TEXT, z INTEGER, code TEXT, FOREIGN KEY (y, x) REFERENCES "order" (b, a),
        FOREIGN KEY (code) REFERENCES codes (code));
    CREATE TABLE parts (x INTEGER REFERENCES "order" (a));
    CREATE TABLE codes (id INTEGER PRIMARY KEY, code TEXT UNIQUE, best INTEGER REFERENCES bests (id));
    CREATE TABLE bests (id INTEGER PRIMARY KEY, code INTEGER REFERENCES codes (id), yes BOOLEAN NOT NULL);
    """
    with contextlib.closing(sqlite3.connect(tmp_path / "schema.sqlite")) as connection:
        connection.executescript(schema)
    create = write_create(reflect(tmp_path / "schema.sqlite"), ["order", "lines", "parts", "codes", "bests"])
    text = "\n".join(create)
    assert 'FOREIGN KEY (x, y) REFERENCES "order" (a, b)' in text
    assert "FOREIGN KEY (code) REFERENCES codes (code)" in text
    assert "code TEXT UNIQUE" in text
    assert "CREATE TABLE parts (\n  x INTEGER\n) STRICT" in text
    assert "yes INTEGER NOT NULL" in text
    assert '"group by" REAL' in text
    rows = """INSERT INTO codes (id, code, best) VALUES (1, 'c', 1);
    INSERT INTO bests (id, code, yes) VALUES (1, 1, true); INSERT INTO parts VALUES (99);
    INSERT INTO "order" (a, b) VALUES (1, 'b'); INSERT INTO lines (x, y, code) VALUES (1, 'b', 'c')"""
    assert set(build_scratch(create, rows).rows.values()) == {1}
    assert "no such a, b" in fail(rows.replace("(1, 'b', 'c')", "(1, 'a', 'c')"), create=create)


def test_a_key_is_never_null(tmp_path: Path) -> None:
    schema = """
    CREATE TABLE codes (code TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE pairs (a INTEGER, b TEXT, PRIMARY KEY (a, b));
    CREATE TABLE numbers (id INTEGER PRIMARY KEY NOT NULL, name TEXT);
    """
    with contextlib.closing(sqlite3.connect(tmp_path / "schema.sqlite")) as connection:
        connection.executescript(schema)
    create = write_create(reflect(tmp_path / "schema.sqlite"), ["codes", "pairs", "numbers"])
    assert "id INTEGER PRIMARY KEY,\n" in "\n".join(create)
    for text, column in (
        ("INSERT INTO codes VALUES (NULL, 'x')", "codes.code"),
        ("INSERT INTO codes (name) VALUES ('x')", "codes.code"),
        ("INSERT INTO pairs VALUES (1, NULL)", "pairs.b"),
        ("INSERT INTO pairs VALUES (NULL, 'x')", "pairs.a"),
    ):
        assert f"NOT NULL constraint failed: {column}" in fail(text, create=create)
