"""Tests of a user's dataset folder: reading, and one-line errors."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.databases.scratch.scratch import write_database
from tasks.errors import BadInput
from tasks.longform import own_items
from tasks.longform.build.items import LongformItem
from tasks.longform.own_items import LIMITS, READER
from tasks.systems.own_items import OwnItems, read_items
from tests.longform.scripted_agents import SCRIPT

ITEM = {"id": "a", "question": "Which?", "reference": "Balmoor.", "kind": "conclusive", "script": SCRIPT}


def write(folder: Path, *records: Any) -> Path:
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    (folder / "items.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def read_own_items(folder: Path) -> OwnItems[LongformItem]:
    return read_items(folder, READER)


def test_lines_are_read_with_their_claims_run(tmp_path: Path) -> None:
    claim = {"text": "Two.", "sql": "SELECT count(*) AS n FROM concert WHERE stadium = 1"}
    found = read_own_items(write(tmp_path, {**ITEM, "id": "b"}, {**ITEM, "claims": [claim]}))
    assert found.problems == ()
    assert [item.id for item in found.items] == ["a", "b"]
    (made,) = found.items[0].claims
    assert (made.columns, made.rows) == (("n",), "[[2]]")


def test_a_sqlite_file_becomes_the_same_script(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as connection:
        connection.executescript(SCRIPT + "INSERT INTO stadium VALUES (5, 'O''Neil; \"x\"', NULL);")
    named = {name: value for name, value in ITEM.items() if name != "script"}
    (item,) = read_own_items(write(tmp_path, {**named, "database": "d.sqlite"})).items
    assert "'O''Neil; \"x\"', NULL" in item.script
    write_rows(tmp_path / "items.parquet", LongformItem, [item])
    assert read_own_items(tmp_path).items == (item,), "what is written by the flow is read as it is"


def test_a_sqlite_file_keeps_its_comments_and_spaces(tmp_path: Path) -> None:
    create = """CREATE TABLE stadium (
  id INTEGER PRIMARY KEY, -- a number; no code
  town TEXT DEFAULT 'New  Town' CHECK (town <> 'a  b'), /* two; spaces */
  seats INTEGER -- of the ground
) -- the end
"""
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as connection:
        connection.execute(create)
        connection.execute("INSERT INTO stadium VALUES (1, 'Balmoor', 9)")
        connection.commit()
    named = {name: value for name, value in ITEM.items() if name != "script"}
    found = read_own_items(write(tmp_path, {**named, "database": "d.sqlite"}))
    assert found.problems == ()
    write_database(found.items[0].script, tmp_path / "built.sqlite")
    with closing(sqlite3.connect(tmp_path / "built.sqlite")) as connection:
        connection.execute("INSERT INTO stadium (id) VALUES (2)")
        rows = connection.execute("SELECT * FROM stadium").fetchall()
    assert rows == [(1, "Balmoor", 9), (2, "New  Town", None)]


HOSTILE = [
    "ATTACH DATABASE '/tmp/stolen.sqlite' AS x;",
    "CREATE TRIGGER t AFTER INSERT ON stadium BEGIN DELETE FROM stadium; END;",
    "CREATE TABLE u AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;",
    "CREATE VIRTUAL TABLE v USING fts5(a);",
    "INSERT INTO stadium SELECT 9, zeroblob(1000000000), 1;",
    "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5);",
    "PRAGMA writable_schema = ON;",
    "VACUUM INTO '/tmp/stolen.sqlite';",
    "INSERT INTO stadium VALUES (1, 'twice', 1);",
    "INSERT INTO concert VALUES (9, 77, 2014);",
    "INSERT INTO stadium VALUES (",
    "CREATE TABLE (",
]


@pytest.mark.parametrize("statement", HOSTILE)
def test_a_hostile_or_broken_script_is_one_line_and_the_others_are_read(
    tmp_path: Path, statement: str
) -> None:
    found = read_own_items(write(tmp_path, ITEM, {**ITEM, "id": "b", "script": SCRIPT + statement}))
    assert [item.id for item in found.items] == ["a"]
    (problem,) = found.problems
    assert problem.startswith("items.jsonl, line 2: ")
    assert "\n" not in problem
    assert not Path("/tmp/stolen.sqlite").exists()


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({**ITEM, "id": "b", "kind": "open"}, "kind is 'open'; expected one of conclusive, interpretive"),
        ({"question": "q", "kind": "conclusive"}, "reference is missing"),
        ({"question": "q", "kind": "conclusive", "reference": "r"}, "has neither `script` nor `database`"),
        ({**ITEM, "id": "b", "script": "INSERT INTO a VALUES (1);"}, "the script has no CREATE TABLE"),
        ({**ITEM, "id": "b", "script": "CREATE TABLE a (x);"}, "the script has no INSERT"),
        (
            {**ITEM, "id": "b", "script": "CREATE TABLE a (x, x); INSERT INTO a VALUES (1, 2);"},
            "line 2: a CREATE TABLE statement in the script fails: duplicate column name: x",
        ),
        ({**ITEM, "id": "b", "claims": ["x"]}, "claims is not a list of objects with `text` and `sql`"),
        ({**ITEM, "id": "b", "claims": [{"text": "t", "sql": "SELECT town FROM stadium"}]}, "no such column"),
        ({**ITEM, "id": "b", "claims": [{"text": "t", "sql": "DROP TABLE stadium"}]}, "line 2: "),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, record: Any, said: str) -> None:
    found = read_own_items(write(tmp_path, ITEM, record))
    assert len(found.items) == 1
    assert said in found.problems[0]


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000])
def test_a_name_that_no_file_can_have_is_named(tmp_path: Path, name: str) -> None:
    named = {key: value for key, value in ITEM.items() if key != "script"}
    found = read_own_items(write(tmp_path, ITEM, {**named, "id": "b", "database": name}))
    assert "has no file in the same folder" in found.problems[0]


def test_a_script_beyond_the_limit_is_refused_before_it_is_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_items, "_split", None)
    long = {**ITEM, "script": SCRIPT + "-" * LIMITS.characters}
    with pytest.raises(BadInput, match="script has more than 5,000,000 characters"):
        read_own_items(write(tmp_path, long))


@pytest.mark.parametrize("part", [";", "';", "[;", "/*;", "INSERT INTO a VALUES ('", '`"['])
def test_a_script_is_split_in_one_pass(part: str) -> None:
    started = time.process_time()
    own_items._split("CREATE TABLE a (x);" + part * 200_000)
    assert time.process_time() - started < 5, "growing texts take minutes"


def test_a_semicolon_in_a_text_a_name_or_a_comment_ends_no_statement() -> None:
    create = 'CREATE TABLE a ("x;", [y;], `z;` -- no; end\n /* nor; here */);'
    insert = "INSERT INTO a VALUES ('it''s; one', 2, 3);"
    assert own_items._split(f"{create}\n{insert}\n{insert[:-1]}") == ([create], f"{insert}\n{insert[:-1]}")


def test_a_database_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sqlite3.connect(tmp_path / "out.sqlite").close()
    named = {name: value for name, value in ITEM.items() if name != "script"}
    records = [ITEM, {**named, "id": "b", "database": "../out.sqlite"}]
    assert "has no file in the same folder" in read_own_items(write(tmp_path / "in", *records)).problems[0]
