"""Tests of adding chemical elements to the graph of countries without losing a country."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.sources.graph_draft import GraphDraft
from tasks.sources.things import ABOUT, things
from tasks.sources.wikidata.rows import ClaimRow, EntityRow

ARTICLES = {
    "Neon": ("Neon is a chemical element; it has symbol Ne and atomic number 10.", "Chemical element"),
    "Mercury (element)": ("Mercury is a chemical element.", "Chemical element"),
    "Mercury": ("Mercury is a planet.", "First planet from the Sun"),
    "Aluminium": ("Aluminium is a chemical element.", "Chemical element"),
}


def write_countries(folder: Path) -> Path:
    draft = GraphDraft()
    draft.add_thing("P47", "shares border with", kind="property")
    for name in ("Varn", "Ostel", "Pell"):
        draft.add_thing(name, name, article=name)
    draft.link("Varn", "P47", "Ostel", "Pell")
    draft.link("Ostel", "P47", "Varn")
    draft.write(folder, {}, Counter())
    return folder


def build(folder: Path, packages: Path) -> Path:
    articles = folder / "articles.json"
    told = {
        title: {"title": title, "extract": text, "description": what, "topic": "x"}
        for title, (text, what) in ARTICLES.items()
    }
    articles.write_text(json.dumps(told), encoding="utf-8")
    things(write_countries(folder / "countries"), packages / "elements.csv", articles, folder / "things")
    return folder / "things"


def test_elements_are_added_with_what_the_package_says(tmp_path: Path, packages: Path) -> None:
    out = build(tmp_path, packages)
    found = {row.id: row for row in read_rows(out / "entities.parquet", EntityRow)}
    assert sum(name.startswith("element/") for name in found) == 118
    articles = {
        row.labels[0].text: row.sitelinks[0].title for row in found.values()
        if row.id.startswith("element/") and row.sitelinks
    }  # fmt: skip
    assert articles == {"Neon": "Neon", "Mercury": "Mercury (element)", "Aluminium": "Aluminium"}
    claims = read_rows(out / "claims.parquet", ClaimRow)
    neon = {
        claim.property: claim.value.item or claim.value.amount or claim.value.text or claim.value.year
        for claim in claims if claim.entity == "element/Ne"
    }  # fmt: skip
    assert neon == {
        "P31": "class/element", "P1086": "10", "P246": "Ne", "period": "period/2",
        "series": "series/noble gas",
        "P515": "state/gases", "P575": 1898,
    }  # fmt: skip
    about = json.loads((out / "about.json").read_text())
    assert about["name"] == ABOUT["name"]
    assert about["counts"]["left_out"] == {"element without an article": 115}


def test_nothing_of_the_countries_is_lost(tmp_path: Path, packages: Path) -> None:
    out, countries = build(tmp_path, packages), tmp_path / "countries"
    things_before = read_rows(countries / "entities.parquet", EntityRow)
    assert set(things_before) <= set(read_rows(out / "entities.parquet", EntityRow))
    claims_before = read_rows(countries / "claims.parquet", ClaimRow)
    assert set(claims_before) <= set(read_rows(out / "claims.parquet", ClaimRow))


def test_another_file_is_refused_in_one_line(tmp_path: Path, packages: Path) -> None:
    (tmp_path / "elements.csv").write_text("name,symbol\nNeon,Ne\n")
    with pytest.raises(BadInput, match="is not the elements file of bokeh_sampledata"):
        build(tmp_path, tmp_path)
