from tasks.grammar.construct.queries import write_template
from tasks.grammar.construct.routes import find_routes
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.template_requests import (
    TemplateShape,
    list_identifying_columns,
    list_narrowing_columns,
    list_template_requests,
)
from tests.grammar.scripted import SCHEMA, column


def requests_of(tables=(1, 3), placeholders=1, requests=20, seed=0, **more):
    offered = more.pop("offered", 3)
    shape = TemplateShape(tables=tables, placeholders=placeholders, **more)
    return list_template_requests(SCHEMA, shape, offered, requests, seed)


def list_templates(request):
    return [write_template(query) for query in request.queries]


def test_everything_a_request_allows_keeps_every_rule():
    for placeholders in (1, 2):
        for request in requests_of(placeholders=placeholders):
            templates = list_templates(request)
            assert templates
            for sql in templates:
                query = read_template(sql, SCHEMA)
                assert len(query.placeholders) == placeholders
                assert {*query.projection, *query.placeholders} <= set(request.columns)


def test_requests_are_the_same_every_time_and_distinct():
    assert requests_of() == requests_of()
    assert len({request.id for request in requests_of()}) == len(requests_of())
    assert requests_of(seed=1) != requests_of()
    assert requests_of(requests=4) == requests_of()[:4]


def test_likely_single_answers_come_first():
    spreads = [route.spread for route in find_routes(SCHEMA, (1, 2), 1)]
    assert {0, 2} <= set(spreads)
    first = requests_of(tables=(2, 2), requests=2)[0]
    # A doctor has one clinic, a visit has one doctor: routes never start from a clinic's many doctors.
    assert {column.partition(".")[0] for group in first.projections for column in group} <= {
        "clinics",
        "doctors",
    }
    assert {column.partition(".")[0] for group in first.placeholders for column in group} <= {
        "doctors",
        "visits",
    }


def test_every_table_at_an_edge_takes_part():
    for route in find_routes(SCHEMA, (3, 3), 1):
        assert {route.asked, *route.given} >= {"clinics", "visits"} or route.tree.tables[0] not in route.given


def test_two_foreign_keys_to_one_table_are_two_routes():
    joins = {request.joins for request in requests_of(tables=(2, 2))}
    named = {name for pairs in joins for pair in pairs for name in pair}
    assert {"visits.leading_doctor", "visits.assisting_doctor"} <= named


def test_names_identify_and_measurements_never_do():
    assert list_identifying_columns("doctors", SCHEMA) == ["doctors.name"]
    assert list_identifying_columns("visits", SCHEMA) == ["visits.reason"]
    assert "doctors.hourly_rate" not in list_narrowing_columns(SCHEMA)
    counts = [column("t.seats", "integer"), column("t.year", "integer")]
    assert list_narrowing_columns(counts) == ["t.year"]
    assert list_narrowing_columns(counts[:1]) == ["t.seats"]


def test_two_columns_may_be_asked_for_together():
    sizes = {len(group) for request in requests_of(projected=2) for group in request.projections}
    assert sizes == {1, 2}


def test_one_of_several_actors_is_not_asked_for_nor_the_mean_of_money():
    films = [
        column("films.film_id", "integer", key=True, ask=False),
        column("films.title"),
        column("films.release_year", "integer"),
        column("films.release_date", "date"),
        column("films.runtime_minutes", "integer"),
        column("films.box_office_usd", "integer"),
        column("people.person_id", "integer", key=True, ask=False),
        column("people.full_name"),
        column("film_actors.film_id", "integer", references="films.film_id"),
        column("film_actors.person_id", "integer", references="people.person_id"),
    ]

    def list_sql(**shape):
        requests = list_template_requests(films, TemplateShape(**shape), 9, 99, 0)
        return [sql for request in requests for sql in list_templates(request)]

    plain = list_sql(tables=(1, 2), placeholders=2)
    assert plain
    assert not [sql for sql in plain if sql.startswith("SELECT DISTINCT people.full_name")]
    assert [
        sql
        for sql in list_sql(tables=(2, 2), placeholders=1, measure="list")
        if "people.full_name FROM" in sql
    ]
    # The date determines the year.
    assert not [sql for sql in plain if "release_date = " in sql]
    means = list_sql(tables=(2, 2), placeholders=1, measure="average")
    assert {sql.partition(" FROM")[0] for sql in means} == {"SELECT ROUND(AVG(films.runtime_minutes), 1)"}


def test_a_code_tells_its_own_thing_alone():
    schema = [
        column("owners.owner_id", "integer", key=True, ask=False),
        column("owners.name"),
        column("jobs.job_id", "integer", key=True, ask=False),
        column("jobs.owner_id", "integer", references="owners.owner_id"),
        column("jobs.start_date", "date"),
        column("job_parts.job_id", "integer", references="jobs.job_id"),
        column("job_parts.part", references="parts.part_code"),
        column("parts.part_code", key=True),
        column("parts.price", "real"),
    ]

    def list_sql(columns):
        shapes = [TemplateShape(tables=(1, 4), placeholders=count) for count in (1, 2)]
        requests = [
            template_request
            for shape in shapes
            for template_request in list_template_requests(columns, shape, 9, 99, 0)
        ]
        return [sql for request in requests for sql in list_templates(request)]

    def by_part(sqls, asked):
        return [sql for sql in sqls if f"SELECT DISTINCT {asked}" in sql and "'[parts." in sql]

    coded, named = list_sql(schema), list_sql([*schema, column("parts.name")])
    assert by_part(coded, "parts.price")
    assert by_part(coded, "owners.name") == []
    assert by_part(named, "owners.name")
