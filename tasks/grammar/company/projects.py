"""Stage: the company's projects: for whom, by whom, where and when, at what price (appendix G.1, 5)."""

from __future__ import annotations

from datetime import date, timedelta

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.rows import Client, Employee, Profile, Project
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor
from tasks.grammar.invent.seeded_random import draw, draw_day, draw_letter, middle_year, shuffle
from tasks.grammar.invent.shapes import shape_place, shape_title
from tasks.models.ask import Ask

SHORTEST = timedelta(days=60)
ROUND = 10_000
"""Budgets are round figures, in euros."""


async def projects(
    profile: list[Profile], employees: list[Employee], clients: list[Client], entry: Company, ask: Ask
) -> Drafts[Project]:
    """Invent the projects: the model names them and their towns, all else is drawn.

    Clients take turns, so that each has a project while there are enough. A project that gets no name is
    dropped. Raises StageFailed where there are fewer than two people to lead one, or no project is left.
    """
    own = profile[0]
    if len(employees) < 2:
        raise StageFailed("grammar.company.projects: needs a director and a manager, and there is one person")
    staff = sorted(employees, key=lambda each: each.number)
    turns = shuffle(sorted(each.number for each in clients), entry.seed, "turns")
    by_number = {each.number: each for each in clients}
    inventor = Inventor(ask, entry.tries, entry.sure, [own.name, own.city, *(each.city for each in clients)])
    rows: list[Project] = []
    dropped: list[Dropped] = []
    for number in range(1, entry.projects + 1):
        client = by_number[turns[(number - 1) % len(turns)]]
        service = own.services[draw(0, len(own.services) - 1, entry.seed, "service", number)]
        name, town = await _invent_project(number, service, client, inventor, entry)
        if name.name is None or town.name is None:
            dropped.append((town if name.name else name).drop(f"project {number}"))
            continue
        director, manager, *members = draw_team(staff, entry, number)
        start, end = draw_span(entry, number)
        rows.append(
            Project(
                make_id("project", own.id, number, name.name),
                number,
                name.name,
                service,
                town.name,
                start.isoformat(),
                end.isoformat(),
                max(ROUND, draw(*entry.budget, entry.seed, "budget", number) // ROUND * ROUND),
                client.number,
                director,
                manager,
                tuple(sorted(members)),
                (
                    Origin("row", f"clients#{client.id}"),
                    Origin("row", f"profile#{own.id}"),
                    *name.calls,
                    *town.calls,
                ),
            )
        )
    if not rows:
        raise StageFailed(
            f"grammar.company.projects: no project ({dropped[-1].reason}: {dropped[-1].detail})"
        )
    return Drafts(rows, dropped)


async def _invent_project(
    number: int, service: str, client: Client, inventor: Inventor, company: Company
) -> tuple[Invention, Invention]:
    seed, row = company.seed, f"project {number}"
    known = {client.name.split()[0].casefold(), client.city.casefold()}
    name = await inventor.invent(
        "company/project",
        {"service": service, "client": client.name, "industry": client.industry},
        lambda sample: shape_title(draw_letter(seed, "project", number, sample)),
        row=row,
        fits=lambda text: "names_client: " + text if known & set(text.casefold().split()) else "",
    )
    if name.name is None:
        return name, name
    town = await inventor.invent(
        "company/town",
        {},
        lambda sample: shape_place(draw_letter(seed, "project town", number, sample)),
        row=row,
    )
    return name, town


def draw_team(staff: list[Employee], company: Company, number: int) -> list[int]:
    """Draw a director among those who lead, then a manager and members among all others, by number."""
    leaders = [each.number for each in staff if each.leads]
    director = shuffle(leaders or [staff[0].number], company.seed, "director", number)[0]
    others = [each.number for each in staff if each.number != director]
    # Who leads the company directs projects and does not do their work, while there is anyone else.
    workers = [each for each in others if each != staff[0].number] or others
    team = shuffle(workers, company.seed, "team", number)
    return [director, *team[: 1 + draw(*company.members, company.seed, "members", number)]]


def draw_span(company: Company, number: int) -> tuple[date, date]:
    """Draw the first and the last day of a project, at least two months apart."""
    opening = date(middle_year(company.years) + 1, 1, 1)
    closing = date(company.years[1], 12, 31)
    start = draw_day(opening, closing - 2 * SHORTEST, company.seed, "start", number)
    return start, draw_day(start + SHORTEST, closing, company.seed, "end", number)
