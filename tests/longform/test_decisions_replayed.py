"""Tests that a person's decision makes the stage `confirm` stale."""

import csv
import json

import pytest

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.longform.build.confirm import ConfirmedQuestion
from tests.flows.sample import Sample, make_sample

STAGE = "longform-confirm@sample"
CONDENSED, CONFIRMED = (f"data/longform/sample/{stem}.parquet" for stem in ("condense", "confirm"))


def read_state(sample: Sample) -> tuple[str, list[str]]:
    """Return the stage's state and the reasons."""
    done = sample.benchloom("status", STAGE, "--all", "--json")
    (found,) = json.loads(done.stdout)
    return found["state"], found["why"]


def decide(sample: Sample, item: str, decision: str) -> None:
    """Fill in a review form and import it."""
    form = sample.root / "form.csv"
    done = sample.benchloom("review", "export", CONDENSED, "--out", "form.csv")
    assert done.returncode == 0, done.stderr
    with form.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["decision"] = decision if row["item"] == item else ""
    with form.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    done = sample.benchloom("review", "import", "form.csv", "--reviewer", "Anna")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The sample's items, replayed."""
    made = make_sample(tmp_path_factory.mktemp("reviewed"))
    made.run("longform-items@sample")
    return made


@pytest.mark.drill
def test_a_decision_makes_confirm_stale_and_its_replay_follows_it(sample: Sample) -> None:
    assert read_state(sample)[0] == "fresh"
    kept = read_rows(sample.root / CONFIRMED, ConfirmedQuestion)
    decide(sample, kept[0].id, "reject")
    state, why = read_state(sample)
    assert state == "stale"
    assert "data/labels" in str(why)
    assert "longform-confirm@sample" in sample.run(STAGE)
    left = read_rows(sample.root / CONFIRMED, ConfirmedQuestion)
    assert left == kept[1:]
    dropped = read_rows(sample.root / CONFIRMED.replace(".parquet", ".dropped.parquet"), Dropped)
    assert [(row.id, row.detail) for row in dropped if row.reason == "rejected"] == [
        (kept[0].id, f"by Anna: {kept[0].text}")
    ]
    assert read_state(sample)[0] == "fresh"
