"""Tests that parts not read as tables are listed: indexes, partitions, inherited tables, views, schemas."""

import sqlite3
from contextlib import closing
from urllib.parse import parse_qsl

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import make_url

from tasks.databases.content import read_content
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import list_unread, reflect
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place

INDEXES = """
CREATE TABLE pages (page_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, page_data TEXT);
CREATE TABLE pages_data (size INTEGER);
CREATE INDEX by_title ON pages (title);
CREATE VIRTUAL TABLE old USING fts3(body);
CREATE VIRTUAL TABLE Older USING fts4(body);
CREATE VIRTUAL TABLE "new notes" USING fts5(body);
CREATE VIRTUAL TABLE pages_index USING fts5(title, content='pages', content_rowid='page_id');
CREATE VIRTUAL TABLE words USING fts5vocab('new notes', 'row');
CREATE VIRTUAL TABLE terms USING fts4aux(Older);
CREATE VIRTUAL TABLE boxes USING rtree(id, low, high);
CREATE VIEW titles AS SELECT title FROM pages;
INSERT INTO pages (title) VALUES ('Ash'), ('Elm');
ANALYZE;
"""
SHADOWS = {
    "old": "content segdir segments", "Older": "content docsize segdir segments stat",
    "new notes": "config content data docsize idx", "pages_index": "config data docsize idx",
    "boxes": "node parent rowid",
}  # fmt: skip


def test_what_sqlite_keeps_for_itself_is_no_data(tmp_path):
    path = tmp_path / "pages.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(INDEXES)
    assert {column.table for column in reflect(path)} == {
        "pages", "pages_data", "old", "Older", "new notes", "boxes",
    }  # fmt: skip
    unread = {part.what: part.reason for part in list_unread(path)}
    internal = [f"{table}_{ending}" for table, endings in SHADOWS.items() for ending in endings.split()]
    internal += ["pages_index", "words", "terms", "sqlite_sequence", "sqlite_stat1"]
    due = {f"table {name} is": "internal_table" for name in internal}
    # Some builds of SQLite have a second statistics table.
    unread.pop("table sqlite_stat4 is", None)
    assert unread == {**due, "view titles is": "view"}


