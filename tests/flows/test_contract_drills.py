"""Tests that planted errors in the sample stop `benchloom run` before a dataset is built."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import write_table
from tests.flows.sample import NOWHERE, Sample, make_datasets

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]
FILMS = "data/grammar/films"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Sample:
    sample = make_datasets(tmp_path_factory.mktemp("sample"))
    sample.run("--set", NOWHERE)
    return sample


@pytest.fixture
def sample(whole):
    """The built sample; planted errors are removed afterwards with DVC's commands."""
    before, lock = whole.artifacts(), (whole.root / "dvc.lock").read_bytes()
    yield whole
    (whole.root / "dvc.lock").write_bytes(lock)
    whole.dvc("checkout", "--force")
    assert f"{len(whole.lock()['stages'])} up to date" in whole.run()
    assert whole.artifacts() == before


def plant(sample: Sample, stem: str, change: Callable[[list[dict]], list[dict]]) -> None:
    """Change an artifact and commit it with DVC, as if a faulty stage had written it."""
    path = sample.root / FILMS / f"{stem}.parquet"
    table = pq.read_table(path)
    write_table(path, pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema))
    sample.dvc("commit", "-f", f"grammar-{stem.replace('_', '-')}@films")


def stop(sample: Sample, stem: str) -> str:
    """Run; assert that the films' dataset and page are not built; return the line with the reason."""
    planted = (sample.root / FILMS / f"{stem}.parquet").read_bytes()
    said = sample.run(code=1)
    outcomes = dict(re.findall(r"^(\S+@\S+) +(\w+)", said, re.MULTILINE))
    assert outcomes["grammar-contracts@films"] == "failed"
    assert outcomes["grammar-dataset@films"] == outcomes["grammar-report@films"] == "skipped"
    assert not {name for name in outcomes if name.endswith("@flights")}
    assert (sample.root / FILMS / f"{stem}.parquet").read_bytes() == planted
    (line,) = [line for line in said.splitlines() if line.startswith("grammar-contracts@films")]

    status = {row["stage"]: row for row in json.loads(sample.call("flows.cli", "status", "--json").stdout)}
    assert status["grammar-contracts@films"]["state"] == "failed"
    assert status["grammar-contracts@films"]["why"][0] in line
    assert status["grammar-dataset@films"]["state"] == "stale"
    assert status["grammar-dataset@flights"]["state"] == "fresh"
    return line


def test_a_row_that_stands_twice(sample):
    row = pq.read_table(sample.root / FILMS / "balanced.parquet").to_pylist()[0]
    plant(sample, "balanced", lambda rows: [rows[0], *rows])
    line = stop(sample, "balanced")
    assert f"{FILMS}: balanced.parquet breaks unique_ids in 2 of 667 rows: {row['id']}, {row['id']}" in line


def test_a_text_with_an_open_bracket(sample):
    def change(rows):
        rows[7]["question"] += " ["
        return rows

    plant(sample, "unbalanced", change)
    own = pq.read_table(sample.root / FILMS / "unbalanced.parquet").to_pylist()[7]["id"]
    assert f"breaks no_bracket_left in 1 of 816 rows: {own}" in stop(sample, "unbalanced")


def find_films(sample: Sample) -> tuple[dict, str, str]:
    """Find a group about one number of one film; return the group, the column and the title."""
    for group in pq.read_table(sample.root / FILMS / "fill_in.parquet").to_pylist():
        found = re.fullmatch(
            r"SELECT DISTINCT films\.(\w+) FROM films WHERE films\.title = '([^']*)'", group["sql"]
        )
        if found and group["answer"].isdigit():
            return group, found[1], found[2]
    raise AssertionError("no such group")


def test_an_answer_that_was_edited(sample):
    group, _, _ = find_films(sample)
    edit = {"answer": "1066", "answer_rows": "[[1066]]"}
    plant(
        sample, "fill_in", lambda rows: [{**row, **edit} if row["id"] == group["id"] else row for row in rows]
    )
    for stem in ("unbalanced", "balanced"):
        sample.dvc("commit", "-f", f"grammar-{stem}@films")
    line = stop(sample, "fill_in")
    assert (
        f"fill_in.parquet breaks answer_reproduces in 1 of 353 rows: {group['id']} (the database returns"
        in line
    )


def test_an_answer_that_the_database_has_left_behind(sample):
    group, column, title = find_films(sample)
    path: Path = sample.root / "data/raw/films/films.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE films SET {column} = 1066 WHERE title = ?", (title,))
    sample.dvc("commit", "-f", "sources-films", "grammar-schema@films", "grammar-fill-in@films")
    line = stop(sample, "fill_in")
    assert "fill_in.parquet breaks answer_reproduces" in line
    assert group["id"] in line
    assert "the database returns [[1066]]" in line
