from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url

from flows.commands.snapshot import find_servers, refresh_records
from tasks.databases.columns import Column
from tasks.databases.content import (
    DatabaseContent,
    check_columns,
    ensure_unchanged,
    load_record,
    read_content,
    write_record,
)
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect
from tasks.errors import BadInput, DatabaseGone
from tests.databases.gate import open_gate
from tests.databases.servers import PASSWORD, Place


@pytest.fixture
def entry(place: Place, tmp_path: Path) -> DatabaseEntry:
    return place.entry.model_copy(update={"file": tmp_path / "snapshots" / "shop.json"})


def test_equal_rows_give_an_equal_record_on_every_engine(place: Place, tmp_path: Path) -> None:
    ours = read_content(DatabaseEntry(name="shop", file=tmp_path / "plain.sqlite"))
    assert read_content(place.entry) == ours
    assert (ours.tables["books"].rows, ours.count_rows()) == (1000, 1050)
    assert ours.tables["books"].columns["editor"] == "integer -> authors.author_id"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE books SET title = 'Book 8' WHERE book_id = 7",
        "DELETE FROM books WHERE book_id = 7",
        "INSERT INTO books (book_id, title) VALUES (5000, 'More')",
        "UPDATE books SET price = NULL WHERE book_id = 7",
        "ALTER TABLE books ADD COLUMN shelf INTEGER",
    ],
)
def test_a_change_is_named_by_its_table(place: Place, entry: DatabaseEntry, statement: str) -> None:
    write_record(entry, read_content(entry))
    with ensure_unchanged(entry):
        pass
    place.run(statement)
    place.grant()
    assert read_content(entry).compare(load_record(entry)) == ["books"]
    with pytest.raises(BadInput, match=r"databases\.shop: has changed since it was recorded: books"):
        ensure_unchanged(entry).__enter__()


def test_a_change_while_a_stage_reads_fails_it(place: Place, entry: DatabaseEntry) -> None:
    write_record(entry, read_content(entry))
    with pytest.raises(BadInput, match="changed since"), ensure_unchanged(entry):
        place.run("DELETE FROM books WHERE book_id = 7")


def test_the_order_of_rows_is_no_change(place: Place) -> None:
    before = read_content(place.entry)
    place.run(
        "CREATE TABLE moved AS SELECT * FROM books WHERE book_id < 5",
        "DELETE FROM books WHERE book_id < 5",
        "INSERT INTO books SELECT * FROM moved",
        "DROP TABLE moved",
    )
    assert read_content(place.entry) == before


def test_columns_that_changed_are_named(place: Place, entry: DatabaseEntry) -> None:
    write_record(entry, read_content(entry))
    columns = reflect(entry)
    check_columns(entry, columns)
    new = Column("books.shelf", "books", "shelf", "text", True, False, None, True)
    with pytest.raises(BadInput, match="has changed since it was recorded: books"):
        check_columns(entry, sorted([*columns, new], key=lambda column: column.id))


def test_a_run_brings_records_up_to_date_and_says_so(place: Place, tmp_path: Path) -> None:
    fields = {"url": place.entry.url, "password_env": place.entry.password_env, "file": "snapshots/shop.json"}
    servers = find_servers(tmp_path, {"databases": {"shop": fields, "other": {"file": "other.sqlite"}}})
    assert list(servers) == ["shop"]
    said: list[str] = []
    refresh_records(servers, ["shop"], said.append)
    first = (tmp_path / "snapshots/shop.json").read_bytes()
    refresh_records(servers, ["shop", "other"], said.append)
    assert (tmp_path / "snapshots/shop.json").read_bytes() == first
    place.run("DELETE FROM books WHERE book_id = 7")
    refresh_records(servers, ["shop"], said.append)
    assert said == [
        "databases.shop: 4 tables, 1,050 rows; changed: authors, book_subjects, books, subjects",
        "databases.shop: 4 tables, 1,050 rows; unchanged",
        "databases.shop: 4 tables, 1,049 rows; changed: books",
    ]
    assert PASSWORD not in first.decode()


def test_a_server_that_is_gone_keeps_its_record(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is an extra")
    fields = {"url": "postgresql+psycopg://ann@127.0.0.1:9/shop", "file": "snapshots/shop.json"}
    servers = find_servers(tmp_path, {"databases": {"shop": fields}})
    with pytest.raises(
        DatabaseGone, match=r"databases\.shop: the server does not respond.*run the same command again"
    ):
        refresh_records(servers, ["shop"], print)
    write_record(servers["shop"], DatabaseContent(tables={}))
    said: list[str] = []
    refresh_records(servers, ["shop"], said.append)
    assert len(said) == 1
    assert said[0].endswith("the last recorded snapshot is used until the database is available again")


def test_a_server_that_stops_while_its_tables_are_read_is_one_clear_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)  # a driver's errors in __del__
    address = make_url(place.entry.url or "")
    whole = 0
    for part in range(8):
        with open_gate(address.host or "", address.port or 0) as gate:
            url = address.set(host="127.0.0.1", port=gate.port).render_as_string(hide_password=False)
            entry = place.entry.model_copy(update={"url": url})
            if not part:
                read_content(entry)
                whole = gate.passed
                continue
            gate.limit = whole * part // 8
            with pytest.raises(DatabaseGone, match=r"databases\.shop: the server does not respond"):
                read_content(entry)
    gc.collect()
    assert not said


def test_a_server_needs_a_file_for_its_record(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"databases\.shop: .*add `file: snapshots/shop\.json`"):
        find_servers(tmp_path, {"databases": {"shop": {"url": "postgresql+psycopg://ann@h/shop"}}})


def test_another_file_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text(json.dumps({"mine": 1}))
    entry = DatabaseEntry(name="shop", url="postgresql+psycopg://ann@h/shop", file=path)
    with pytest.raises(BadInput, match="is not a record of a database's content"):
        write_record(entry, DatabaseContent(tables={}))
    assert json.loads(path.read_text()) == {"mine": 1}
    with pytest.raises(BadInput, match="run benchloom snapshot shop"):
        load_record(entry.model_copy(update={"file": tmp_path / "none.json"}))
