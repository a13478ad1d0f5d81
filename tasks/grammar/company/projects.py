"""Stage: invent the company's projects: client, service, town, dates, budget, team (appendix G.1, step 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.roles import rate_department
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor, shape_place, shape_title
from tasks.grammar.invent.offered_names import choose_shape
from tasks.grammar.invent.seeded_random import (
    middle_year,
    random_integer,
    random_letter,
    random_working_day,
    shuffle,
)
from tasks.models.ask import Ask

SHORTEST = timedelta(days=60)
"""The minimum duration of a project."""
ROUND = 10_000
"""Budgets are multiples of this amount, in euros."""


@dataclass(frozen=True)
class CompanyProject:
    """A project (appendix G.1, step 5).

    `client` is a client's number. `director`, `manager` and `members` are employees' numbers.
    """

    id: str
    number: int
    name: str
    service: str
    city: str
    start: str
    end: str
    budget: int
    """The budget in euros."""
    client: int
    director: int
    manager: int
    members: tuple[int, ...]
    origin: tuple[Origin, ...]


async def projects(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    entry: Company,
    ask: Ask,
) -> Drafts[CompanyProject]:
    """Invent the projects: the model names projects and towns; a seed determines the rest.

    Projects are assigned to clients in rotation. Each client has a project if there are enough projects.
    Projects without a valid name or town are dropped. Raises StageFailed if there are fewer than two
    employees, or no project is left.
    """
    company = profile[0]
    if len(employees) < 2:
        raise StageFailed("grammar.company.projects: needs two employees: a director and a manager")
    staff = sorted(employees, key=lambda employee: employee.number)
    turns = shuffle(sorted(client.number for client in clients), entry.seed, "turns")
    by_number = {client.number: client for client in clients}
    taken = [company.name, company.city, *(client.city for client in clients)]
    inventor = Inventor(ask, entry.tries, entry.sure, taken)
    directed: Counter[int] = Counter()
    rows: list[CompanyProject] = []
    dropped: list[Dropped] = []
    for number in range(1, entry.projects + 1):
        client = by_number[turns[(number - 1) % len(turns)]]
        last = len(company.services) - 1
        service = company.services[random_integer(0, last, entry.seed, "service", number)]
        name, town = await _invent_project(number, service, client, inventor, entry)
        if name.name is None or town.name is None:
            dropped.append((town if name.name else name).drop(f"project {number}"))
            continue
        director, manager, *members = draw_team(staff, service, directed, entry, number)
        directed[director] += 1
        start, end = draw_span(entry, number)
        rows.append(
            CompanyProject(
                make_id("project", company.id, number, name.name),
                number,
                name.name,
                service,
                town.name,
                start.isoformat(),
                end.isoformat(),
                max(ROUND, random_integer(*entry.budget, entry.seed, "budget", number) // ROUND * ROUND),
                client.number,
                director,
                manager,
                tuple(sorted(members)),
                (
                    Origin("row", f"clients#{client.id}"),
                    Origin("row", f"profile#{company.id}"),
                    *name.calls,
                    *town.calls,
                ),
            )
        )
    if not rows:
        raise StageFailed(
            f"grammar.company.projects: no valid project ({dropped[-1].reason}: {dropped[-1].detail})"
        )
    return Drafts(rows, dropped)


async def _invent_project(
    number: int, service: str, client: CompanyClient, inventor: Inventor, settings: Company
) -> tuple[Invention, Invention]:
    seed, row = settings.seed, f"project {number}"
    known = {client.name.split()[0].casefold(), client.city.casefold()}
    name = await inventor.invent(
        "company/project",
        {"service": service, "client": client.name, "industry": client.industry},
        lambda sample: shape_title(random_letter(seed, "project", number, sample)),
        row=row,
        fits=lambda text: "names_client: " + text if known & set(text.casefold().split()) else "",
    )
    if name.name is None:
        return name, name
    town = await inventor.invent(
        "company/town",
        {},
        choose_shape(
            lambda sample: shape_place(random_letter(seed, "project town", number, sample)),
            "town",
            settings.offered,
            seed,
            "project town",
            number,
        ),
        row=row,
    )
    return name, town


def draw_team(
    staff: list[Employee], service: str, directed: Mapping[int, int], settings: Company, number: int
) -> list[int]:
    """Sample a director who fits the service, then a manager and members from the other employees.

    `directed` contains the number of projects that each employee already directs. The director is sampled
    from the suitable employees with the fewest projects. The head of the company is a manager or member only
    if no other employee is left. Returns employee numbers: director, manager, members.
    """
    fitting = [employee.number for employee in list_directors(service, staff)]
    fewest = min(directed.get(candidate, 0) for candidate in fitting)
    free = [candidate for candidate in fitting if directed.get(candidate, 0) == fewest]
    director = shuffle(free, settings.seed, "director", number)[0]
    others = [employee.number for employee in staff if employee.number != director]
    # The head of the company works on a project only if no one else is left.
    workers = [number for number in others if number != staff[0].number] or others
    team = shuffle(workers, settings.seed, "team", number)
    return [director, *team[: 1 + random_integer(*settings.members, settings.seed, "members", number)]]


def list_directors(service: str, staff: Sequence[Employee]) -> list[Employee]:
    """List the employees who may direct a service's projects: senior staff of the departments that fit best.

    The departments that fit best have the highest `rate_department` for the service. Senior staff are half of
    a department, but at least two people: the head, then the lowest employee numbers. The head of the company
    directs a project only if no other department has employees.
    """
    top = min(staff, key=lambda employee: employee.number)
    others = [employee for employee in staff if employee.department != top.department]
    if not others:
        return [top]
    rates = {employee.department: rate_department(employee.department, service) for employee in others}
    best = max(rates.values())
    found = []
    for department in sorted(name for name, rate in rates.items() if rate == best):
        members = sorted(
            (employee for employee in others if employee.department == department),
            key=lambda employee: (not employee.leads, employee.number),
        )
        found += members[: max(2, len(members) // 2)]
    return found


def draw_span(settings: Company, number: int) -> tuple[date, date]:
    """Sample the first and the last day of a project, at least 60 days apart."""
    opening = date(middle_year(settings.years) + 1, 1, 1)
    closing = date(settings.years[1], 12, 31)
    # The latest start leaves room for the minimum duration and for a choice of end days.
    start = random_working_day(opening, closing - 2 * SHORTEST, settings.seed, "start", number)
    return start, random_working_day(start + SHORTEST, closing, settings.seed, "end", number)
