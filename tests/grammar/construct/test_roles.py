"""Tests of role names for people by their relations (such as manager), in a small company."""

import pytest

from tasks.grammar.construct.measured_words import find_kind
from tasks.grammar.construct.names import is_name
from tasks.grammar.construct.phrasing import list_wordings
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.text_requests import find_rival
from tasks.grammar.construct.verbalisation import list_used_relations
from tasks.grammar.corpus.entity_tables import list_attributes
from tests.grammar.scripted import column

COMPANY = [
    column("clients.client_id", "integer", key=True, ask=False),
    column("clients.client_name"),
    column("clients.city"),
    column("departments.department_id", "integer", key=True, ask=False),
    column("departments.department_name"),
    column("department_heads.department_id", "integer", references="departments.department_id"),
    column("department_heads.employee_id", "integer", references="employees.employee_id"),
    column("employees.employee_id", "integer", key=True, ask=False),
    column("employees.department_id", "integer", references="departments.department_id"),
    column("employees.supervisor_id", "integer", references="employees.employee_id"),
    column("employees.full_name"),
    column("employees.job_title"),
    column("offices.office_id", "integer", key=True, ask=False),
    column("offices.headquarters_city"),
    column("offices.desks", "integer"),
    column("project_members.employee_id", "integer", references="employees.employee_id"),
    column("project_members.project_id", "integer", references="projects.project_id"),
    column("projects.project_id", "integer", key=True, ask=False),
    column("projects.client_id", "integer", references="clients.client_id"),
    column("projects.director_id", "integer", references="employees.employee_id"),
    column("projects.city"),
    column("projects.end_date", "date"),
    column("projects.project_name"),
]
DIRECTED = (("employees.employee_id", "projects.director_id"),)
OF_CLIENT = (("clients.client_id", "projects.client_id"),)
IN_DEPARTMENT = (("departments.department_id", "employees.department_id"),)


def test_a_person_is_called_by_what_they_do():
    query = Query(("employees.full_name",), DIRECTED, ("projects.project_name",))
    assert [relation.noun for relation in list_used_relations(query, COMPANY)] == ["director"]
    assert "who directed the project [projects.project_name]" in list_wordings(
        query, COMPANY, "asking", "", ""
    )


@pytest.mark.parametrize(("words", "named"), [("title", True), ("full name", True), ("job title", False)])
def test_a_job_title_names_nobody(words, named):
    assert is_name(words) is named


def test_an_employee_is_told_by_a_job_title_and_not_called_so():
    query = Query(("departments.department_name",), IN_DEPARTMENT, ("employees.job_title",))
    wordings = list_wordings(query, COMPANY, "wanted", "", "")
    assert wordings
    assert all("employee with job title [employees.job_title]" in text for text in wordings)


def test_a_text_is_no_number_whatever_its_name_ends_in():
    assert find_kind("offices.headquarters_city", COMPANY) == "amount"
    assert find_kind("offices.desks", COMPANY) == "number"


def test_a_relation_with_a_word_is_no_rival_of_a_text_without_it():
    joins = tuple(sorted((*IN_DEPARTMENT, *DIRECTED)))
    query = Query(("departments.department_name",), joins, ("projects.project_name",))
    text = "department of the director of the project [projects.project_name]"
    assert find_rival(text, query, COMPANY) is None
    headed = find_rival(text.replace("of the director", "headed by the director"), query, COMPANY)
    assert headed is not None
    assert "department_heads" in headed.tables


def test_a_query_that_joins_a_table_for_nothing_is_no_rival():
    query = Query(("clients.city",), OF_CLIENT, ("projects.project_name",))
    assert find_rival("city of the client of the project [projects.project_name]", query, COMPANY) is None


def test_of_what_a_link_table_ties_only_names_are_told_and_nothing_of_the_own_table():
    told = {attribute.words for attribute in list_attributes("employees", COMPANY)}
    assert told == {"full name", "job title", "department", "project"}
    told = {attribute.words for attribute in list_attributes("projects", COMPANY)}
    assert told >= {"member", "director", "job title of the director", "client", "city of the client"}
    assert "job title of the member" not in told


def test_two_links_between_the_same_tables_are_told_apart():
    film = [
        column("films.film_id", "integer", key=True, ask=False),
        column("films.title"),
        column("people.person_id", "integer", key=True, ask=False),
        column("people.full_name"),
        *(
            column(f"film_{role}.{key}", "integer", references=f"{table}.{key}")
            for role in ("directors", "writers")
            for key, table in (("film_id", "films"), ("person_id", "people"))
        ),
    ]
    told = {attribute.words for attribute in list_attributes("people", film)}
    assert told == {"full name", "film as director", "film as writer"}
    assert {attribute.words for attribute in list_attributes("films", film)} == {
        "title",
        "director",
        "writer",
    }
