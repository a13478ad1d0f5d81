"""Tests of every skill, alone and combined, on tables and questions, and of each skill's requirements."""

from collections import Counter
from decimal import Decimal
from itertools import combinations

import pint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.tanq.build.amount_skills import WORDS, approximate, convert_unit, round_converted, say_number
from tasks.tanq.build.skill_choices import Doubts, find_round, list_steps, list_uses
from tasks.tanq.build.skill_draws import SkillLimits, draw_uses, keep_rows, leaves_choice, split_choices
from tasks.tanq.build.skill_table import apply_skills, name_event
from tasks.tanq.build.skill_use import SKILLS, SkillUse
from tasks.tanq.build.skill_words import make_tags, write_question
from tasks.tanq.graph.showing import show_amount
from tests.tanq.skill_tables import MEN, NORTH, make_fact, make_table, make_tagged

FLOATS = pint.UnitRegistry()
COUNTRIES = make_table(NORTH, ["P36", "P2046", "P1082", "P37"])
PEOPLE = make_table(MEN, ["P569", "P570"])
MARGIN = Decimal("0.05")


def use(name, relation, operator="", operand="", other=""):
    return SkillUse(name, relation, other, operator, operand, "")


def read_column(rows, place):
    return {row.label: ", ".join(row.cells[place].values) for row in rows if row.filter_pass}


def ask(table, *uses, noun="countries"):
    return write_question(make_tagged(table), table, uses, noun)


@pytest.mark.parametrize(
    ("used", "sentence", "left"),
    [
        (use("filter_number", "P2046", ">=", "200000"),
         "Keep only the countries whose area is at least 200,000 square kilometres.",
         {"Norway", "Sweden", "Finland"}),
        (use("filter_number", "P1082", "<=", "8000000"),
         "Keep only the countries whose population is at most 8 million.", {"Norway", "Finland", "Denmark"}),
        (use("filter_entity", "P37", "=", "Swedish"),
         "Keep only the countries whose official languages include Swedish.", {"Sweden", "Finland"}),
        (use("filter_entity", "P36", "=", "Oslo"),
         "Keep only the countries whose capital is Oslo.", {"Norway"}),
    ],
)  # fmt: skip
def test_a_filter_is_a_sentence_and_keeps_the_rows_that_fail_it_aside(used, sentence, left):
    _, rows = apply_skills(COUNTRIES, [used])
    assert {row.label for row in rows if row.filter_pass} == left
    assert len(rows) == 4
    assert ask(COUNTRIES, used).endswith(f"? {sentence}")


@pytest.mark.parametrize(
    ("used", "words", "left"),
    [
        (use("filter_time", "P569", ">=", "1700"), "born in 1700 or later", {"Einstein"}),
        (use("filter_time", "P570", "<=", "44 BCE"), "who died in 44 BCE or earlier", {"Caesar"}),
        (use("filter_time", "P569", ">=", "99 BCE"), "born in 99 BCE or later", {"Newton", "Einstein"}),
        (use("filter_time", "P569", "=", "1642"), "born in 1642", {"Newton"}),
    ],
)
def test_a_filter_by_time_counts_years_before_our_era(used, words, left):
    _, rows = apply_skills(PEOPLE, [used])
    assert {row.label for row in rows if row.filter_pass} == left
    assert ask(PEOPLE, used, noun="people").endswith(f"? Keep only the people {words}.")


def test_a_date_becomes_its_year():
    used = use("date_to_year", "P569", operand="year")
    columns, rows = apply_skills(PEOPLE, [used])
    assert columns[0].header == "year of birth"
    assert read_column(rows, 0) == {"Newton": "1642", "Einstein": "1879", "Caesar": "100 BCE"}
    assert "what are their years of birth and dates of death?" in ask(PEOPLE, used)


def test_an_area_is_told_in_square_miles():
    used = use("conversion", "P2046", operand="square mile")
    columns, rows = apply_skills(COUNTRIES, [used])
    assert (columns[1].header, columns[1].unit) == ("area (sq mi)", "square miles")
    # 385,207 / 2.589988110336 = 148,729.25
    assert read_column(rows, 1)["Norway"] == "148729"
    assert "capitals, areas in square miles, populations and" in ask(COUNTRIES, used)


