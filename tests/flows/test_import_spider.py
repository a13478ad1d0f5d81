"""Tests of `benchloom import spider`: import databases from a release in the published layout."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from flows.settings import load_params, parse_database, write_params
from tasks.errors import BadInput
from tasks.longform.entries import LongformSet, SourceDatabase
from tests.flows.conftest import make_folder
from tests.shared_data import SHARED, needs

ROOT = Path(__file__).parents[2]
"""Spider's folder on this machine, if present; it is not part of the project."""
TABLES = 'CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE "odd ""name" (id INTEGER);'


def make_release(folder: Path) -> Path:
    """Create a release of five databases: two valid, one empty, one damaged, one missing."""
    for name in ("cities", "towns", "empty", "broken"):
        place = folder / "database" / name
        place.mkdir(parents=True)
        if name == "broken":
            (place / "broken.sqlite").write_bytes(b"SQLite format 3\0 and no more")
            continue
        with sqlite3.connect(place / f"{name}.sqlite") as connection:
            connection.executescript(TABLES)
            if name != "empty":
                connection.executemany("INSERT INTO city VALUES (?, ?)", [(1, "Alm"), (2, "Brack")])
    names = ("cities", "towns", "empty", "broken", "missing")
    (folder / "tables.json").write_text(json.dumps([{"db_id": name, "table_names": []} for name in names]))
    dev = [
        {"db_id": "cities", "question": "How  many cities?", "query": "SELECT count(*) FROM city"},
        {"db_id": "cities", "question": " ", "query": "SELECT 1"},
        {"db_id": "nowhere", "question": "What?", "query": "SELECT 1"},
        {"db_id": "empty", "question": "Which?", "query": "SELECT name FROM city"},
    ]
    train = [{"db_id": "towns", "question": "Which towns?", "query": "SELECT name FROM city"}]
    (folder / "dev.json").write_text(json.dumps(dev))
    (folder / "train_spider.json").write_text(json.dumps(train))
    return folder


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    return root


def call(*words: object):
    return CliRunner().invoke(app, ["spider", *map(str, words)])


def read_questions(root: Path) -> list[tuple[str, str, str]]:
    lines = (root / "data/raw/spider/questions.jsonl").read_text().splitlines()
    return [(record["id"], record["database"], record["question"]) for record in map(json.loads, lines)]


def test_a_database_named_becomes_one_of_the_project_with_its_questions(root, tmp_path):
    done = call(make_release(tmp_path / "spider"), "--database", "cities")
    assert done.exit_code == 0, done.output
    assert "cities: 2 tables, 2 rows, 1 questions" in done.stdout
    assert "dev.json, question 1: has no db_id, question or query" in done.stderr
    assert "dev.json, question 2: is about 'nowhere', which tables.json does not have" in done.stderr
    entry = parse_database(load_params(root), "cities").resolve_under(root)
    assert (entry.licence, entry.locate_file().name) == ("CC BY-SA 4.0", "cities.sqlite")
    assert read_questions(root) == [("dev-0", "cities", "How many cities?")]
    # The rest of params.yaml does not change.
    assert "# How things are reached and what they may cost" in (root / "params.yaml").read_text()


def test_databases_are_added_one_after_the_other_and_again(root, tmp_path):
    release = make_release(tmp_path / "spider")
    for name in ("cities", "towns", "cities"):
        assert call(release, "--database", name).exit_code == 0
    assert [question[0] for question in read_questions(root)] == ["dev-0", "train_spider-0"]


def test_a_draw_leaves_out_what_cannot_be_used_and_says_why(root, tmp_path):
    release = make_release(tmp_path / "spider")
    archive = shutil.make_archive(str(tmp_path / "spider_data"), "zip", release.parent, "spider")
    done = call(archive, "--take", 4)
    assert done.exit_code == 0, done.output
    assert {name for name in load_params(root)["databases"] if name in ("cities", "towns", "empty")} == {
        "cities",
        "towns",
    }
    assert "empty: has 2 tables but no rows" in done.stderr
    assert "missing: its SQLite file is missing" in done.stderr
    assert "broken: " in done.stderr
    assert "--take 4: no more than 2 can be used" in done.stderr
    assert "2 databases: data/raw/spider" in done.stdout


