"""Tests of `benchloom import wikipedia`: articles become two tables and a list of omitted pages."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.errors import BadInput
from tasks.sources.wikipedia import wikitext
from tests.flows.conftest import make_folder
from tests.shared_data import SHARED, needs
from tests.sources.wikipedia.conftest import OwnReader
from tests.sources.wikipedia.scenes import PAGES, write_dump, write_lines
from tests.sources.wikipedia.test_structured import RECORD

ROOT = Path(__file__).parents[2]
FOLDER = Path("data/raw/wikipedia/small")


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    monkeypatch.setattr(wikitext, "PageReader", OwnReader)
    return root


def call(*words: object):
    return CliRunner().invoke(app, ["wikipedia", *map(str, words)])


def test_articles_and_parts_are_tables_and_what_is_left_out_is_a_file(root, tmp_path):
    dump = write_dump(tmp_path / "pages.xml.bz2")
    done = call(dump, "--name", "small")
    assert done.exit_code == 0, done.output
    assert "2 articles, 2 aliases" in done.stdout
    assert "4 parts (4 text)" in done.stdout
    assert "2 redirect_circle" in done.stdout
    assert "CC BY-SA 4.0" in done.stdout
    articles = pq.read_table(root / FOLDER / "articles.parquet").to_pylist()
    assert [
        (row["article"], row["page"], row["revision"], row["aliases"], row["parts"]) for row in articles
    ] == [
        ("Alm", 1, 901, ["Alm town", "Old Alm"], 3),
        ("Brack", 9, 909, [], 1),
    ]
    parts = pq.read_table(root / FOLDER / "parts.parquet").to_pylist()
    assert [(row["article"], row["position"], row["kind"], row["section"]) for row in parts][2:] == [
        ("Alm", 2, "text", "Sights"),
        ("Brack", 0, "text", ""),
    ]
    skipped = [json.loads(line) for line in (root / FOLDER / "skipped.jsonl").read_text().splitlines()]
    assert {"where": "Data", "reason": "not_wikitext", "detail": "its model is json"} in skipped
    before = {file.name: file.read_bytes() for file in (root / FOLDER).iterdir()}
    assert call(dump, "--name", "small").exit_code == 0
    assert {file.name: file.read_bytes() for file in (root / FOLDER).iterdir()} == before


@pytest.mark.parametrize(
    ("words", "licence", "attribution"),
    [
        ([], "not stated", "not stated"),
        (["--licence", "MIT", "--attribution", "Town Club"], "MIT", "Town Club"),
    ],
)
def test_texts_of_ones_own_have_the_rights_that_are_said(root, tmp_path, words, licence, attribution):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/Alm.txt").write_text("Alm is a town.")
    done = call(tmp_path / "own", "--name", "small", *words)
    assert done.exit_code == 0, done.output
    (row,) = pq.read_table(root / FOLDER / "articles.parquet").to_pylist()
    assert (row["licence"], row["attribution"]) == (licence, attribution)
    hint = "" if words else " (--licence, --attribution)"
    assert done.stdout.splitlines()[-1] == f"licence: {licence}, attribution: {attribution}{hint}"
    said = (root / FOLDER / "LICENCE.md").read_text(encoding="utf-8")
    assert licence in said
    assert attribution in said
    assert "Wikipedia" not in done.stdout + said


def test_titles_choose_and_those_that_are_missing_are_counted(root, tmp_path):
    done = call(
        write_dump(tmp_path / "pages.xml"), "--name", "small", "--title", "Old Alm", "--title", "Vexham"
    )
    assert done.exit_code == 0, done.output
    assert "1 articles, 2 aliases" in done.stdout
    assert "1 missing" in done.stdout


def test_a_source_that_was_cut_ends_with_failures(root, tmp_path):
    done = call(write_dump(tmp_path / "pages.xml", PAGES, "<page><tit"), "--name", "small")
    assert done.exit_code == 1
    assert "ended early: pages.xml: truncated" in done.stderr
    assert (root / FOLDER / "parts.parquet").exists()


def test_a_public_api_is_not_asked_without_a_contact(root, monkeypatch):
    monkeypatch.delenv("BENCHLOOM_CONTACT", raising=False)
    done = call("https://en.wikipedia.org/w/api.php", "--name", "small", "--title", "Alm")
    assert isinstance(done.exception, BadInput)
    assert "--contact: is missing" in str(done.exception)
    assert not list(root.glob("data/raw/wikipedia/*"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../x", "is not a valid name"),
        ("small", "contains no article (4 redirect_circle"),
        ("A b", "is not a valid name"),
    ],
)
def test_what_gives_no_article_changes_nothing(root, tmp_path, name, said):
    circle = [page for page in PAGES if ">A<" in page or ">B<" in page]
    done = call(write_dump(tmp_path / "pages.xml", circle), "--name", name, "--title", "A", "--title", "B")
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert not list(root.glob("data/raw/wikipedia/*"))


def test_entries_about_looks_are_counted_by_their_keys(root, tmp_path):
    for name, width in (("Alm", "50px"), ("Brack", "90px")):
        (tmp_path / f"{name}.txt").write_text(f"{{{{Infobox town|area=9|width={width}}}}} {name} is a town.")
    done = call(tmp_path, "--name", "small", "--title", "Alm", "--title", "Brack")
    assert "2 infobox entries about looks (width 2)" in done.stdout
    lines = [json.loads(line) for line in (root / FOLDER / "skipped.jsonl").read_text().splitlines()]
    assert {"where": "width", "reason": "infobox_look", "detail": "2 times about looks"} in lines


def test_structured_contents_are_tables_with_their_kinds_of_parts(root, tmp_path):
    (tmp_path / "contents").mkdir()
    other = {**RECORD, "name": "Ada_Brack", "redirects": [], "version": {"identifier": 7}}
    write_lines(tmp_path / "contents/enwiki_namespace_0_0.ndjson", [RECORD, {"identifier": 3}])
    packed = gzip.compress((json.dumps(other) + "\n").encode())
    (tmp_path / "contents/enwiki_namespace_0_1.ndjson.gz").write_bytes(packed)
    done = call(tmp_path / "contents", "--name", "small")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[:3] == [
        f"2 articles, 1 aliases: {FOLDER}/articles.parquet",
        f"20 parts (8 cell, 4 infobox, 8 text): {FOLDER}/parts.parquet",
        f"left out: 1 broken: {FOLDER}/skipped.jsonl",
    ]
    articles = pq.read_table(root / FOLDER / "articles.parquet").to_pylist()
    assert [(row["article"], row["page"], row["revision"], row["aliases"]) for row in articles] == [
        ("Josephine Quill", 255083, 1227, ["J. Quill"]),
        ("Ada Brack", 255083, 7, []),
    ]
    assert read_skipped(root) == [
        {
            "where": "enwiki_namespace_0_0.ndjson, line 2",
            "reason": "broken",
            "detail": "is not an article: has no name",
        }
    ]
    parts = pq.read_table(root / FOLDER / "parts.parquet").to_pylist()
    (year,) = (part for part in parts if (part["article"], part["text"]) == ("Ada Brack", "1990"))
    assert (year["kind"], year["section"], year["parent"], year["headers"]) == (
        "cell", "Youth", "Life", ["Orb", "Year"],
    )  # fmt: skip


def read_skipped(root):
    return [json.loads(line) for line in (root / FOLDER / "skipped.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "said", "reasons"),
    [
        # 71 pages, one a redirect; 42 pages, one without a part. `part`: pages with invalid markup.
        pytest.param("wikitext", "70 articles, 1 aliases", {"part": 3}, marks=needs("wikitext")),
        pytest.param("infobox", "41 articles, 0 aliases", {"empty": 1, "part": 5}, marks=needs("infobox")),
    ],
)
def test_real_folders_come_whole_and_what_is_left_out_is_said(root, name, said, reasons):
    done = call(SHARED / name, "--name", "small")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{said}: ")
    skipped = read_skipped(root)
    counts = Counter(line["reason"] for line in skipped)
    assert {reason: counts[reason] for reason in counts.keys() - {"template", "infobox_look"}} == reasons
    parts = pq.read_table(root / FOLDER / "parts.parquet").to_pylist()
    assert {part["kind"] for part in parts} == {"text", "cell", "infobox"}
    assert not [part["text"] for part in parts if "{{" in part["text"] or "[[" in part["text"]]
    files = {file.stem for file in (SHARED / name).iterdir()}
    articles = pq.read_table(root / FOLDER / "articles.parquet").to_pylist()
    assert len(articles) + sum(len(row["aliases"]) for row in articles) == len(files) - 1 - counts["empty"]
    assert sum(row["parts"] for row in articles) == len(parts)


@needs("ottqa")
def test_real_passages_come_under_the_titles_of_their_pages(root):
    file = SHARED / "ottqa/passages/1930_Santa_Clara_Broncos_football_team_0.json"
    done = call(file, "--name", "small", "--title", "Sacramento, CA", "--title", "Olympic Club")
    assert done.exit_code == 0, done.output
    articles = pq.read_table(root / FOLDER / "articles.parquet").to_pylist()
    assert [row["article"] for row in articles] == ["Sacramento, CA", "Olympic Club"]
    assert read_skipped(root) == []
    parts = pq.read_table(root / FOLDER / "parts.parquet").to_pylist()
    assert parts[0]["text"].startswith(
        "Sacramento ( ; ; ) is the capital city of the U.S. state of California"
    )
