from dataclasses import replace

import pytest

from tasks.grammar.construct.names import (
    make_singular,
    name_column,
    name_column_with_unit,
    name_table,
    split_words,
)
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import verbalise_query
from tasks.models.ask import Unparsed
from tests.grammar.scripted import SCHEMA, column

TOWN = Query(("clinics.town",), (), ("clinics.name",))
LEADING = Query(
    ("doctors.name",), (("doctors.doctor_id", "visits.leading_doctor"),), ("visits.day", "visits.reason")
)


def parse(text, query=TOWN, minimum=2, maximum=30):
    return parse_text(text, query, verbalise_query(query, SCHEMA), SCHEMA, minimum, maximum)


GOOD = [
    (TOWN, "town of the clinic [clinics.name]"),
    (TOWN, "In which town is the clinic [clinics.name]?"),
    (TOWN, "What is the town of the clinic [clinics.name]? I must know sooner or later."),
    (TOWN, "Could you tell me the town of the clinic [clinics.name]? Your clinic helps me and you."),
    (LEADING, "leading doctor of the visit on [visits.day] for [visits.reason]"),
    (LEADING, "Who led as leading doctor the visit on [visits.day] because of [visits.reason]?"),
]
BAD = [
    (TOWN, "town of the clinic", "wrong_placeholders"),
    (TOWN, "town of [clinics.name] or [clinics.name]", "wrong_placeholders"),
    (TOWN, "town of [clinics.name] in [clinics.town]", "wrong_placeholders"),
    (TOWN, "[clinics.name]", "too_short"),
    (TOWN, "town " * 40 + "[clinics.name]", "too_long"),
    (TOWN, "select the town of the clinic [clinics.name]", "code_words"),
    (TOWN, "clinics.town of [clinics.name]", "code_words"),
    (TOWN, "the clinic_town of [clinics.name]", "code_words"),
    (TOWN, "all about the clinic [clinics.name]", "wanted_missing"),
    (TOWN, "What is the town? And who is at [clinics.name]?", "asks_twice"),
    (TOWN, "town of [clinics.name]", "given_missing"),
    (TOWN, "town or name of the clinic [clinics.name]", "says_or"),
    (TOWN, "What is the town of the clinic [clinics.name] and in what year was it built?", "asks_twice"),
    (TOWN, "town of the clinic in the town with clinic name [clinics.name]", "says_again"),
    (TOWN, "Could you tell me the town of the clinic [clinics.name] that you mentioned?", "speaks_of_you"),
    (TOWN, "What is the town of your clinic [clinics.name]?", "speaks_of_you"),
    (TOWN, "town of the clinic [clinics.name] for visits", "names_other"),
    (LEADING, "doctor of the visit on [visits.day] for [visits.reason]", "relation_missing"),
    (LEADING, "leading and assisting doctor on [visits.day] for [visits.reason]", "names_other"),
    (LEADING, "specialty and name of the leading doctor on [visits.day] for [visits.reason]", "names_other"),
]


@pytest.mark.parametrize(("query", "text"), GOOD)
def test_good_texts_are_read(query, text):
    assert parse(text, query) == text


@pytest.mark.parametrize(("query", "text", "reason"), BAD)
def test_each_broken_rule_has_its_word(query, text, reason):
    with pytest.raises(Unparsed) as broken:
        parse(text, query)
    assert str(broken.value).partition(":")[0] == reason


RATE = Query(("doctors.hourly_rate",), (), ("doctors.name",))
COUNTED = replace(verbalise_query(TOWN, SCHEMA), required=(frozenset({"how many", "number"}),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("number of towns of the clinic [clinics.name]", ""),
        ("How many towns does the clinic [clinics.name] have in total?", ""),
        ("towns of the clinic [clinics.name]", "measure_missing: how many"),
        ("How many towns does the clinic [clinics.name] have on average?", "measure_added: average"),
    ],
)
def test_a_measure_is_said_where_the_query_has_it(text, problem):
    try:
        parse_text(text, TOWN, COUNTED, SCHEMA, 2, 30)
        found = ""
    except Unparsed as error:
        found = str(error)
    assert found == problem


@pytest.mark.parametrize(
    ("query", "text", "reason"),
    [
        (TOWN, "most recent town of the clinic [clinics.name]", "measure_added"),
        (TOWN, "How many towns has the clinic [clinics.name]?", "measure_added"),
        (RATE, "average hourly rate of the doctor [doctors.name]", "measure_added"),
        (RATE, "What hourly rate does the doctor [doctors.name] take? I need at most a minute.", ""),
    ],
)
def test_a_measure_is_not_said_where_the_query_has_none(query, text, reason):
    try:
        assert parse(text, query) == text
        found = ""
    except Unparsed as error:
        found = str(error).partition(":")[0]
    assert found == reason


def test_the_verbalisation_says_what_is_wanted_and_given():
    verbalisation = verbalise_query(LEADING, SCHEMA)
    assert verbalisation.wanted == ("name of the leading doctor",)
    assert verbalisation.given == ("the visit with day [visits.day] and reason [visits.reason]",)
    assert verbalisation.phrases[1] == (
        "visit reason [visits.reason]", "visit with reason [visits.reason]", "reason [visits.reason]"
    )  # fmt: skip
    assert verbalisation.phrases[0] == (
        "visit day [visits.day]", "visit with day [visits.day]"
    )  # fmt: skip
    assert verbalisation.relations[0].rivals == ("assisting",)
    backwards = Query(("visits.reason",), LEADING.joins, ("doctors.name", "doctors.specialty"))
    assert verbalise_query(backwards, SCHEMA).given == (
        "the leading doctor [doctors.name] with specialty [doctors.specialty]",
    )


def test_link_tables_give_relations_their_names():
    schema = [
        column("films.film_id", "integer", key=True, ask=False), column("films.title"),
        column("people.person_id", "integer", key=True, ask=False), column("people.person_name"),
        *(column(f"film_{role}.{key}", "integer", references=to)
          for role in ("directors", "writers")
          for key, to in (("film_id", "films.film_id"), ("person_id", "people.person_id"))),
    ]  # fmt: skip
    joins = (("film_directors.film_id", "films.film_id"), ("film_directors.person_id", "people.person_id"))
    verbalisation = verbalise_query(Query(("people.person_name",), joins, ("films.title",)), schema)
    assert verbalisation.wanted == ("name of the director",)
    assert verbalisation.given == ("the film [films.title]",)
    assert verbalisation.relations[0].rivals == ("writer",)


def test_names_in_words():
    assert split_words("BirthDateUTC") == ["birth", "date", "utc"]
    assert [make_singular(word) for word in ("countries", "people", "boxes", "bus", "glass", "series", "films")] == [  # noqa: E501
        "country", "person", "box", "bus", "glass", "series", "film"
    ]  # fmt: skip
    assert name_table("InvoiceLine") == "invoice line"
    assert name_column("airlines.airline_name") == "name"
    assert name_column("planes.tail_number") == "tail number"
    assert name_column("visits.visits") == "visits"
    assert name_column_with_unit("airports.altitude_feet") == "altitude in feet"
