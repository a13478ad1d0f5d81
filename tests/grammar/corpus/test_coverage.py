from tasks.grammar.construct.queries import Query
from tasks.grammar.corpus.entity_tables import find_untold, open_entity_table
from tests.grammar.scripted import SCHEMA

WORKS_AT = ("clinics.clinic_id", "doctors.clinic_id")
TOWN = Query(("clinics.town",), (WORKS_AT,), ("doctors.name",))
RATE = Query(("doctors.hourly_rate",), (), ("doctors.name",))


def find(query, *tables, **counts):
    """Find facts missing from documents that state one value per column, except for columns in `counts`."""
    opened = [open_entity_table("hospital", table, SCHEMA) for table in tables]
    due = {name.replace("__", "."): count for name, count in counts.items()}
    return find_untold(query, opened, lambda _, attribute: due.get(attribute.column, 1))


def test_own_columns_and_those_reached_by_the_same_joins_are_told():
    assert find(RATE, "doctors") == ()
    assert find(TOWN, "doctors") == ()
    assert find(TOWN, "doctors", "clinics") == ()


def test_a_fact_that_is_left_out_is_named_whether_asked_for_given_or_ranked_by():
    assert find(RATE, "doctors", doctors__hourly_rate=0) == ("doctors.hourly_rate",)
    assert find(TOWN, "doctors", clinics__town=0) == ("clinics.town",)
    given = Query(("doctors.name",), (), ("doctors.specialty",), "list")
    assert find(given, "doctors", doctors__specialty=0) == ("doctors.specialty",)
    ranked = Query(("doctors.name",), (), ("doctors.specialty",), "most", "doctors.hourly_rate")
    assert find(ranked, "doctors", doctors__hourly_rate=0) == ("doctors.hourly_rate",)


def test_what_stands_in_a_table_beyond_the_documents_reach_is_untold():
    # A clinic's document states nothing about its doctors; without documents, no fact is stated.
    assert find(TOWN, "clinics") == ("doctors.name",)
    assert find(TOWN) == ("clinics.town", "doctors.name")
    # A visit's doctor is one step away, and the doctor's clinic is two steps away.
    joins = (WORKS_AT, ("doctors.doctor_id", "visits.leading_doctor"))
    two_steps = Query(("clinics.town",), joins, ("visits.day",))
    assert find(two_steps, "visits") == ("clinics.town",)
    assert find(two_steps, "visits", "doctors") == ()


def test_two_documents_go_together_only_where_one_names_the_others_thing():
    # The doctor's document omits the town, the clinic's states it; the clinic's name connects both.
    two = Query(("clinics.town", "doctors.specialty"), (WORKS_AT,), ("doctors.name",))
    assert find(two, "doctors", "clinics") == ()
    assert find(two, "doctors", "clinics", clinics__name=0, clinics__town=0) != ()


def test_several_values_of_two_columns_of_another_thing_do_not_say_which_go_together():
    both = Query(("clinics.town",), (WORKS_AT,), ("clinics.name", "doctors.specialty"))
    assert find(both, "doctors") == ()
    assert find(both, "doctors", clinics__name=2, clinics__town=2) == ("clinics.town",)
    assert find(both, "doctors", "clinics", clinics__name=2, clinics__town=1) == ()


def test_what_is_counted_has_documents_or_a_name_in_others():
    count = Query(("doctors.doctor_id",), (), ("doctors.specialty",), "count")
    assert find(count, "doctors") == ()
    others = Query(("doctors.doctor_id",), (WORKS_AT,), ("clinics.town",), "count")
    assert find(others, "clinics") == ("doctors.doctor_id",)
    assert find(others, "doctors") == ()
