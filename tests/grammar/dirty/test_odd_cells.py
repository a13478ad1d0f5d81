"""Tests that cells that no question can contain are omitted, alone or with their column, and named."""

import datetime as dt

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tasks.databases.content import read_content
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.dirty.answers import Made
from tests.grammar.dirty.database import list_plants, make_plants

SETTINGS = {"deadline": None, "phases": [Phase.generate]}
ROWS = 44
INFINITIES = (float("inf"), float("-inf"))
NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6).map(lambda number: round(number, 2)))


@settings(max_examples=3, **SETTINGS)
@given(
    cells=st.lists(NUMBERS, min_size=40, max_size=60),
    odd=st.lists(st.sampled_from(INFINITIES), min_size=1, max_size=6),
    declared=st.sampled_from(["REAL", "INTEGER", "NUMERIC", "DATE", ""]),
)
def test_infinite_numbers(cells, odd, declared, tmp_path_factory):
    path = tmp_path_factory.mktemp("plants") / "plants.sqlite"
    made = Made(make_plants(path, [(declared, [*odd, *cells])]))
    few = len(odd) <= 0.05 * (len(odd) + len(cells))
    assert made.list_losses() == [("no_value" if few else "unfit_cells", "plants.c0")]
    (profile,) = (profile for profile in made.profiles if profile.column == "c0")
    assert (profile.misfits, profile.asked, profile.odd[:1]) == (len(odd), few, (str(odd[0]),))
    assert bool(made.check()["average"]) == few


DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)).map(str)
TIMES = st.times(max_value=dt.time(23, 59)).map(lambda time: time.isoformat("seconds"))
MOMENTS = st.tuples(DAYS, TIMES).map(" ".join)
SERVERS = {
    # server -> type -> cells, misfit cells, the reason if there are few misfit cells
    "postgresql": {
        "time": (TIMES, ["24:00:00"], "unfit_cells"),
        "timetz": (TIMES.map("{}+00".format), ["24:00:00+00", "24:00:00-11"], "unfit_cells"),
        "date": (DAYS, ["infinity", "-infinity", "0044-03-15 BC"], "unfit_cells"),
        "timestamp": (MOMENTS, ["20000-01-01 00:00:00", "99999-12-31 10:30:00"], "no_value"),
    },
    "mariadb": {
        "date": (DAYS, ["2004-02-31", "2005-06-31", "2004-00-00", "2004-05-00"], "no_value"),
        "datetime": (MOMENTS, ["2004-02-31 10:00:00", "2003-02-29 00:00:00"], "no_value"),
    },
}


def draw_columns(server):
    """Sample a column of each type, with at most a few misfit cells."""
    return st.tuples(
        *(
            st.tuples(
                st.lists(cells, min_size=ROWS, max_size=ROWS),
                st.lists(st.sampled_from(odd), min_size=1, max_size=6),
            )
            for cells, odd, _ in SERVERS[server].values()
        )
    )


def check_columns(place, drawn):
    types = SERVERS[place.kind]
    rows = list_plants([[*odd, *sound][:ROWS] for sound, odd in drawn])
    place.run(
        "DROP TABLE IF EXISTS plants",
        *(["SET sql_mode = 'ALLOW_INVALID_DATES'"] if place.kind == "mariadb" else []),
        "CREATE TABLE plants (plant_id INT PRIMARY KEY, name VARCHAR(40), coast VARCHAR(40))",
        *(f"ALTER TABLE plants ADD c{n} {kind}" for n, kind in enumerate(types)),
        f"INSERT INTO plants VALUES {', '.join(map(str, rows))}",
    )
    place.grant()
    assert read_content(place.entry).tables["plants"].rows == ROWS
    made = Made(place.entry)
    profiles = {profile.column: profile for profile in made.profiles}
    losses = dict(reversed(loss) for loss in made.list_losses())
    for n, ((_, odd), (_, _, reason)) in enumerate(zip(drawn, types.values(), strict=True)):
        few = len(odd) <= 0.05 * ROWS
        assert losses[f"plants.c{n}"] == (reason if few else "unfit_cells")
        profile = profiles[f"c{n}"]
        assert (profile.type == "date", profile.misfits) == (few and reason == "no_value", len(odd))
        assert {shown[:10] for shown in profile.odd} <= {cell[:10] for cell in odd}
    assert made.check()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("many", [1, pytest.param(20, marks=[pytest.mark.drill, pytest.mark.timeout(600)])])
def test_dates_and_times_that_no_calendar_has(server, many, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(server) as place:
        run = given(drawn=draw_columns(server))(lambda drawn: check_columns(place, drawn))
        settings(max_examples=many, **SETTINGS)(run)()
