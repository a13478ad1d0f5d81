from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases.servers import PASSWORD, PASSWORD_ENV, Place, copy_tables, open_place

LIBRARY = """
CREATE TABLE authors (author_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, born DATE);
CREATE TABLE books (
    book_id INTEGER PRIMARY KEY, isbn TEXT UNIQUE, title TEXT NOT NULL, price NUMERIC(8, 2), pages INTEGER,
    cover BLOB,
    editor INTEGER REFERENCES authors (author_id), translator INTEGER REFERENCES authors (author_id));
CREATE TABLE subjects (subject_code TEXT PRIMARY KEY NOT NULL, subject TEXT, in_print BOOLEAN);
CREATE TABLE book_subjects (
    book_id INTEGER REFERENCES books (book_id), subject_code TEXT REFERENCES subjects (subject_code),
    PRIMARY KEY (book_id, subject_code));
CREATE TABLE notes (word, "odd type" POINT(3), memo LONG RAW, lost INTEGER REFERENCES nowhere (id));
CREATE VIEW titles AS SELECT title FROM books;
"""


def make_library(path: Path, *, odd: bool = True) -> Path:
    """Write the library database. odd: include the table and the view that only SQLite supports."""
    connection = sqlite3.connect(path)
    connection.executescript(LIBRARY if odd else LIBRARY[: LIBRARY.index("CREATE TABLE notes")])
    connection.executemany(
        "INSERT INTO authors VALUES (?, ?, ?)", [(n, f"Author {n}", "1900-01-01") for n in range(50)]
    )
    connection.executemany(
        "INSERT INTO books VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(n, f"i{n}", f"Book {n}", n / 4, n, b"\x00\xff", n % 50, (n + 1) % 50) for n in range(1000)],
    )
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A database of 1,000 books in a separate folder."""
    path = tmp_path / "library" / "library.sqlite"
    path.parent.mkdir()
    return make_library(path)


@pytest.fixture(params=["postgresql", "mariadb"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    """The library on a database server, with a read-only account."""
    path = make_library(tmp_path / "plain.sqlite", odd=False)
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(request.param) as opened:
        copy_tables(path, opened)
        yield opened
