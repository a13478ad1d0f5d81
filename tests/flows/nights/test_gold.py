"""Tests that after a change of a database row, a nightly run names exactly the affected items."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pyarrow.parquet as pq

from flows.night_settings import FOLDER, find_evaluation
from flows.nights.inside import prove_gold, write_digests
from flows.settings import load_params
from tasks.artifacts.parquet import read_rows
from tasks.longform.build.items import LongformItem
from tasks.longform.publish.gold import gold as prove_claims
from tests.flows.nights.planted import copy_database, plant_change, run_queries

STREAMS = "data/raw/streambench"


def prove(home, root, name, against=None):
    params = load_params(root)
    return prove_gold(home, root, params, [find_evaluation(params, name)], against)


def list_items(proof):
    return sorted(found.item for found in proof.differences)


def test_of_grammar_the_groups_whose_answer_stands_on_the_row_are_named(root, tmp_path):
    groups = pq.read_table(root / "data/grammar/films/fill_in.parquet", columns=["id", "sql"]).to_pylist()
    films = "data/raw/films/films.sqlite"
    path = copy_database(root / films, tmp_path / films)
    assert list_items(prove(tmp_path, root, "films-weak")) == []

    changed = plant_change(path, "films", "runtime_minutes", {row["id"]: row["sql"] for row in groups})

    proof = prove(tmp_path, root, "films-weak")
    assert (proof.n, list_items(proof)) == (len(groups), sorted(changed))
    assert 0 < len(changed) < len(groups) / 10
    assert all("the database returns" in found.what for found in proof.differences)
    (alarm,) = proof.list_alarms()
    assert alarm.what.startswith(f"{len(changed)} of {len(groups)} gold queries return a different answer")


def test_of_a_stream_the_items_whose_answer_stands_on_the_row_are_named(root, tmp_path):
    items = pq.read_table(root / "data/streambench/sample/items.parquet").to_pylist()
    for file in sorted({item["file"] for item in items}):
        copy_database(root / STREAMS / file, tmp_path / STREAMS / file)
    name = "streambench.evaluations.sample"
    first = prove(tmp_path, root, name)
    assert (first.n, list_items(first)) == (len(items), [])
    write_digests(tmp_path, "first", first)
    assert list_items(prove(tmp_path, root, name, "first")) == []

    own = {item["id"]: item["gold"] for item in items if item["file"].endswith("/films.sqlite")}
    path = tmp_path / STREAMS / "films/files/films/films.sqlite"
    changed = plant_change(path, "films", "box_office_usd", own)

    proof = prove(tmp_path, root, name, "first")
    assert list_items(proof) == sorted(changed)
    assert 0 < len(changed) < len(own)
    assert {found.what for found in proof.differences} == {"the answer differs from the previous night's"}
    assert (tmp_path / FOLDER / "first/gold.json").is_file()


def test_of_longform_the_items_whose_claims_stand_on_the_row_are_named(root):
    items = read_rows(root / "data/longform/sample/items.parquet", LongformItem)
    assert [answer.id for answer in prove_claims(items) if answer.problem] == []
    planted = 0
    for number, item in enumerate(items):
        # The item's database is a script: change one number in one row that a claim uses.
        script = change_one_cell(item)
        if script is None:
            continue
        planted += 1
        others = [*items[:number], replace(item, script=script), *items[number + 1 :]]
        found = {answer.id: answer.problem for answer in prove_claims(others) if answer.problem}
        assert set(found) == {item.id}
        assert "query returns" in found[item.id]
    assert planted >= len(items) / 2


def change_one_cell(item):
    """Increase one number so that a claim becomes false, by `sqlite3`; None if this is impossible."""
    claims = {str(number): claim.sql for number, claim in enumerate(item.claims)}
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(item.script)
        before = run_queries(database, claims)
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        for (table,) in database.execute(tables).fetchall():
            # Do not change a key, since references would reveal the change.
            columns = [
                row[1]
                for row in database.execute(f"PRAGMA table_info({table})")
                if row[2] in ("INTEGER", "REAL") and not row[5] and not row[1].endswith("_id")
            ]
            for column in columns:
                change = f"UPDATE {table} SET {column} = {column} + 1000 WHERE rowid = 1"
                database.execute(change)
                changed = run_queries(database, claims) != before
                dump = [line for line in database.iterdump() if not line.startswith(("BEGIN", "COMMIT"))]
                database.rollback()
                if changed:
                    return "\n".join(dump)
    return None
