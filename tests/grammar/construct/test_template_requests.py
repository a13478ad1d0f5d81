from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.template_requests import (
    find_routes,
    identify_by,
    list_templates,
    make_wishes,
    narrow_by,
)
from tests.grammar.scripted import SCHEMA, column


def wishes(tables=(1, 3), placeholders=1, requests=20, seed=0, **more):
    return make_wishes(
        SCHEMA, tables, placeholders, more.get("projected", 1), more.get("offered", 3), requests, seed
    )


def test_everything_a_wish_allows_keeps_every_rule():
    for placeholders in (1, 2):
        for wish in wishes(placeholders=placeholders):
            templates = list_templates(wish)
            assert templates
            for sql in templates:
                query = read_template(sql, SCHEMA)
                assert len(query.placeholders) == placeholders
                assert {*query.projection, *query.placeholders} <= set(wish.columns)


def test_wishes_are_the_same_every_time_and_distinct():
    assert wishes() == wishes()
    assert len({each.id for each in wishes()}) == len(wishes())
    assert wishes(seed=1) != wishes()
    assert wishes(requests=4) == wishes()[:4]


def test_likely_single_answers_come_first():
    spreads = [each.spread for each in find_routes(SCHEMA, (1, 2), 1)]
    assert {0, 2} <= set(spreads)
    first = wishes(tables=(2, 2), requests=2)[0]
    # One clinic for a doctor, one doctor for a visit: never the many doctors of a clinic first.
    assert {each.partition(".")[0] for group in first.projections for each in group} <= {"clinics", "doctors"}
    assert {each.partition(".")[0] for group in first.placeholders for each in group} <= {"doctors", "visits"}


def test_every_table_at_an_edge_takes_part():
    for route in find_routes(SCHEMA, (3, 3), 1):
        assert {route.asked, *route.given} >= {"clinics", "visits"} or route.tree.tables[0] not in route.given


def test_two_foreign_keys_to_one_table_are_two_routes():
    joins = {wish.joins for wish in wishes(tables=(2, 2))}
    named = {name for pairs in joins for pair in pairs for name in pair}
    assert {"visits.leading_doctor", "visits.assisting_doctor"} <= named


def test_names_identify_and_measurements_never_do():
    assert identify_by("doctors", SCHEMA) == ["doctors.name"]
    assert identify_by("visits", SCHEMA) == ["visits.reason"]
    assert "doctors.hourly_rate" not in narrow_by(SCHEMA)
    counts = [column("t.seats", "integer"), column("t.year", "integer")]
    assert narrow_by(counts) == ["t.year"]
    assert narrow_by(counts[:1]) == ["t.seats"]


def test_two_columns_may_be_asked_for_together():
    sizes = {len(group) for wish in wishes(projected=2) for group in wish.projections}
    assert sizes == {1, 2}
