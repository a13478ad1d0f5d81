"""Tests of `benchloom import wikidata`: entities become Parquet files, with a list of skipped entities."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows import importing
from flows.commands.import_ import app
from tasks.artifacts.parquet import StoredRows
from tasks.errors import BadInput, LockHeld
from tasks.sources.importers import wikidata
from tasks.sources.importers.wikidata import Wikidata, hold_folder
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, restore_claim
from tasks.sources.wikidata.values import Text
from tests.flows.conftest import make_folder
from tests.models.scenes import serving
from tests.shared_data import SHARED, needs
from tests.sources.wikidata.rdf import Endpoint, serve_sparql
from tests.sources.wikidata.scenes import JULIAN, entity, item, quantity, statement, text, time, write_dump
from tests.sources.wikidata.test_api import Wikibase, web

EXCERPT = SHARED / "wikidata"
MADE = [
    entity(
        "Q10",
        statement(time("P569", "-0044-03-15T00:00:00Z", 11, JULIAN), 0, "Q10", P1=[text("P1", "ä", "de")]),
        statement(quantity("P2048", "+1.960", "Q11573", lowerBound="1.9"), 0, "Q10", rank="preferred"),
    ),
    entity("Q9", statement(item("P31", "Q5"), 0, "Q9"), label="nine"),
    entity("P31", label="instance of"),
]


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text("{}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    monkeypatch.delenv("BENCHLOOM_CONTACT", raising=False)
    return root


def call(*words: object):
    return CliRunner().invoke(app, ["wikidata", *map(str, words)])


def read(root: Path, name: str = "main"):
    folder = root / "data/raw/wikidata" / name
    entities = list(StoredRows(folder / "entities.parquet", EntityRow))
    claims = list(StoredRows(folder / "claims.parquet", ClaimRow))
    return (
        entities,
        claims,
        [json.loads(line) for line in (folder / "skipped.jsonl").read_text().splitlines()],
    )


def test_a_dump_becomes_entities_and_claims(root, tmp_path):
    path = write_dump(tmp_path / "dump.json.bz2", *MADE, b"{")
    done = call(path)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "main: 2 entities, 3 claims (data/raw/wikidata/main)",
        "skipped: broken line: 1",
        "skipped: no item: 1",
        "data/raw/wikidata/main/skipped.jsonl lists all of them, values of other types by property",
        "licence: CC0-1.0; Wikidata, the Wikidata contributors "
        "(structured data under CC0 1.0; credit is asked, not required)",
    ]
    entities, claims, skipped = read(root)
    assert [(row.id, row.labels) for row in entities] == [
        ("Q10", (Text("one", "en"),)),
        ("Q9", (Text("nine", "en"),)),
    ]
    birth = next(row for row in claims if row.property == "P569")
    assert (birth.value.year, birth.value.month, birth.value.day, birth.value.calendar) == (
        -44,
        3,
        15,
        "julian",
    )
    height = next(row for row in claims if row.property == "P2048")
    assert (height.value.amount, height.value.number, height.value.unit) == ("1.960", 1.96, "Q11573")
    assert [line["reason"] for line in skipped] == ["no item", "broken line"]
    # A claim is unchanged after a round trip through the file.
    read_again = DumpSource([path]).read(EntitySelection(), ReadingReport())
    expected = sorted((claim for record in read_again for claim in record.claims), key=lambda claim: claim.id)
    assert [restore_claim(row) for row in claims] == expected
    about = json.loads((root / "data/raw/wikidata/main/about.json").read_text())
    assert (about["licence"], about["read_from"], about["counts"]["claims"]) == (
        "CC0-1.0",
        ["dump.json.bz2"],
        3,
    )


def test_the_same_dump_gives_the_same_bytes(root, tmp_path):
    path = write_dump(tmp_path / "dump.json", *MADE, b"{")
    folder = root / "data/raw/wikidata/main"
    contents = []
    for _ in range(2):
        assert call(path).exit_code == 0
        contents.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert contents[0] == contents[1]
    assert sorted(contents[0]) == ["about.json", "claims.parquet", "entities.parquet", "skipped.jsonl"]


def test_a_second_import_into_one_name_is_refused_until_the_first_ends(root, tmp_path):
    path = write_dump(tmp_path / "dump.json", *MADE)
    folder = root / "data/raw/wikidata/main"
    with hold_folder(folder):
        refused = call(path)
        assert isinstance(refused.exception, LockHeld)
        assert str(refused.exception) == (
            "--name main: another import is writing to this folder; wait until that import finishes, "
            "or choose another name"
        )
        assert not folder.exists()
        assert call(path, "--name", "other").exit_code == 0
    assert call(path).exit_code == 0
    assert call(path, "--entity", "Q7").exit_code == 1
    assert call(path).exit_code == 0, "one that failed has let go of it"


def test_an_import_holds_its_name_from_its_first_file_to_its_last(root, tmp_path, monkeypatch):
    path = write_dump(tmp_path / "dump.json", *MADE)
    tried = []

    def look(into):
        def replacement(*args, **kwargs):
            tried.append(call(path).exception)
            return into(*args, **kwargs)

        return replacement

    monkeypatch.setattr(wikidata, "read_dump", look(wikidata.read_dump))
    monkeypatch.setattr(importing, "write_text", look(importing.write_text))
    assert call(path).exit_code == 0
    assert [type(error) for error in tried] == [LockHeld, LockHeld]


def test_what_is_named_is_taken_and_the_label_of_a_property_with_it(root, tmp_path):
    path = write_dump(tmp_path / "dump.json", *MADE)
    done = call(path, "--class", "Q5", "--property", "P31", "--language", "all", "--name", "people")
    assert done.exit_code == 0, done.output
    assert "not asked for: 1 entities" in done.stdout
    entities, claims, _ = read(root, "people")
    assert [(row.id, row.kind) for row in entities] == [("P31", "property"), ("Q9", "item")]
    assert [(row.entity, row.value.item) for row in claims] == [("Q9", "Q5")]
    # The item Q5 was not requested, so it has no name.
    assert "claims of items that were not read: 1 (P31: 1)" in done.stdout


def test_sitelinks_are_those_of_the_languages_wikipedias():
    chosen = Wikidata(languages=["nb", "be-tarask", "pt-br", "de"]).make_selection()
    assert chosen.languages == {"nb", "be-tarask", "pt-br", "de"}
    assert chosen.sites == {"nowiki", "be_x_oldwiki", "pt_brwiki", "dewiki"}


def test_an_api_is_read_and_its_answers_are_kept(root):
    wikibase = Wikibase(*MADE)
    wikibase.redirects = {"Q99": "Q9"}
    app = web.Application()
    app.router.add_get("/w/api.php", wikibase.answer)
    with serving(app) as url:
        address = url.removesuffix("/v1") + "/w/api.php"
        done = call(address, "--entity", "Q99", "--entity", "Q404")
    assert done.exit_code == 0, done.output
    assert "redirects followed: 1" in done.stdout
    entities, _, skipped = read(root)
    assert [(row.id, row.redirects) for row in entities] == [("Q9", ("Q99",))]
    assert [line["reason"] for line in skipped] == ["no such entity"]
    host = url.removeprefix("http://").removesuffix("/v1").replace(":", "-")
    assert (root / "data/raw/wikidata/main/answers" / host / "99/Q99.json").exists()


def test_a_sparql_endpoint_is_read_and_its_answers_are_kept_in_the_folder(root):
    endpoint = Endpoint(MADE)
    with serve_sparql(endpoint) as address:
        assert call(address, "--entity", "Q9").exit_code == 0
        count = len(endpoint.asked)
        assert call(address, "--entity", "Q9").exit_code == 0
    assert len(endpoint.asked) == count > 0
    assert [row.id for row in read(root)[0]] == ["Q9"]
    host = address.removeprefix("http://").replace("/", "-").replace(":", "-")
    assert len(list((root / "data/raw/wikidata/main/answers" / host).iterdir())) == count


def test_a_database_with_item_ids_is_read(root, tmp_path):
    with closing(sqlite3.connect(tmp_path / "films.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE films (qid, title, released)")
        connection.execute("INSERT INTO films VALUES ('Q1', 'Alien', '1979-05-25')")
    done = call(tmp_path / "films.sqlite", "--column", "released=P577")
    assert done.exit_code == 0, done.output
    _, (claim,), _ = read(root)
    assert (claim.value.year, claim.value.precision) == (1979, 11)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "none.json: does not exist"),
        (["dump.json", "--entity", "42"], "--entity: '42' is not an id"),
        (["dump.json", "--name", "../x"], "--name: '../x' is not a valid name"),
        (
            ["dump.json", "--entity", "Q404"],
            "contains none of the requested entities; it contains 2 other entities",
        ),
        (["empty.json"], "contains none of the requested entities"),
        (["dump.json", "--column", "a=P1"], "--column: requires a SQLite database"),
        (["http://127.0.0.1/w/api.php", "--column", "a=P1"], "--column: requires a SQLite database"),
        (["films.sqlite", "dump.json"], "films.sqlite: is a database"),
        (["https://www.wikidata.org/wiki/Q42"], "is not a usable URL"),
        (["https://www.wikidata.org/w/api.php", "--entity", "Q42"], "--contact: is missing"),
        (["http://127.0.0.1:9/w/api.php"], "serves entities only by id"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_replaces_nothing(root, words, said):
    write_dump(root / "dump.json", *MADE)
    (root / "empty.json").write_text("")
    sqlite3.connect(root / "films.sqlite").execute("CREATE TABLE films (qid)").connection.close()
    assert call("dump.json").exit_code == 0
    folder = root / "data/raw/wikidata/main"
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    done = call(*words)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@needs("wikidata")
def test_a_real_excerpt_is_brought_in(root):
    done = call(EXCERPT / "sample_wikidata_items.json.bz2", "--property", "P571")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("main: 100 entities, ")
    _, claims, _ = read(root)
    assert {row.value.kind for row in claims} == {"time"}


@pytest.mark.parametrize(
    ("words", "licence", "attribution"),
    [
        ([], "not stated", "not stated"),
        (["--licence", "CC-BY-4.0"], "CC-BY-4.0", "not stated"),
        (["--licence", "CC-BY-4.0", "--attribution", "Film Club"], "CC-BY-4.0", "Film Club"),
    ],
)
def test_a_table_of_ones_own_has_the_rights_that_are_said(root, tmp_path, words, licence, attribution):
    with closing(sqlite3.connect(tmp_path / "own.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE films (qid, title)")
        connection.execute("INSERT INTO films VALUES ('Q1', 'Alien')")
    done = call(tmp_path / "own.sqlite", *words)
    assert done.exit_code == 0, done.output
    about = json.loads((root / "data/raw/wikidata/main/about.json").read_text())
    assert (about["source"], about["licence"], about["attribution"]) == ("own.sqlite", licence, attribution)
    assert done.stdout.splitlines()[-1].startswith(f"licence: {licence}; ")
    assert "Wikidata contributors" not in done.stdout


@pytest.mark.parametrize(
    ("place", "source", "licence"),
    [
        ("latest-all.json.bz2", "https://www.wikidata.org", "CC0-1.0"),
        ("https://www.wikidata.org/w/api.php", "https://www.wikidata.org", "CC0-1.0"),
        ("https://query.wikidata.org/sparql", "https://www.wikidata.org", "CC0-1.0"),
        ("https://notwikidata.org/w/api.php", "notwikidata.org", "not stated"),
        ("https://wikidata.org.example.com/sparql", "wikidata.org.example.com", "not stated"),
        ("http://127.0.0.1:9/sparql", "127.0.0.1", "not stated"),
    ],
)
def test_servers_of_wikidata_alone_give_its_licence(place, source, licence):
    assert Wikidata(places=[place]).state_rights()[:2] == (source, licence)


def test_an_id_that_a_dump_does_not_have_is_named_with_what_it_has_become(root, tmp_path):
    moved = {"entity": "Q70", "redirect": "Q71"}
    dump = write_dump(tmp_path / "dump.json", *MADE, moved)
    done = call(dump, "--entity", "Q9", "--entity", "Q70", "--entity", "Q404")
    assert done.exit_code == 0, done.output
    assert "skipped: no such entity: 2" in done.stdout
    named = {
        line["entity"]: line.get("detail") for line in read(root)[2] if line["reason"] == "no such entity"
    }
    assert named == {"Q70": "redirects to Q71: ask for Q71", "Q404": None}
