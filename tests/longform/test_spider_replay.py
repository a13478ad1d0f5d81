"""Tests that replay one question on each of twenty databases of Spider from the shipped calls."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.items import LongformItem
from tests.flows.sample import NOWHERE, ROOT, make_sample
from tests.shared_data import SHARED, needs

SPIDER = SHARED / "spider"
READINGS = ROOT / "docs/readings/longform.csv"
TOKENS = "12,595 tokens"
STAGES = ("control", "condense", "confirm", "conjecture", "construct", "classify")


@pytest.mark.drill
@needs("spider")
def test_the_yield_that_the_docs_state_is_had_again_without_a_call(tmp_path: Path) -> None:
    sample = make_sample(tmp_path)
    imported = sample.call("flows.cli", "import", "spider", str(SPIDER), "--take", "20", "--longform", "many")
    assert imported.returncode == 0, imported.stderr
    set_params(sample.root, ["longform.foci.least=3", "longform.control.known=3", NOWHERE])
    assert sample.call("flows.cli", "graph").returncode == 0
    said = sample.run("longform-set-page@many", "longform-contracts@many")
    assert "paid in this run: 0 tokens" in said
    assert f"cost {TOKENS}" in said
    folder = sample.root / "data/longform/many"
    dropped = {
        stage: Counter(row.reason for row in read_rows(folder / f"{stage}.dropped.parquet", Dropped))
        for stage in STAGES
    }
    assert dropped == {"control": {"no_plan": 11}, **{stage: {} for stage in STAGES[1:]}}
    made = read_rows(folder / "construct.parquet", SyntheticDatabase)
    assert {row.rounds for row in made} == {1}
    assert Counter(held for row in made for held in row.borne_out) == {True: 10, False: 8}
    assert {row.by for row in read_rows(folder / "conclude.parquet", Conclusion)} == {"model"}
    items = {item.id: item for item in read_rows(folder / "items.parquet", LongformItem)}
    assert len(items) == 9
    # The manually checked texts equal the output.
    with READINGS.open(encoding="utf-8", newline="") as stream:
        read = {row["item"]: row["text"] for row in csv.DictReader(stream) if row["item"] in items}
    assert read == {name: item.question for name, item in items.items()}
