"""What each document of the company has to tell: its sections, and in them the facts about one thing each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.artifacts.rows import Origin, make_id
from tasks.grammar.company.rows import Client, Employee, Project
from tasks.grammar.company.settings import Reports
from tasks.grammar.company.whole import Whole
from tasks.grammar.corpus.entities import Fact


@dataclass(frozen=True)
class Section:
    """One paragraph: a few facts about one thing."""

    kind: str
    """What the thing is: project, client, employee."""
    name: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Plan:
    """One document. `sources` are the ids of the rows that its facts come from."""

    id: str
    title: str
    sections: tuple[Section, ...]
    sources: tuple[Origin, ...]
    words: tuple[int, int] | None
    """Least and greatest number of words, if it has bounds."""


def plan_documents(whole: Whole, reports: Reports) -> list[Plan]:
    """Plan a report for each project and, if wanted, the pages on the company and its departments."""
    plans = [plan_report(whole, each, reports) for each in whole.projects]
    if reports.staff_pages:
        plans += [plan_company(whole), *(plan_department(whole, each) for each in whole.departments)]
    return plans


def plan_report(whole: Whole, project: Project, reports: Reports) -> Plan:
    """Plan a project's report (appendix G.1, step 6)."""
    client = whole.client(project.client)
    director, manager = whole.person(project.director), whole.person(project.manager)
    team = tuple(sorted(whole.person(each).name for each in project.members))
    name = project.name
    sections = [
        _tell(
            "project", name,
            ("client", client.name), ("service", project.service), ("city", project.city),
        ),
        _tell(
            "project", name,
            ("start date", project.start), ("end date", project.end), ("budget in eur", str(project.budget)),
        ),
        _tell(
            "project", name,
            ("director", director.name), ("manager", manager.name),
            *([("member", *team)] if team else []),
        ),
    ]  # fmt: skip
    if reports.employee_facts:
        sections += [_tell("employee", each.name, ("job title", each.title)) for each in (director, manager)]
    if reports.client_facts:
        sections.append(_tell_client(client))
    sources = [_source("projects", project), _source("clients", client)]
    sources += [_source("employees", whole.person(each)) for each in _staff(project)]
    return Plan(
        make_id("report", project.id),
        f"Project report: {name}",
        tuple(sections),
        tuple(sources),
        reports.words,
    )


def plan_company(whole: Whole) -> Plan:
    """Plan the page on the company itself."""
    own = whole.profile
    sections = (
        _tell(
            "company", own.name,
            ("industry", own.industry), ("headquarters city", own.city),
            ("founding year", str(own.founded)),
        ),
        _tell(
            "company", own.name,
            ("chief executive", whole.employees[0].name), ("employee count", str(len(whole.employees))),
            ("service", *sorted(own.services)),
        ),
    )  # fmt: skip
    return Plan(make_id("page", own.id), own.name, sections, (Origin("row", f"profile#{own.id}"),), None)


def plan_department(whole: Whole, department: str) -> Plan:
    """Plan the page on one department: who leads it, and what is known of each of its people."""
    people = [each for each in whole.employees if each.department == department]
    head = next(each for each in people if each.leads)
    sections = [_tell("department", department, ("head", head.name))]
    sections += [_tell_employee(whole, each) for each in people]
    sources = tuple(_source("employees", each) for each in people)
    return Plan(
        make_id("page", whole.profile.id, department),
        f"{department} department",
        tuple(sections),
        sources,
        None,
    )


def _tell_client(client: Client) -> Section:
    return _tell(
        "client", client.name,
        ("industry", client.industry), ("city", client.city), ("contract year", str(client.since)),
    )  # fmt: skip


def _tell_employee(whole: Whole, each: Employee) -> Section:
    said = [("job title", each.title), ("department", each.department), ("hire date", each.hired)]
    said.append(("phone extension", str(each.extension)))
    if each.supervisor is not None:
        said.append(("supervisor", whole.person(each.supervisor).name))
    return _tell("employee", each.name, *said)


def _tell(kind: str, name: str, *said: tuple[str, ...]) -> Section:
    facts = (
        Fact(make_id("fact", kind, name, attribute), name, attribute, tuple(values))
        for attribute, *values in said
    )
    return Section(kind, name, tuple(facts))


def _staff(project: Project) -> Iterator[int]:
    yield from (project.director, project.manager, *project.members)


def _source(artifact: str, row: Project | Client | Employee) -> Origin:
    return Origin("row", f"{artifact}#{row.id}")
