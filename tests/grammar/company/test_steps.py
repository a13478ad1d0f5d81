import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import StageFailed
from tasks.grammar.company.contracts import find_inconsistencies
from tasks.grammar.company.organisation import spread_people
from tasks.grammar.company.plans import collect_company
from tasks.grammar.company.roles import check_title
from tasks.grammar.company.settings import Company
from tests.grammar.company.scenes import SMALL, make_scene, spell


def collect(scene):
    return collect_company(*(scene.parts[name] for name in ("profile", "employees", "clients", "projects")))


def test_each_step_makes_what_it_is_asked_for():
    scene = make_scene()
    assert [len(scene.parts[name]) for name in scene.parts] == [1, 7, 7, 4, 5]
    assert len(scene.parts["profile"][0].services) == 2
    assert {employee.department for employee in scene.parts["employees"]} == {
        "Management", *(p.department for p in scene.parts["organisation"][1:])
    }  # fmt: skip
    assert find_inconsistencies(collect(scene)) == []


def test_every_request_asks_for_one_small_thing_and_says_what_form_it_has():
    scene = make_scene()
    for asked in itertools.chain(*(ask.asked for ask in scene.asks.values())):
        assert asked.grammar.startswith("root ::= ")
        assert asked.role == ("reader" if asked.prompt.name == "closed_check" else "generator")
        assert len(asked.text.split()) < 120, asked.text


def test_every_name_is_followed_to_its_calls_and_rows():
    scene = make_scene()
    for project in scene.parts["projects"]:
        assert {origin.kind for origin in project.origin} == {"row", "call"}
        clients = {f"clients#{client.id}" for client in scene.parts["clients"]}
        assert any(origin.reference in clients for origin in project.origin)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    departments=st.integers(1, 4),
    extra=st.integers(0, 6),
    clients=st.integers(1, 4),
    projects=st.integers(1, 8),
    span=st.integers(3, 20),
    members=st.tuples(st.integers(0, 3), st.integers(3, 9)),
)
def test_whatever_is_drawn_the_rules_across_tables_hold(
    seed, departments, extra, clients, projects, span, members
):
    company = Company(
        seed=seed, departments=departments, employees=2 * departments + 1 + extra, clients=clients,
        projects=projects, services=1, members=members, years=(2001, 2001 + span),
    )  # fmt: skip
    assert find_inconsistencies(collect(make_scene(company))) == []


def test_the_same_seed_draws_the_same_and_another_seed_does_not():
    one, two = make_scene(), make_scene(SMALL.model_copy(update={"seed": 1}))
    assert one.parts == make_scene().parts
    assert [project.budget for project in one.parts["projects"]] != [
        project.budget for project in two.parts["projects"]
    ]


def test_a_name_that_is_taken_is_asked_anew_with_other_letters():
    replies = iter(["Anna Berg", "anna BERG", "Carl Dahl", *(f"P{spell(n)} Q{spell(n)}" for n in range(9))])
    scene = make_scene(person=lambda _: next(replies))
    asked = [request for request in scene.asks["employees"].asked if request.prompt.name == "person"]
    # The second reply has no capital letter, the third is a new name: position 2 needed two requests.
    assert [(request.row, request.sample) for request in asked[:3]] == [
        (asked[0].row, 0), (asked[1].row, 0), (asked[1].row, 1)
    ]  # fmt: skip
    assert asked[1].grammar != asked[2].grammar
    people = sorted(scene.parts["employees"], key=lambda employee: employee.number)
    assert [employee.name for employee in people[:2]] == ["Anna Berg", "Carl Dahl"]


def test_two_things_are_never_called_the_same_even_in_another_case():
    replies = itertools.cycle(["Anna Berg", "Anna BERG"])
    with pytest.raises(StageFailed, match="needs two employees"):
        make_scene(person=lambda _: next(replies))


def test_somebody_the_model_knows_is_asked_anew():
    known = []

    def check(asked):
        if asked.fields["kind"] == "company" and not known:
            known.append(asked.fields["name"])
            return "yes"
        return "no"

    scene = make_scene(closed_check=check)
    assert scene.parts["profile"][0].name != known[0]