def test_the_unit_of_an_amount_is_named_without_any_skill():
    columns, _ = apply_skills(COUNTRIES, [])
    assert columns[1].header == "area (km²)"
    assert "areas in square kilometres, populations" in ask(COUNTRIES)
    named = make_tagged(COUNTRIES).replace("areas (area)", "areas in square kilometres (area)")
    assert write_question(named, COUNTRIES, (), "countries") == ask(COUNTRIES)


def test_a_population_is_told_in_millions():
    used = use("conversion", "P1082", operand="millions")
    columns, rows = apply_skills(COUNTRIES, [used])
    assert columns[2].header == "population (millions)"
    assert read_column(rows, 2)["Denmark"] == "5.93"
    assert "populations in millions and" in ask(COUNTRIES, used)


def test_an_amount_is_rounded():
    used = use("approximation", "P1082", operand="100000")
    _, rows = apply_skills(COUNTRIES, [used])
    assert read_column(rows, 2) == {
        "Norway": "5400000", "Sweden": "10500000", "Finland": "5600000", "Denmark": "5900000",
    }  # fmt: skip
    assert "populations (rounded to the nearest hundred thousand) and" in ask(COUNTRIES, used)


def test_an_amount_is_converted_and_then_rounded():
    uses = [use("approximation", "P2046", operand="1000"), use("conversion", "P2046", operand="square mile")]
    _, rows = apply_skills(COUNTRIES, uses)
    assert read_column(rows, 1)["Norway"] == "149000"
    assert "areas in square miles (rounded to the nearest thousand), populations" in ask(COUNTRIES, *uses)


def test_an_age_is_a_column_of_its_own():
    used = use("time_calculation", "P569", operand="full years", other="P570")
    columns, rows = apply_skills(PEOPLE, [used])
    assert columns[2].header == "age at death (years)"
    assert read_column(rows, 2) == {"Newton": "84", "Einstein": "76", "Caesar": "55"}
    assert rows[0].cells[2].facts == (rows[0].cells[0].facts[0], rows[0].cells[1].facts[0])
    assert ask(PEOPLE, used).endswith("dates of death, and at what age did they die?")


def test_a_time_between_years_has_no_year_0_and_is_empty_without_an_end():
    states = {
        "Rome": {"P571": [(-27, None, None)], "P576": [(476, None, None)]},
        "Here": {"P571": [(1900, None, None)]},
    }
    table = make_table(states, ["P571", "P576"])
    _, rows = apply_skills(table, [use("time_calculation", "P571", operand="years", other="P576")])
    assert read_column(rows, 2) == {"Rome": "502", "Here": ""}


@pytest.mark.parametrize("count", [2, 3])
def test_skills_together_are_what_they_are_alone(count):
    """Other skills do not affect a rewritten column, and a row passes if it passes every filter."""
    one_each = [
        use("filter_number", "P2046", ">=", "200000"), use("filter_entity", "P37", "=", "Swedish"),
        use("conversion", "P1082", operand="millions"),
    ]  # fmt: skip
    plain = [row.cells for row in apply_skills(COUNTRIES, [])[1]]
    for uses in combinations(one_each, count):
        _, rows = apply_skills(COUNTRIES, uses)
        alone = [apply_skills(COUNTRIES, [used])[1] for used in uses]
        assert [row.filter_pass for row in rows] == [
            all(filled[place].filter_pass for filled in alone) for place in range(len(rows))
        ]
        converted = [filled for used, filled in zip(uses, alone, strict=True) if used.name == "conversion"]
        expected = [row.cells for row in converted[0]] if converted else plain
        assert [row.cells for row in rows] == expected
        text = ask(COUNTRIES, *uses)
        assert text.count("Keep only") == sum(used.name != "conversion" for used in uses)
        assert ("in millions" in text) == bool(converted)


