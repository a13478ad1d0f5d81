"""Tests that longform questions use a source's columns by their cells, regardless of declared types."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from statistics import fmean

import pytest

from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.scratch.scratch import build_scratch, write_create
from tasks.errors import BadInput
from tasks.longform.build.columns import columns
from tasks.longform.build.foci import Foci, Focus, foci
from tasks.longform.build.source_rows import source_rows
from tasks.longform.build.sql import quote, write_literal
from tasks.longform.entries import SourceDatabase
from tests.longform.sources import read_source

NURSERIES = ("Alder", "Birk", "Cedar ", "cedar", "Dorn")
WEIGHTS = ("N/A", "", "about 3")


def weigh(number: int) -> float | str:
    """Return a plant's weight; every eighth is a placeholder for a missing value, and one is a misfit."""
    return WEIGHTS[number % 2] if number % 8 == 0 else WEIGHTS[2] if number == 11 else number * 37 % 50 / 4


@pytest.fixture
def plants(tmp_path: Path) -> SourceDatabase:
    """A source with every kind of odd column that affects questions or rows."""
    file = tmp_path / "plants.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            "CREATE TABLE plants (plant_id INTEGER PRIMARY KEY, plant_name STRING, nursery STRING NOT NULL, "
            "weight_kg REAL, height_cm NUMBER NOT NULL, planted DATE NOT NULL, isbn TEXT, pots INTEGER)"
        )
        for number in range(1, 121):
            height = "n/a" if number == 7 else number % 37 + 0.5
            row = (
                number, f"Plant {number}", NURSERIES[number % 5], weigh(number), height,
                f"{number % 12 + 1}/{number % 28 + 1}/2004", f"97858117706{number:02}",
                number % 9 + number % 2 / 2,
            )  # fmt: skip
            connection.execute("INSERT INTO plants VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    return SourceDatabase(file=file, questions=tmp_path / "none.json")


def find_focus(plants: SourceDatabase) -> Focus:
    (focus,) = (
        focus for focus in foci(plants, read_source(plants), Foci()).rows if focus.group == "plants.nursery"
    )
    return focus


def test_amounts_and_groups_are_what_the_cells_are(plants: SourceDatabase) -> None:
    focus = find_focus(plants)
    assert {measure.column for measure in focus.measures} == {
        "plants.weight_kg", "plants.height_cm", "plants.pots",
    }  # fmt: skip
    # `Cedar ` and `cedar` look alike, so no question names them.
    assert set(focus.groups) == {"Alder", "Birk", "Dorn"}


def test_whole_rows_hold_values_and_build_a_strict_database(plants: SourceDatabase) -> None:
    own, focus = read_source(plants), find_focus(plants)
    schema = [row.column for row in own]
    rows = [json.loads(row.tables)["plants"] for row in source_rows(plants, own, [focus]).rows]
    assert rows
    for row in rows:
        number = row["plant_id"]
        weight = weigh(number)
        assert row["weight_kg"] == (weight if isinstance(weight, float) else None)
        assert row["height_cm"] == (None if number == 7 else number % 37 + 0.5)
        assert row["planted"] == f"2004-{number % 12 + 1:02}-{number % 28 + 1:02}"
        assert row["isbn"] == f"97858117706{number:02}"
    names = list(rows[0])
    cells = (", ".join(write_literal(row[name]) for name in names) for row in rows)
    script = f"INSERT INTO plants ({', '.join(map(quote, names))}) VALUES ({'), ('.join(cells)});"
    built = build_scratch(write_create(schema, ["plants"]), script)
    assert built.rows == {"plants": len(rows)}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(built.script)
        found = dict(connection.execute("SELECT nursery, AVG(weight_kg) FROM plants GROUP BY nursery"))
    for nursery, mean in found.items():
        known = [
            row["weight_kg"] for row in rows if row["nursery"] == nursery and row["weight_kg"] is not None
        ]
        assert mean == pytest.approx(fmean(known))


def test_what_does_not_fit_is_named(plants: SourceDatabase) -> None:
    found = columns(plants, "plants", ColumnRules())
    assert [(drop.reason, drop.detail.partition(":")[0]) for drop in found.dropped] == [
        ("no_value", "plants.weight_kg")
    ]
    assert "'about 3'" in found.dropped[0].detail


def test_an_override_is_held_to_the_entry_that_says_it(plants: SourceDatabase) -> None:
    text = plants.model_copy(update={"columns": {"planted": "text"}})
    kinds = {row.column.name: row.column.type for row in read_source(text)}
    assert kinds["planted"] == "text"
    wrong = plants.model_copy(update={"columns": {"planted": "%d/%m"}})
    with pytest.raises(BadInput, match=r"longform\.databases\.plants\.columns: planted"):
        columns(wrong, "plants", ColumnRules())
