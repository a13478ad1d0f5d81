"""Stage: invent the company's departments and the positions in them (appendix G.1, step 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.roles import check_title, write_title
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Inventor, shape_phrase
from tasks.models.ask import Ask

TOP = ("Management", "Chief Executive Officer")
"""The department and the job title of position 1 in every company."""


@dataclass(frozen=True)
class Position:
    """A job in the company (appendix G.1, step 2).

    The position with the lowest number in a department leads the department; position 1 leads the company.
    """

    id: str
    number: int
    department: str
    title: str
    origin: tuple[Origin, ...]


async def organisation(profile: list[CompanyProfile], entry: Company, ask: Ask) -> Drafts[Position]:
    """Invent the departments, then a unique job title for each position.

    Departments without a valid name are dropped. A job title that does not suit the position is dropped as
    `odd_title`. If the model produces no suitable title, the stage writes a plain title. Raises StageFailed
    if no department is left.
    """
    company = profile[0]
    inventor = Inventor(ask, entry.tries, entry.sure, TOP)
    source = Origin("row", f"profile#{company.id}")
    departments: dict[str, tuple[Origin, ...]] = {}
    dropped: list[Dropped] = []
    for number in range(1, entry.departments + 1):
        found = await inventor.invent(
            "company/department",
            {
                "name": company.name,
                "industry": company.industry,
                "services": company.services,
                "others": [TOP[0], *departments],
            },
            lambda _: shape_phrase(3),
            row=f"department {number}",
            fits=lambda name: "department_again: says department" if "department" in name.lower() else "",
        )
        if found.name is None:
            dropped.append(found.drop(f"department {number}"))
        else:
            departments[found.name] = found.calls
    if not departments:
        raise StageFailed(f"grammar.company.organisation: no valid department ({dropped[-1].detail})")
    rows = [Position(make_id("position", company.id, 1), 1, *TOP, (source,))]
    for number, department in enumerate(spread_people(list(departments), entry.employees - 1), start=2):
        leads = all(row.department != department for row in rows)
        found = await inventor.invent(
            "company/job_title",
            {
                "name": company.name,
                "industry": company.industry,
                "others": [row.title for row in rows if row.department in (department, TOP[0])],
                "leads": leads,
                "department": department,
            },
            lambda _: shape_phrase(),
            row=f"position {number}",
            fits=partial(_check_new_title, rows=rows, department=department, leads=leads),
        )
        title = found.name
        if title is None:
            dropped.append(found.drop(f"title of position {number}"))
            title = write_title(department, leads, [row.title for row in rows])
        origin = (source, *departments[department], *found.calls)
        rows.append(Position(make_id("position", company.id, number), number, department, title, origin))
    return Drafts(rows, dropped)


def spread_people(departments: list[str], people: int) -> list[str]:
    """Spread people evenly over departments; return one department per person, sorted as in `departments`."""
    size, rest = divmod(people, len(departments))
    return [name for place, name in enumerate(departments) for _ in range(size + (1 if place < rest else 0))]


def _check_new_title(title: str, rows: list[Position], department: str, leads: bool) -> str:
    if title.casefold() in {row.title.casefold() for row in rows}:
        return f"taken: {title}"
    return check_title(title, department, leads)