def test_three_time_skills_together():
    uses = [
        use("filter_time", "P570", ">=", "1000"), use("date_to_year", "P569", operand="year"),
        use("time_calculation", "P569", operand="full years", other="P570"),
    ]  # fmt: skip
    _, rows = apply_skills(PEOPLE, uses)
    assert [read_column(rows, place) for place in (0, 2)] == [
        {"Newton": "1642", "Einstein": "1879"}, {"Newton": "84", "Einstein": "76"},
    ]  # fmt: skip
    assert ask(PEOPLE, *uses, noun="people").endswith(
        "what are their years of birth and dates of death, and at what age did they die? "
        "Keep only the people who died in 1000 or later."
    )


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([(name, words.other) for name, words in WORDS.items() if words.other]),
    st.decimals("0.001", "1e9", places=3),
)
def test_conversions_are_those_of_the_library_in_floats_and_come_back(pair, amount):
    unit, other = pair
    converted = convert_unit(amount, unit, other)
    plain = FLOATS.Quantity(float(amount), WORDS[unit].pint).to(WORDS[other].pint).magnitude
    assert float(converted) == pytest.approx(plain, rel=1e-9, abs=1e-9)
    assert float(convert_unit(converted, other, unit)) == pytest.approx(float(amount), rel=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**12), st.sampled_from([10, 100, 1000, 10**6]))
def test_approximations_are_the_nearest_multiple(amount, step):
    rounded = approximate(Decimal(amount), step)
    assert rounded % step == 0
    assert 2 * abs(rounded - amount) <= step
    assert not (2 * abs(rounded - amount) == step and rounded < amount)  # a half is rounded up


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("148729.25", "148729"), ("0.169884", "0.17"), ("12.345", "12.3"), ("1.5", "1.5"), ("0", "0")],
)
def test_converted_amounts_are_shown_as_people_read_them(amount, shown):
    assert show_amount(round_converted(Decimal(amount))) == shown


@pytest.mark.parametrize(
    ("amount", "said"),
    [("500000", "500,000"), ("10000000", "10 million"), ("2500000", "2.5 million"), ("88", "88"),
     ("1234567", "1,234,567"), ("2E+5", "200,000")],
)  # fmt: skip
def test_amounts_are_said_as_people_say_them(amount, said):
    assert say_number(Decimal(amount)) == said


@given(st.decimals("0.01", "1e10", places=2), st.decimals("0.01", "1e10", places=2))
def test_a_round_bound_lies_between_and_has_two_digits(one, other):
    low, high = sorted((one, other))
    bound = find_round(low, high)
    if bound is not None:
        assert low <= bound <= high
        assert len(str(bound.normalize().as_tuple().digits).split(",")) <= 3
    elif low:
        assert high / low < 2


def test_the_roundest_bound_is_taken():
    assert find_round(Decimal("0.5"), Decimal(58)) == 5
    assert find_round(Decimal(95_000), Decimal(300_000)) == 200_000
    assert find_round(Decimal(404_000), Decimal(428_000)) == 420_000


def test_bounds_keep_a_distance_from_every_amount():
    for used in list_uses(COUNTRIES, MARGIN, 1)["filter_number"]:
        place = COUNTRIES.find(used.relation)
        for row in COUNTRIES.rows:
            amount = Decimal(row.cells[place][0].value.amount)
            assert abs(amount - Decimal(used.operand)) >= MARGIN * min(amount, Decimal(used.operand))


def leave_open(entity, relation, given):
    return Doubts({(entity, relation): (make_fact(entity, relation, given),)})


def test_what_the_evidence_leaves_open_is_not_filtered_by():
    found = list_uses(COUNTRIES, MARGIN, 1, leave_open("Norway", "P37", "Swedish"))
    assert "Swedish" not in {used.operand for used in found["filter_entity"]}
    # A fact without proof states another area for Norway: no bound lies between.
    found = list_uses(COUNTRIES, MARGIN, 1, leave_open("Norway", "P2046", "100"))
    assert {used.operand for used in found["filter_number"] if used.relation == "P2046"} == {"420000"}


