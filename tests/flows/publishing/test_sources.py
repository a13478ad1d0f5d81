"""Tests of a dataset's sources: attributions, private sources, and entries that are not sources."""

import json

import pytest

from flows.publishing.sources import list_sources
from flows.run.node import Node
from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.sources.wikipedia.rows import ArticleRow

PARAMS = {
    "databases": {
        "films": {
            "file": "data/raw/films.sqlite",
            "title": "Films",
            "licence": "CC0-1.0",
            "attribution": "W",
        },
        "wages": {"file": "data/raw/wages.sqlite", "licence": "Proprietary"},
        "bare": {"file": "data/raw/bare.sqlite"},
    },
    "longform": {
        "databases": {name: {"file": f"data/raw/{name}.sqlite"} for name in ("films", "wages", "bare")},
        "sets": {"some": {"databases": ["films"]}, "two": {"databases": ["films", "bare"]}},
    },
}
SOURCES = {
    f"columns@{name}": Node(
        f"columns@{name}",
        "longform.source_columns",
        name,
        (f"data/raw/{name}.sqlite",),
        (f"data/s/{name}",),
        (),
    )
    for name in ("films", "wages", "bare")
}


def make_set(key, *deps, upstream=tuple(SOURCES)):
    return Node(
        f"items@{key}", "longform.items", key, deps, (f"data/longform/{key}/items.parquet",), upstream
    )


def list_told(root, lead):
    nodes = {**SOURCES, lead.name: lead}
    found = list_sources(nodes, lead, PARAMS, root)
    return [
        (source.told.title, source.told.licence, source.told.attribution, source.private) for source in found
    ]


FILMS = ("Films", "CC0-1.0", "W", False)


def test_the_entries_that_a_set_names_are_its_sources_and_no_others(tmp_path):
    assert list_told(tmp_path, make_set("some", "data/s")) == [FILMS]
    assert list_told(tmp_path, make_set("two", "data/s")) == [("bare", "unknown", "", True), FILMS]
    everything = list_told(tmp_path, make_set("all", "data/s"))
    assert everything == [("bare", "unknown", "", True), FILMS, ("wages", "Proprietary", "", True)]


def test_imported_folders_say_themselves_whom_they_name(tmp_path):
    raw = tmp_path / "data/raw"
    about = {"name": "graph", "licence": "CC BY 4.0", "attribution": "GeoNames", "source": "http://geo"}
    for folder, name, told in (
        ("graph", "about.json", about),
        ("streams/films", "dataset.json", {"title": "BIRD", "licence": "CC BY-SA 4.0"}),
        ("streams/other", "dataset.json", {"title": "Other", "licence": "MIT"}),
        ("seeds", "about.json", {"name": "seeds", "licence": "MIT"}),
    ):
        (raw / folder).mkdir(parents=True)
        (raw / folder / name).write_text(json.dumps(told))
    (raw / "seeds/items.jsonl").write_text("")
    rows = [
        ArticleRow(f"A{number}", None, None, (), 1, "CC BY-SA 4.0", who)
        for number, who in enumerate(("Wiki", "Wiki", "Other wiki"))
    ]
    write_rows(raw / "articles/articles.parquet", ArticleRow, rows)
    deps = ("data/raw/graph", "data/raw/streams", "data/raw/seeds/items.jsonl", "data/raw/articles",
            "data/raw/lost.csv", "tasks/files.py", "data/labels", "data/s")  # fmt: skip
    assert list_told(tmp_path, make_set("some", *deps)) == [
        ("articles", "CC BY-SA 4.0", "Other wiki", False),
        ("articles", "CC BY-SA 4.0", "Wiki", False),
        FILMS,
        ("graph", "CC BY 4.0", "GeoNames", False),
        ("data/raw/lost.csv", "unknown", "", True),
        ("seeds", "MIT", "", False),
        ("BIRD", "CC BY-SA 4.0", "", False),
    ]


def test_a_folder_that_does_not_say_what_it_is_is_named(tmp_path):
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph/about.json").write_text("[]")
    with pytest.raises(BadInput, match=r"about\.json: is not a valid description of this folder"):
        list_told(tmp_path, make_set("some", "graph"))
