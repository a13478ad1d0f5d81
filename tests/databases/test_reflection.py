from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tasks.databases import reflection
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.reflection import reflect
from tasks.errors import BadInput, SqlFailed
from tests.databases.servers import Place

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the databases of the shared folder are not here"
)


def test_types_keys_and_nullability(library: Path) -> None:
    columns = {column.id: column for column in reflect(library)}
    types = {
        name: columns[name].type for name in ("books.title", "books.price", "books.pages", "authors.born")
    }
    assert types == {
        "books.title": "text",
        "books.price": "real",
        "books.pages": "integer",
        "authors.born": "date",
    }
    assert columns["subjects.in_print"].type == "boolean"
    assert columns["books.editor"].references == "authors.author_id"
    assert columns["subjects.subject_code"].primary_key
    assert not columns["subjects.subject_code"].nullable
    assert columns["books.price"].nullable
    assert not columns["books.title"].nullable


def test_columns_are_sorted_and_views_left_out(library: Path) -> None:
    columns = reflect(library)
    assert [column.id for column in columns] == sorted(column.id for column in columns)
    assert "titles" not in {column.table for column in columns}


def test_odd_types_and_keys_to_nowhere_do_no_harm(library: Path) -> None:
    columns = {column.id: column for column in reflect(library)}
    assert columns["notes.word"].type == "other"
    assert columns["notes.odd type"].type in {"integer", "real", "other"}
    assert columns["notes.lost"].references is None


@pytest.mark.parametrize(
    ("declaration", "descriptive"),
    [
        ("isbn TEXT", True),
        ("tail_number TEXT PRIMARY KEY", True),
        ("number INTEGER PRIMARY KEY", False),
        ("id TEXT", False),
        ("customer_id TEXT", False),
        ("CustomerId INTEGER", False),
        ("StuID INTEGER", False),
        ("PERSON_ID INTEGER", False),
        ("qid TEXT", False),
        ("uuid TEXT", False),
        ("photo BLOB", False),
        ("paid BOOLEAN", True),
        ("humid REAL", True),
        ("grid TEXT", True),
        ("VALID TEXT", True),
    ],
)
def test_what_a_person_would_ask_about(tmp_path: Path, declaration: str, descriptive: bool) -> None:
    path = tmp_path / "one.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE one ({declaration})")
    connection.close()
    assert reflect(path)[0].descriptive is descriptive


def test_no_cell_is_read(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reflect a schema with an authorizer that forbids reading columns of user tables."""
    expected, read = reflect(library), []

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(library, check_same_thread=False)

        def authorize(action: int, table: str | None, *_: object) -> int:
            if action == sqlite3.SQLITE_READ and not str(table).startswith(("sqlite_", "pragma_")):
                read.append(table)
                return sqlite3.SQLITE_DENY
            return sqlite3.SQLITE_OK

        connection.set_authorizer(authorize)
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("SELECT title FROM books")
        read.clear()
        return connection

    monkeypatch.setattr(DatabaseEntry, "connect", lambda _: create_engine("sqlite://", creator=connect))
    assert reflection.reflect(library) == expected
    assert read == []


def test_the_file_is_untouched(library: Path) -> None:
    before = hashlib.sha256(library.read_bytes()).hexdigest()
    reflect(library)
    assert hashlib.sha256(library.read_bytes()).hexdigest() == before
    assert [path.name for path in library.parent.iterdir()] == [library.name]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    path.write_text("this is no database" * 100)
    with pytest.raises(BadInput, match=r"text\.sqlite: its schema cannot be read: file is not a database"):
        reflect(path)


@needs_shared
def test_chinook() -> None:
    columns = {column.id: column for column in reflect(SHARED / "chinook" / "Chinook_Sqlite.sqlite")}
    assert columns["Track.AlbumId"].references == "Album.AlbumId"
    assert columns["Track.UnitPrice"].type == "real"
    assert columns["Artist.Name"].descriptive
    assert not columns["Customer.SupportRepId"].descriptive


@needs_shared
@pytest.mark.parametrize("name", ["flight_2", "wta_1", "formula_1", "sakila_1", "world_1"])
def test_spider(name: str) -> None:
    columns = reflect(SHARED / "spider" / "database" / name / f"{name}.sqlite")
    assert any(column.descriptive for column in columns)
    known = {column.id for column in columns}
    assert {column.references for column in columns} - {None} <= known


def test_a_server_is_reflected_by_an_account_that_can_read_no_cell(place: Place, tmp_path: Path) -> None:
    expected = reflect(tmp_path / "plain.sqlite")
    if place.kind == "postgresql":
        place.run(f"REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM {place.reader}")
    else:
        place.run(
            f"REVOKE SELECT ON {place.name}.* FROM {place.reader}",
            f"GRANT REFERENCES ON {place.name}.* TO {place.reader}",
        )
    engine = place.entry.connect()
    with engine.connect() as connection, pytest.raises(DBAPIError, match="denied"):
        connection.execute(text("SELECT title FROM books"))
    assert reflect(place.entry) == expected


@pytest.mark.parametrize("name", [b"tabXX", b"colXX"])
def test_a_schema_that_is_not_utf8_is_a_line(tmp_path, name):
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE "tabXX" ("colXX" TEXT)')
    path.write_bytes(path.read_bytes().replace(name, name.replace(b"XX", b"\xff\xfe")))
    with pytest.raises(BadInput, match="its schema cannot be read: Could not decode to UTF-8") as refused:
        reflect(DatabaseEntry(file=path))
    assert str(refused.value).isprintable()
    with SafeDatabase(path) as database, pytest.raises(SqlFailed):
        database.query('SELECT "colXX" FROM "tabXX" UNION SELECT 1 FROM gone')
