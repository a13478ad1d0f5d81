"""Tests that answers over 200 generated columns equal a plain computation from the raw cells."""

import datetime as dt
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.dirty.answers import FEW, Made
from tests.grammar.dirty.database import list_plants, make_plants

ROWS, WIDTH, MANY = 60, 10, 60
FIRST = dt.datetime(1980, 1, 1)  # noqa: DTZ001 (cells have no zone)
FORMATS = ("%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%b-%Y", "%B %d, %Y", "%Y%m%d")
CLOCKS = ("%d/%m/%Y %H:%M", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M:%S")
WORDS = ("Anker", "anker", "Blue Bay", "Blue  Bay", "Gull", "Zo\u00eb", "Zoe\u0308", "O'Neil", "9,5", "Knot ")
ODD = ("about 3", "heavy", "1/2", "30/02/2004", "2004-02-30", "TBD", "99x")
NONE = (None, "", "N/A", "n/a", "-", "unknown", "0000-00-00", "31/12/9999")

MAKERS = {
    "integers": lambda dice: dice.randint(-500, 500),
    "decimals": lambda dice: dice.randint(-9999, 9999) / 4,
    "prices": lambda dice: float(dice.randint(1, 40) * 5),
    "digits": lambda dice: f"{dice.randint(0, 10**9):012}",
    "words": lambda dice: dice.choice(WORDS),
    **{
        form: lambda dice, form=form: (FIRST + dt.timedelta(days=dice.randint(0, 9000))).strftime(form)
        for form in FORMATS
    },
    **{
        form: lambda dice, form=form: (FIRST + dt.timedelta(minutes=dice.randint(0, 9**7))).strftime(form)
        for form in CLOCKS
    },
}
SPECS = st.tuples(
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from(["TEXT", "REAL", "INTEGER", "DATE", "STRING", "DATETIME2", ""]),
    st.sampled_from([0, 0.02, 0.2]),
    st.sampled_from([0, 0.1, 0.5]),
    st.integers(0, 2**32),
)
"""Kind, declared type, fraction of misfit cells, fraction of cells for a missing value, seed."""


def fill_column(kind, odd, none, seed):
    """Return cells of a kind, with fractions of misfit and missing cells."""
    dice = random.Random(seed)
    cells = []
    for _ in range(ROWS):
        drawn = dice.random()
        other = ODD if drawn < odd else NONE if drawn < odd + none else ()
        cells.append(dice.choice(other) if other else MAKERS[kind](dice))
    return cells


def check_sqlite(path, specs, few=FEW):
    columns = [(declared, fill_column(kind, odd, none, seed)) for kind, declared, odd, none, seed in specs]
    return Made(make_plants(path, columns), few=few).check()


def check_server(kind, specs):
    """Create and check the columns on a server: typed numbers with NULL for misfits, other kinds as texts."""
    typed = [spec[0] in ("integers", "decimals", "prices") for spec in specs]
    cells = [fill_column(kind, odd, none, seed) for kind, _, odd, none, seed in specs]
    with open_place(kind) as place:
        real = "DOUBLE PRECISION" if kind == "postgresql" else "DOUBLE"
        columns = ", ".join(f"c{n} {real if number else 'VARCHAR(60)'}" for n, number in enumerate(typed))
        place.run(
            f"CREATE TABLE plants (plant_id INT PRIMARY KEY, name VARCHAR(40), coast VARCHAR(40), {columns})"
        )
        place.load(
            "plants",
            [
                (*row[:3], *(_fit(cell, number) for cell, number in zip(row[3:], typed, strict=True)))
                for row in list_plants(cells)
            ],
        )
        place.grant()
        return Made(place.entry, few=MANY).check()


def _fit(cell, number):
    if number:
        return None if isinstance(cell, str) else cell
    return None if cell is None else str(cell)


@settings(max_examples=1, deadline=None)
@given(specs=st.lists(SPECS, min_size=WIDTH, max_size=WIDTH))
def test_ten_columns(specs, tmp_path_factory):
    check_sqlite(tmp_path_factory.mktemp("plants") / "plants.sqlite", specs)


@pytest.mark.drill  # 200 columns in 20 databases: some minutes
@pytest.mark.timeout(1800)
@settings(max_examples=20, deadline=None)
@given(specs=st.lists(SPECS, min_size=WIDTH, max_size=WIDTH))
def test_two_hundred_columns(specs, tmp_path_factory):
    check_sqlite(tmp_path_factory.mktemp("plants") / "plants.sqlite", specs, MANY)


@pytest.mark.drill  # 200 columns in 20 databases on each server: some minutes
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_two_hundred_columns_on_servers(kind):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSWORD_ENV, PASSWORD)

        @settings(max_examples=20, deadline=None)
        @given(specs=st.lists(SPECS, min_size=WIDTH, max_size=WIDTH))
        def run(specs):
            check_server(kind, specs)

        run()
