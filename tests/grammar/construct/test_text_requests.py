from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.text_requests import find_rival, list_rivals
from tests.grammar.scripted import SCHEMA, column

LEADING = Query(("doctors.name",), (("doctors.doctor_id", "visits.leading_doctor"),), ("visits.day",))
DATES = [
    column("films.title"),
    column("films.release_date", "date"),
    column("films.premiere_date", "date"),
    column("films.runtime", "integer"),
]


def test_rivals_ask_for_other_columns_or_go_by_other_relations():
    rivals = list(list_rivals(LEADING, SCHEMA))
    assisting = (("doctors.doctor_id", "visits.assisting_doctor"),)
    assert Query(("doctors.specialty",), LEADING.joins, LEADING.placeholders) in rivals
    assert Query(("doctors.name",), assisting, LEADING.placeholders) in rivals
    assert Query(("doctors.specialty",), assisting, LEADING.placeholders) in rivals
    assert LEADING not in rivals
    assert {rival.placeholders for rival in rivals} == {("visits.day",)}


def test_a_text_that_fits_another_query_is_told_by_it():
    query = Query(("films.release_date",), (), ("films.title",))
    other = Query(("films.premiere_date",), (), ("films.title",))
    assert find_rival("release date of the film [films.title]", query, DATES) is None
    assert find_rival("when was the premiere of the film [films.title]", query, DATES) == other


def test_a_text_that_says_its_relation_has_no_rival():
    assert find_rival("name of the leading doctor of the visit on day [visits.day]", LEADING, SCHEMA) is None
    rival = find_rival("name of the assisting doctor of the visit on day [visits.day]", LEADING, SCHEMA)
    assert rival is not None
    assert rival.joins == (("doctors.doctor_id", "visits.assisting_doctor"),)


def test_a_text_that_says_a_word_of_its_own_column_is_not_taken_for_another():
    planes = [
        column("planes.tail_number"),
        column("planes.engine_type"),
        column("planes.number_of_engines", "integer"),
        column("planes.manufacture_year", "integer"),
        column("planes.manufacturer"),
    ]
    for wanted, text in (
        ("planes.engine_type", "engine type of the plane with tail number [planes.tail_number]"),
        ("planes.manufacture_year", "manufacture year of the plane with tail number [planes.tail_number]"),
    ):
        assert find_rival(text, Query((wanted,), (), ("planes.tail_number",)), planes) is None