def test_a_row_without_a_proven_value_may_only_be_one_that_fails():
    own = {**NORTH, "Norway": {**NORTH["Norway"], "P2046": []}}
    table = make_table(own, ["P36", "P2046"])
    assert "filter_number" not in list_uses(table, MARGIN, 1)
    known = list_uses(table, MARGIN, 1, leave_open("Norway", "P2046", "385207"))["filter_number"]
    for used in known:
        left = read_column(apply_skills(table, [used])[1], 1)
        assert "Norway" not in left
        assert (int(used.operand) > 385207) == (used.operator == ">=")


def test_nothing_is_rounded_finer_than_its_evidence_says():
    column = [row.cells[1][0] for row in COUNTRIES.rows]
    known = list_steps(COUNTRIES, "P2046", None)
    assert [used.operand for used in known] == ["1000", "100"]
    doubts = Doubts(steps={column[0].id: Decimal(1000)})
    assert [used.operand for used in list_steps(COUNTRIES, "P2046", None, doubts)] == ["1000"]
    # 338,455 stated as 338,500 would be rounded up.
    doubts = Doubts(steps={column[2].id: Decimal(100)})
    assert [used.operand for used in list_steps(COUNTRIES, "P2046", None, doubts)] == ["100"]


def test_a_column_that_is_nearly_empty_is_not_asked_for_in_another_form():
    few = {
        name: {**facts, "P2046": facts["P2046"] if name == "Norway" else []} for name, facts in NORTH.items()
    }
    assert not {"conversion", "approximation"} & set(list_uses(make_table(few, ["P36", "P2046"]), MARGIN, 1))


def test_no_column_is_empty_in_the_rows_that_a_filter_leaves():
    own = {name: {"P36": known["P36"], "P2046": known["P2046"]} for name, known in NORTH.items()}
    own["Norway"]["P36"] = own["Sweden"]["P36"] = []
    table = make_table(own, ["P36", "P2046"])
    choices = {"filter_number": list_uses(table, MARGIN, 1)["filter_number"]}
    for seed in range(9):
        (use,) = draw_uses(table, choices, 1, Counter(), Doubts(), SkillLimits(2), str(seed))
        left = [row.label for row in apply_skills(table, [use])[1] if row.filter_pass]
        assert {"Finland", "Denmark"} & set(left)


def test_a_column_is_rewritten_only_where_enough_of_the_rows_that_are_left_are_filled():
    own = {
        name: {**known, "P2046": known["P2046"] if name != "Norway" else []} for name, known in NORTH.items()
    }
    table = make_table(own, ["P36", "P2046"])
    choices = {"conversion": list_uses(table, MARGIN, 1)["conversion"]}
    drawn = [
        draw_uses(table, choices, 1, Counter(), Doubts(), SkillLimits(2, share), "s") for share in (0.75, 1)
    ]
    assert [len(uses) for uses in drawn] == [1, 0]


def test_filters_that_leave_no_cell_empty_are_drawn_first():
    own = {
        name: {**known, "P2046": known["P2046"] if name != "Norway" else []} for name, known in NORTH.items()
    }
    table = make_table(own, ["P36", "P37", "P2046"])
    choices = {"filter_entity": list_uses(table, MARGIN, 1)["filter_entity"]}
    gaps = set()
    for seed in range(9):
        (use,) = draw_uses(table, choices, 1, Counter(), Doubts(), SkillLimits(1), str(seed))
        gaps |= {row.label for row in apply_skills(table, [use])[1] if row.filter_pass}
    assert "Norway" not in gaps


def test_a_table_of_names_has_neither_numbers_nor_times():
    assert set(list_uses(make_table(NORTH, ["P36"]), MARGIN, 1)) == {"filter_entity"}


