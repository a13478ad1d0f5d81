"""Tests that publish and load every dataset of the sample, and one evaluation of each flow."""

import json
import subprocess
import sys

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

from tasks.artifacts.parquet import count_rows
from tasks.models.recording.shipped import read_shipped

FILMS, FLIGHTS = (
    "Wikidata contributors",
    "US Bureau of Transportation Statistics and Federal Aviation Administration",
)
COUNTRIES = "countryinfo by Porimol Chandro; GeoNames (geonames.org); Unicode; Wikidata contributors"
WIKIPEDIA = "Wikipedia contributors"
PUBLISHED = {
    "films": ("data/grammar/films/balanced.parquet", "cc0-1.0", {FILMS}),
    "flights_closed": ("data/grammar/flights_closed/balanced.parquet", "cc0-1.0", {FLIGHTS}),
    "films-good": ("data/grammar/films/films-good/judgements.parquet", "cc0-1.0", {FILMS}),
    "longform.sets.sample": ("data/longform/sample/items.parquet", "cc0-1.0", {FILMS, FLIGHTS}),
    "longform.evaluations.sample": (
        "data/longform/sample/sample/reference_verdicts.parquet", "cc0-1.0", {FILMS, FLIGHTS},
    ),
    "tanq.sets.sample": ("data/tanq/sample/items.parquet", "other", {FILMS, COUNTRIES, WIKIPEDIA}),
    "tanq.evaluations.sample": (
        "data/tanq/sample/sample/scores.parquet", "other", {FILMS, COUNTRIES, WIKIPEDIA},
    ),
    "streambench.streams.sample": ("data/streambench/sample/items.parquet", "cc0-1.0", {FILMS, FLIGHTS}),
    "streambench.evaluations.sample": (
        "data/streambench/sample/sample/steps.parquet", "cc0-1.0", {FILMS, FLIGHTS},
    ),
}  # fmt: skip


@pytest.mark.drill
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_published_with_its_ledger_and_attributions(root, name, tmp_path):
    lead, licence, attributions = PUBLISHED[name]
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "publish", name, "--to", str(out), "--json"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for number, config in enumerate(told["sets"]):
        loaded = load_dataset(str(out), config, cache_dir=str(tmp_path / "cache"))["test"]
        assert loaded.num_rows > 0
        assert number or loaded.num_rows == count_rows(root / lead)
    assert (len(read_shipped(out / "ledger/calls.jsonl.gz")) if told["calls"] else 0) == told["calls"]
    card = DatasetCard((out / "README.md").read_text())
    assert card.data["license"] == licence
    licences = (out / "LICENSE.md").read_text()
    assert {
        said for said in (FILMS, FLIGHTS, COUNTRIES, WIKIPEDIA) if f"Attribution: {said}." in licences
    } == attributions
    assert all(said in card.text for said in attributions)