def test_a_service_that_is_never_found_is_dropped_and_told_of():
    replies = iter(["Tunnel Design"])
    scene = make_scene(service=lambda _: next(replies, "42 is the answer"))
    assert scene.parts["profile"][0].services == ("Tunnel Design",)
    assert [(row.id, row.reason) for row in scene.dropped["profile"]] == [("service 2", "no_name")]
    assert len(scene.dropped["profile"][0].origin) == SMALL.tries


@pytest.mark.parametrize(
    ("prompt", "stage"),
    [
        ("company_name", "profile"), ("industry", "profile"), ("service", "profile"),
        ("department", "organisation"), ("person", "employees"), ("client", "clients"),
        ("project", "projects"),
    ],
)  # fmt: skip
def test_without_what_all_stands_on_the_stage_fails_in_a_line(prompt, stage):
    with pytest.raises(StageFailed, match=f"grammar.company.{stage}: n") as failed:
        make_scene(**{prompt: lambda _: "I cannot say that."})
    assert "\n" not in str(failed.value)


def test_the_next_in_a_department_leads_it_where_its_head_got_no_name():
    silent = {}

    def name(asked):
        return "?" if asked.fields["title"] == silent["title"] else f"P{spell(len(used))} Q{spell(len(used))}"

    used: list[int] = []
    positions = sorted(make_scene().parts["organisation"], key=lambda employee: employee.number)
    silent["title"] = positions[1].title

    def count_names(asked):
        used.append(1)
        return name(asked)

    scene = make_scene(person=count_names)
    people = sorted(scene.parts["employees"], key=lambda employee: employee.number)
    assert [employee.number for employee in people] == [1, 3, 4, 5, 6, 7]
    assert (people[1].leads, people[1].supervisor) == (True, 1)
    assert scene.dropped["employees"][0].id == positions[1].id
    assert find_inconsistencies(collect(scene)) == []


def test_people_are_spread_evenly():
    # 7 people over 3 departments: 3, 2 and 2.
    assert spread_people(["a", "b", "c"], 7) == ["a", "a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize(
    "fields",
    [{"employees": 4, "departments": 2}, {"years": (2020, 2021)}, {"budget": (5, 1)}, {"wings": 2}],
)
def test_a_wish_that_cannot_be_is_refused(fields):
    with pytest.raises(ValueError, match=r"employees|years|budget|wings"):
        Company(**fields)


def test_projects_are_directed_from_departments_that_fit_and_the_load_is_spread():
    services = itertools.cycle(["Tunnel Design", "Quality Inspection"])
    departments = iter(["Quality Control", "Structural Design"])
    company = SMALL.model_copy(update={"employees": 11, "projects": 10})
    scene = make_scene(company, service=lambda _: next(services), department=lambda _: next(departments))
    staff = {employee.number: employee for employee in scene.parts["employees"]}
    directed = {(project.service, staff[project.director].department) for project in scene.parts["projects"]}
    assert directed == {("Tunnel Design", "Structural Design"), ("Quality Inspection", "Quality Control")}
    load = [project.director for project in scene.parts["projects"]]
    assert all(load.count(director) <= 4 for director in load)
    assert staff[1].department == "Management"
    assert 1 not in load


@pytest.mark.parametrize(
    ("title", "department", "leads", "odd"),
    [
        ("Structural Engineer", "Engineering", False, False),
        ("Head of Engineering", "Engineering", True, False),
        ("Senior Welding Specialist", "Site Works", False, False),
        ("Chief Quality Officer", "Engineering", True, True),
        ("Chief Quality Officer", "Quality Control", False, True),
        ("Chief Quality Officer", "Quality Control", True, False),
        ("Eterity Engineer", "Engineering", False, True),
        ("Innovation", "Engineering", False, True),
        ("Head of Engineering", "Engineering", False, True),
    ],
)
def test_a_title_suits_its_department_and_rank(title, department, leads, odd):
    assert bool(check_title(title, department, leads)) is odd


def test_an_odd_title_is_dropped_with_its_reason_and_a_plain_one_taken():
    scene = make_scene(job_title=lambda _: "Chief Eterity Officer")
    positions = scene.parts["organisation"]
    assert len(positions) == 7
    assert {row.reason for row in scene.dropped["organisation"]} == {"odd_title"}
    assert len({position.title for position in positions}) == 7
    heads = [position.title for position in positions if position.title.startswith("Head of ")]
    assert len(heads) == 2