def test_every_skill_that_values_carry_is_drawn_and_none_leaves_a_table_as_it_was():
    used, seen = Counter(), set()
    for table in (COUNTRIES, PEOPLE):
        choices = list_uses(table, MARGIN, 1)
        for seed in range(30):
            uses = draw_uses(table, choices, 1 + seed % 3, used, Doubts(), SkillLimits(1), str(seed))
            seen |= {listed_use.name for listed_use in uses}
            assert len({listed_use.name for listed_use in uses}) == len(uses)
            _, rows = apply_skills(table, uses)
            assert rows != apply_skills(table, [])[1]
            assert any(row.filter_pass for row in rows)
    assert seen == set(SKILLS)


def test_relations_of_one_label_have_tags_of_their_own():
    assert make_tags({"P1": "part of", "P2": "part of", "P3": "!"}) == {
        "P1": "part_of_P1", "P2": "part_of_P2", "P3": "P3",
    }  # fmt: skip


ONE_VALUE = {
    "Norway": {"P36": ["North"], "P37": ["Norwegian", "Sámi"]},
    "Sweden": {"P36": ["North"], "P37": ["Swedish"]},
    "Finland": {"P36": ["East"], "P37": ["Finnish", "Swedish"]},
    "Denmark": {"P36": ["West"], "P37": ["Danish"]},
}


def test_a_filter_that_leaves_its_own_value_alone_leaves_no_choice():
    table = make_table(ONE_VALUE, ["P36", "P37"])
    choices = list_uses(table, MARGIN, 2)
    assert [used.operand for used in choices["filter_entity"]] == ["North", "Swedish"]
    left, refused = split_choices(table, choices)
    # Norway and Sweden are both in the North; one of the two that speak Swedish also speaks Finnish.
    assert [used.operand for used in refused] == ["North"]
    assert [used.operand for used in left["filter_entity"]] == ["Swedish"]
    born = make_table(
        {
            "A": {"P569": [(1900, None, None)]},
            "B": {"P569": [(1900, None, None)]},
            "C": {"P569": [(1950, 2, 1)]},
        },
        ["P569"],
    )
    assert "filter_time" in list_uses(born, MARGIN, 2)
    _, refused = split_choices(born, list_uses(born, MARGIN, 2))
    assert {(used.operator, used.operand) for used in refused} == {("=", "1900")}


def test_two_filters_together_leave_a_choice_in_each_column():
    own = {
        "A": {"P36": ["X"], "P37": ["Ostish"], "P1082": ["100000"]},
        "B": {"P36": ["X"], "P37": ["Ostish"], "P1082": ["200000"]},
        "C": {"P36": ["Y"], "P37": ["Ostish", "Mirrian"], "P1082": ["900000"]},
        "D": {"P36": ["Y"], "P37": ["Mirrian"], "P1082": ["150000"]},
    }
    table = make_table(own, ["P36", "P37", "P1082"])
    choices, _ = split_choices(table, list_uses(table, MARGIN, 2))
    for seed in range(12):
        uses = draw_uses(table, choices, 2, Counter(), Doubts(), SkillLimits(2, choice=True), str(seed))
        kept = keep_rows(table, uses)
        assert all(leaves_choice(kept, used) for used in uses if used.name.startswith("filter"))


def test_years_that_are_subtracted_are_asked_for_as_years():
    states = {"Rome": {"P571": [(-27, None, None)], "P576": [(476, None, None)]}}
    table = make_table(states, ["P571", "P576"])
    used = use("time_calculation", "P571", operand="years", other="P576")
    assert "how many years lie between their year of inception and their year of dissolution?" in ask(
        table, used
    )
    assert apply_skills(table, [used])[0][2].header == "time from inception to dissolution (years)"
    assert [name_event(words) for words in ("date of founding", "opening date")] == ["founding", "opening"]


def test_a_bound_of_whole_numbers_is_a_whole_number():
    own = {name: {"P1082": [given]} for name, given in (("A", "7"), ("B", "8"), ("C", "9"), ("D", "10"))}
    uses = list_uses(make_table(own, ["P1082"]), Decimal("0.01"), 1).get("filter_number", [])
    assert all("." not in used.operand for used in uses)
