import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.artifacts.parquet import write_rows
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.reflection import reflect
from tasks.errors import BadInput
from tasks.grammar.construct.source_rows import SourceRowTracer, find_sources, write_source_query
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.lineage.records import FileRecord, StageRecord

# Halls have a key of two columns, casts link plays and people, notes have no key.
SCHEMA = """
CREATE TABLE plays (play_id INTEGER PRIMARY KEY, title TEXT, year INTEGER, town TEXT, hall TEXT,
    FOREIGN KEY (town, hall) REFERENCES halls (town, hall));
CREATE TABLE halls (town TEXT, hall TEXT, seats INTEGER, PRIMARY KEY (town, hall));
CREATE TABLE people (person_id INTEGER PRIMARY KEY, "full name" TEXT);
CREATE TABLE casts (play_id INTEGER REFERENCES plays, person_id INTEGER REFERENCES people,
    PRIMARY KEY (play_id, person_id));
CREATE TABLE notes (word TEXT, weight REAL);
INSERT INTO halls VALUES ('Ulm', 'big', 900), ('Ulm', 'small', 90), ('Jena', 'big', 300);
INSERT INTO plays VALUES (1, 'Faust', 1808, 'Ulm', 'big'), (2, 'Egmont', 1788, 'Jena', 'big'),
    (3, 'Faust', 1832, 'Ulm', 'big');
INSERT INTO people VALUES (10, 'Ann'), (11, 'Bob');
INSERT INTO casts VALUES (1, 10), (2, 11), (3, 10), (2, 10);
INSERT INTO notes VALUES ('ouch', 1.5), ('ouch', 1.5), ('o''clock', NULL);
"""


@pytest.fixture
def plays(tmp_path):
    path = tmp_path / "plays.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
    return path


def find(path, sql):
    with SafeDatabase(path) as database:
        found = find_sources(sql, reflect(path), database)
    return {(row.table, row.key) for row in found.rows}, found.answer


def test_a_lookup_comes_from_the_rows_that_hold_its_values(plays):
    rows, answer = find(plays, "SELECT DISTINCT plays.hall FROM plays WHERE plays.title = 'Faust'")

    assert rows == {("plays", (("play_id", 1),)), ("plays", (("play_id", 3),))}
    assert answer == (("big",),)


def test_keys_of_several_columns_are_named_whole(plays):
    rows, answer = find(
        plays,
        "SELECT DISTINCT halls.seats FROM halls JOIN plays ON halls.hall = plays.hall "
        "AND halls.town = plays.town WHERE plays.title = 'Egmont'",
    )

    assert rows == {("plays", (("play_id", 2),)), ("halls", (("hall", "big"), ("town", "Jena")))}
    assert answer == ((300,),)


def test_link_tables_are_sources_too(plays):
    rows, answer = find(
        plays,
        'SELECT DISTINCT people."full name" FROM people JOIN casts ON people.person_id = casts.person_id '
        "JOIN plays ON casts.play_id = plays.play_id WHERE plays.title = 'Faust' AND plays.year = 1832",
    )

    assert rows == {
        ("people", (("person_id", 10),)),
        ("casts", (("person_id", 10), ("play_id", 3))),
        ("plays", (("play_id", 3),)),
    }
    assert answer == (("Ann",),)


def test_a_row_of_a_table_without_a_key_is_named_by_all_of_it(plays):
    rows, answer = find(plays, "SELECT DISTINCT notes.weight FROM notes WHERE notes.word = 'o''clock'")

    assert rows == {("notes", (("weight", None), ("word", "o'clock")))}
    assert answer == ((None,),)


def test_the_source_query_keeps_joins_and_values_and_selects_keys_first(plays):
    sql = "SELECT DISTINCT plays.year FROM plays WHERE plays.title = 'SELECT plays.year'"

    source_query, selected, projected = write_source_query(sql, reflect(plays))

    assert source_query.endswith("FROM plays WHERE plays.title = 'SELECT plays.year'")
    assert selected[0] == ("plays", "play_id")
    assert [selected[place] for place in projected] == [("plays", "year")]