@pytest.fixture(params=["postgresql"])
def place(request, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(request.param) as place:
        yield place


def test_partitions_and_heirs_are_read_once_through_their_root(place):
    place.run(
        "CREATE SCHEMA old",
        "CREATE TABLE pay (paid date, kind int) PARTITION BY RANGE (paid)",
        "CREATE TABLE pay_24 PARTITION OF pay FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') "
        "PARTITION BY LIST (kind)",
        "CREATE TABLE pay_24_a PARTITION OF pay_24 FOR VALUES IN (1)",
        "CREATE TABLE old.pay_24_b PARTITION OF pay_24 FOR VALUES IN (2)",
        "INSERT INTO pay SELECT '2024-02-01', 1 + n % 2 FROM generate_series(1, 20) n",
        "CREATE TABLE old.logs (day date) PARTITION BY RANGE (day)",
        "CREATE TABLE logs_24 PARTITION OF old.logs FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
        "INSERT INTO old.logs VALUES ('2024-02-01')",
        "CREATE TABLE base (n int)",
        'CREATE TABLE old.heir (size int, "In Use" boolean) INHERITS (base)',
        "INSERT INTO old.heir VALUES (1, 2, true)",
    )
    place.grant()
    held = read_content(place.entry).tables
    assert {name: table.rows for name, table in held.items()} == {"base": 1, "logs_24": 1, "pay": 20}
    unread = {part.what: part.why for part in list_unread(place.entry)}
    of_pay = "its rows are rows of pay, which is read"
    assert unread == {
        "table pay_24 is": of_pay,
        "table pay_24_a is": of_pay,
        "table old.pay_24_b is": of_pay,
        "table old.heir is": "its rows are rows of base, which is read; "
        'its own columns size, "In Use" are not',
        "schema old is": "1 table or view outside of the search path",
    }


def test_the_hint_reads_schemas_whose_names_need_quotes(place):
    names = ("Hr Staff", "a,b", 'we"ird\\x', "sales")
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    for schema in quoted:
        place.run(f"CREATE SCHEMA {schema}", f"GRANT USAGE ON SCHEMA {schema} TO {place.reader}")
    place.run(
        *(f'CREATE TABLE {schema}."T {n}" (k int PRIMARY KEY)' for n, schema in enumerate(quoted)),
        "CREATE TABLE sales.notes (k int)",
        'CREATE TABLE notes (k int REFERENCES "Hr Staff"."T 0")',
    )
    unread = {part.what: part for part in list_unread(place.entry)}
    assert set(unread) == {
        'schema "Hr Staff" is', 'schema "a,b" is', 'schema "we""ird\\x" is', "schema sales is",
        'foreign key notes.k -> "Hr Staff"."T 0" is',
    }  # fmt: skip
    (hint,) = {part.hint for part in unread.values() if part.hint}
    option = dict(parse_qsl(hint.partition("?")[2].removesuffix(" to the url")))
    url = make_url(place.entry.url).update_query_dict(option).render_as_string(hide_password=False)
    entry = DatabaseEntry(name="shop", url=url, password_env=PASSWORD_ENV)
    columns = {column.id: column for column in reflect(entry)}
    assert {column.table for column in columns.values()} == {"notes", "T 0", "T 1", "T 2", "T 3"}
    assert columns["notes.k"].references == "T 0.k"
    (part,) = list_unread(entry)
    assert part.what == "a part of schema sales is"


@pytest.mark.parametrize("place", ["postgresql", "mariadb"], indirect=True)
def test_views_and_foreign_tables_are_named(place):
    place.run("CREATE TABLE t (a int)", "CREATE VIEW v AS SELECT a FROM t")
    due = {"view v is": "view"}
    if place.kind == "postgresql":
        place.run(
            'CREATE MATERIALIZED VIEW "My view" AS SELECT a FROM t',
            "CREATE EXTENSION file_fdw",
            "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
            "CREATE FOREIGN TABLE far (a text) SERVER files OPTIONS (filename '/dev/null')",
        )
        due |= {'materialized view "My view" is': "view", "foreign table far is": "foreign_table"}
    place.grant()
    assert {part.what: part.reason for part in list_unread(place.entry)} == due
    assert {column.table for column in reflect(place.entry)} == {"t"}


FEW = {"deadline": None, "phases": [Phase.generate]}
WORDS = st.sampled_from(["ash", "Elm", "big fir", 'o"ak', "yew_data", "rowan's", "select"])
MODULES = ["fts3(body)", "fts4(body)", "fts5(body)", "rtree(id, low, high)", "geopoly(a)"]


@settings(max_examples=6, **FEW)
@given(
    virtual=st.lists(st.tuples(WORDS, st.sampled_from(MODULES)), max_size=4, unique_by=lambda pair: pair[0]),
    plain=st.lists(
        st.sampled_from(["oak_data", "content", "idx", "node_", "beech_config", "PINE"]), unique=True
    ),
)
def test_generated_virtual_tables_keep_what_sqlite_makes_for_them(virtual, plain, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        known = {name for (name,) in connection.execute("SELECT name FROM pragma_module_list")}
        made = {name for name, module in virtual if module.partition("(")[0] in known}
        for name, module in virtual:
            if name in made:
                quoted = name.replace('"', '""')
                connection.execute(f'CREATE VIRTUAL TABLE "{quoted}" USING {module}')
        for name in plain:
            connection.execute(f'CREATE TABLE "{name}" (word TEXT)')
        connection.commit()
        every = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    assert {column.table for column in reflect(path)} == made | {*plain}
    named = {part.what for part in list_unread(path)}
    assert named == {f"table {name} is" for name in every - made - {*plain}}


NAMES = st.sampled_from(["ash", "Elm", "big fir", 'o"ak', "order"])
PARTS = st.lists(
    st.tuples(
        st.sampled_from(["table", "view", "materialized view", "partitioned", "heir"]),
        st.sampled_from(["public", "old", "New Ones"]),
        NAMES,
    ),
    min_size=3,
    max_size=8,
    unique_by=lambda part: part[1:],
)
"""Kind, schema and name of an unread part."""


def write_part(number, kind, where):
    if kind == "table":
        return [f"CREATE TABLE {where} (n int)", f"INSERT INTO {where} VALUES (1), (2)"]
    if kind == "heir":
        return [f"CREATE TABLE {where} (size int) INHERITS (public.root)", f"INSERT INTO {where} VALUES (1)"]
    if kind == "partitioned":
        first, leaf = (f'old."part {number} {n}"' for n in (1, 2))
        return [
            f"CREATE TABLE {where} (n int, k int) PARTITION BY LIST (n)",
            f"CREATE TABLE {first} PARTITION OF {where} FOR VALUES IN (1) PARTITION BY LIST (k)",
            f"CREATE TABLE {leaf} PARTITION OF {first} FOR VALUES IN (1)",
            f"INSERT INTO {where} VALUES (1, 1), (1, 1), (1, 1)",
        ]
    return [f"CREATE {kind} {where} AS SELECT 1 AS n"]


EVERY = """
SELECT c.oid::regclass::text, quote_ident(nspname), pg_table_is_visible(c.oid) FROM pg_class c
JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname IN ('public', 'old', 'New Ones')
"""


@pytest.mark.parametrize("many", [3, pytest.param(60, marks=pytest.mark.drill)])
def test_every_part_of_a_generated_database_is_read_or_named(place, many):
    def check(parts):
        place.run(
            "DROP SCHEMA public CASCADE",
            'DROP SCHEMA IF EXISTS old, "New Ones" CASCADE',
            "CREATE SCHEMA public",
            f"GRANT USAGE ON SCHEMA public TO {place.reader}",
            "CREATE SCHEMA old",
            'CREATE SCHEMA "New Ones"',
            "CREATE TABLE root (n int)",
        )
        for number, (kind, schema, name) in enumerate(parts):
            quoted = name.replace('"', '""')
            place.run(*write_part(number, kind, f'"{schema}"."{quoted}"'))
        place.grant()
        held = read_content(place.entry).tables
        due = {"root": sum(kind == "heir" for kind, *_ in parts)}
        rows = {"table": 2, "partitioned": 3}
        due |= {name: rows[kind] for kind, schema, name in parts if schema == "public" and kind in rows}
        assert {name: table.rows for name, table in held.items()} == due
        named = {part.what for part in list_unread(place.entry)}
        for shown, schema, visible in place.run(EVERY)[0]:
            read = visible and shown.strip('"').replace('""', '"') in held
            kinds = ("table", "view", "materialized view")
            own = any(f"{kind} {shown} is" in named for kind in kinds)
            assert read + own + (not visible and not own and f"schema {schema} is" in named) == 1, shown

    settings(max_examples=many, **FEW)(given(parts=PARTS)(check))()