def test_a_draw_is_the_same_by_its_seed(root, tmp_path):
    release = make_release(tmp_path / "spider")
    drawn = {call(release, "--take", 1, "--seed", seed).stdout.partition(":")[0] for seed in range(8)}
    assert drawn == {"cities", "towns"}
    assert len({call(release, "--take", 1).stdout for _ in range(2)}) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "requires a choice among 5 databases"),
        (["--database", "nowhere"], "the release has no database 'nowhere'"),
        (["--database", "empty"], "empty: has 2 tables but no rows"),
        (["--database", "missing"], "missing: its SQLite file is missing"),
    ],
)
def test_what_cannot_be_brought_in_changes_nothing(root, tmp_path, words, said):
    before = (root / "params.yaml").read_bytes()
    done = call(make_release(tmp_path / "spider"), *words)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert (root / "params.yaml").read_bytes() == before
    assert not (root / "data/raw/spider").exists()


def test_a_database_of_the_project_is_never_replaced(root, tmp_path):
    release = make_release(tmp_path / "spider")
    text = (
        (root / "params.yaml")
        .read_text()
        .replace("\ndatabases:\n", "\ndatabases:\n  cities: {file: own.sqlite}\n", 1)
    )
    (root / "params.yaml").write_text(text)
    done = call(release, "--database", "cities")
    assert "databases.cities already names another database" in str(done.exception)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tables.json", "{", "tables.json: is not valid JSON"),
        ("tables.json", "{}", "is not a JSON array"),
        ("tables.json", "[1]", "record 0 is not a Spider record (expected db_id)"),
        ("tables.json", '[{"db_id": "../../etc"}]', "has a database with the invalid name '../../etc'"),
        ("dev.json", "[" * 100_000, "dev.json: is not valid JSON"),
        ("dev.json", '["a"]', "record 0 is not a Spider record"),
    ],
)
def test_a_release_that_is_broken_is_named_by_file(root, tmp_path, file, content, said):
    release = make_release(tmp_path / "spider")
    (release / file).write_text(content)
    assert said in str(call(release, "--all").exception)


def test_databases_become_sources_of_long_form_questions_with_their_own_as_seeds(root, tmp_path):
    release = make_release(tmp_path / "spider")
    (release / "train_spider.json").write_text("[]")
    before = load_params(root)["longform"]
    done = call(release, "--all", "--longform", "spider")
    assert done.exit_code == 0, done.output
    assert "longform.sets.spider: 2 databases; for 1 of them, the questions" in done.stdout
    assert "towns" not in done.stderr
    longform = load_params(root)["longform"]
    file = "data/raw/spider/cities.sqlite"
    assert longform["databases"] == {
        **before["databases"],
        "cities": {"file": file, "questions": "data/raw/spider/cities.seeds.json"},
        "towns": {"file": "data/raw/spider/towns.sqlite", "questions": "data/raw/spider/towns.seeds.json"},
    }
    assert SourceDatabase(**longform["databases"]["cities"]).file == Path(file)
    added = LongformSet(**longform["sets"].pop("spider"))
    assert (sorted(added.databases), added.questions) == (["cities", "towns"], 1)
    assert longform["sets"] == before["sets"]
    folder = root / "data/raw/spider"
    assert json.loads((folder / "cities.seeds.json").read_text()) == ["How many cities?"]
    assert json.loads((folder / "towns.seeds.json").read_text()) == []


def test_what_stands_in_a_set_stays_and_a_database_enters_once(root, tmp_path):
    release = make_release(tmp_path / "spider")
    assert call(release, "--database", "cities", "--longform", "mine").exit_code == 0
    mine = {("longform", "sets", "mine", "questions"): 3}
    write_params(root, {**mine, ("longform", "databases", "cities", "words"): {"city": "places"}})
    for name in ("towns", "cities"):
        assert call(release, "--database", name, "--longform", "mine").exit_code == 0
    longform = load_params(root)["longform"]
    assert longform["sets"]["mine"] == {"questions": 3, "databases": ["cities", "towns"]}
    assert longform["databases"]["cities"]["words"] == {"city": "places"}


@pytest.mark.parametrize(
    ("section", "named", "said"),
    [
        ("{}", "no/name", "--longform: 'no/name' is not a valid name"),
        ("{sets: {mine: 7}}", "mine", "longform.sets.mine is not a set of databases"),
        (
            "{databases: {cities: {file: own.sqlite}}}",
            "mine",
            "longform.databases.cities already names another database",
        ),
    ],
)
def test_a_set_that_cannot_be_made_changes_nothing(root, tmp_path, section, named, said):
    (root / "params.yaml").write_text(f"databases: {{}}\nlongform: {section}\n")
    done = call(make_release(tmp_path / "spider"), "--database", "cities", "--longform", named)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert not (root / "data/raw/spider").exists()


@needs("spider")
@pytest.mark.drill
def test_spider_itself_is_brought_in(root):
    done = call(SHARED / "spider", "--database", "concert_singer", "--take", 19)
    assert done.exit_code == 0, done.output
    assert "20 databases: data/raw/spider" in done.stdout