@pytest.mark.parametrize(
    "sql", ["DELETE FROM plays", "SELECT sum(year) FROM plays", "SELECT 1; SELECT 2", "?"]
)
def test_other_sql_has_no_source_query(plays, sql):
    with pytest.raises(BrokenRule):
        write_source_query(sql, reflect(plays))


CELLS = st.integers(0, 2)


@settings(max_examples=40)
@given(
    left=st.lists(st.tuples(CELLS, CELLS), max_size=6),
    right=st.lists(st.tuples(CELLS, CELLS), max_size=6),
    wanted=CELLS,
)
def test_sources_are_enough_and_every_table_of_them_is_needed(tmp_path_factory, left, right, wanted):
    """Deleting all other rows keeps the answer; deleting one table's named rows removes it."""
    path = tmp_path_factory.mktemp("sources") / "small.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE a (a_id INTEGER PRIMARY KEY, x INTEGER, y INTEGER);"
            "CREATE TABLE b (b_id INTEGER PRIMARY KEY, x INTEGER, z INTEGER);"
        )
        connection.executemany("INSERT INTO a (x, y) VALUES (?, ?)", left)
        connection.executemany("INSERT INTO b (x, z) VALUES (?, ?)", right)
    sql = f"SELECT DISTINCT a.y FROM a JOIN b ON a.x = b.x WHERE b.z = {wanted}"
    with SafeDatabase(path) as database:
        found = find_sources(sql, reflect(path), database)
    truth = sorted({y for x, y in left for u, z in right if x == u and z == wanted})
    assert [row[0] for row in found.answer] == truth

    def ask(connection):
        return sorted(row[0] for row in connection.execute(sql))

    named = {table: [row.key[0][1] for row in found.rows if row.table == table] for table in ("a", "b")}
    for table, keys in named.items():
        marks = ", ".join(map(str, keys))
        with sqlite3.connect(path) as connection:
            connection.execute(f"DELETE FROM {table} WHERE {table}_id NOT IN ({marks})")
            assert ask(connection) == truth
            connection.execute(f"DELETE FROM {table} WHERE {table}_id IN ({marks})")
            assert ask(connection) == []
            connection.rollback()


STAGE = StageRecord(
    "grammar-fill-in@plays",
    "benchloom stage grammar.fill_in plays",
    (FileRecord("data/plays/schema.parquet"), FileRecord("plays.sqlite")),
)


@pytest.fixture
def tracer(plays, tmp_path):
    write_rows(tmp_path / "data/plays/schema.parquet", Column, reflect(plays))
    entry = DatabaseEntry(name="plays", file="plays.sqlite")
    rows = SourceRowTracer(tmp_path, lambda name: entry)
    yield rows
    rows.close()


def group(title, answer):
    return {
        "sql": f"SELECT DISTINCT plays.year FROM plays WHERE plays.title = '{title}'",
        "answer_rows": answer,
    }


def test_a_groups_source_rows_are_named_by_table_and_key(tracer):
    (found,) = tracer(STAGE, group("Egmont", "[[1788]]"))

    assert found.reference == "plays.sqlite#plays?play_id=2"
    assert (found.summary["table"], found.summary["key"]) == ("plays", {"play_id": 2})
    assert found.summary["row"]["title"] == "Egmont"
    assert found.files == ("plays.sqlite",)


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (group("Nathan", "[[1779]]"), "no longer has a row"),
        (group("Egmont", "[[1789]]"), "another answer"),
        ({"sql": "DROP TABLE plays", "answer_rows": "[]"}, "does not have the form that GRAMMAR builds"),
    ],
)
def test_a_database_that_does_not_give_the_answer_is_told(tracer, record, what):
    with pytest.raises(BadInput, match=what):
        tracer(STAGE, record)


def test_a_database_that_nothing_records_is_a_gap(tracer):
    stage = StageRecord("s", STAGE.command, STAGE.deps[:1])

    (found,) = tracer(stage, group("Egmont", "[[1788]]"))

    assert (found.files, len(found.gaps)) == ((), 1)
