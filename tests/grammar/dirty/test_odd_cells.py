"""Cells that an engine stores and no question can say: they cost themselves or their column, by name."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.grammar.dirty.answers import Made
from tests.grammar.dirty.database import make_plants

INFINITIES = (float("inf"), float("-inf"))
NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6).map(lambda number: round(number, 2)))


@settings(max_examples=5, deadline=None)
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
