import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.databases.columns import make_column_id, split_column_id


@pytest.mark.parametrize(
    ("table", "name", "written"),
    [
        ("films", "title", "films.title"),
        ("contacts", "phone ext.", "contacts.phone ext%2E"),
        ("a.b", "c", "a%2Eb.c"),
        ("a", "b.c", "a.b%2Ec"),
        ("rates", "tariff [gbp]", "rates.tariff %5Bgbp%5D"),
        ("Ämter", "größe", "Ämter.größe"),
        ("rates", "50%", "rates.50%25"),
        ("rates", " a  b ", "rates.%20a %20b%20"),
        ("rates", "a\u2003b", "rates.a%E2%80%83b"),
    ],
)
def test_an_id_has_one_dot_and_no_bracket(table, name, written):
    assert make_column_id(table, name) == written
    assert split_column_id(written) == (table, name)


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_id_names_one_column_and_lasts_in_a_text(table, name):
    written = make_column_id(table, name)
    assert split_column_id(written) == (table, name)
    assert written.count(".") == 1
    assert not set(written) & set("[]:'\"`\\")
    assert " ".join(f"of {written} there".split()) == f"of {written} there"


def test_the_suffix_of_a_placeholder_is_no_part_of_its_column():
    assert split_column_id("films.year:from") == ("films", "year")
    assert split_column_id(make_column_id("films", "year:from")) == ("films", "year:from")
