"""Stage: the company's organisation: its departments, and the positions in them (appendix G.1, 2)."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.rows import Position, Profile
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Inventor
from tasks.grammar.invent.shapes import shape_phrase
from tasks.models.ask import Ask

TOP = ("Management", "Chief Executive Officer")
"""Every company has this one, and the model adds nothing to its name."""


async def organisation(profile: list[Profile], entry: Company, ask: Ask) -> Drafts[Position]:
    """Name the departments, then a job title for each position; no title is given twice.

    What gets no name is dropped. Raises StageFailed where no department is left.
    """
    own = profile[0]
    inventor = Inventor(ask, entry.tries, entry.sure, TOP)
    source = Origin("row", f"profile#{own.id}")
    departments: dict[str, tuple[Origin, ...]] = {}
    dropped: list[Dropped] = []
    for number in range(1, entry.departments + 1):
        found = await inventor.invent(
            "company/department",
            {
                "name": own.name,
                "industry": own.industry,
                "services": own.services,
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
        raise StageFailed(f"grammar.company.organisation: no department ({dropped[-1].detail})")
    rows = [Position(make_id("position", own.id, 1), 1, *TOP, (source,))]
    for number, department in enumerate(spread_people(list(departments), entry.employees - 1), start=2):
        leads = all(each.department != department for each in rows)
        found = await inventor.invent(
            "company/job_title",
            {
                "name": own.name,
                "industry": own.industry,
                "others": [each.title for each in rows if each.department in (department, TOP[0])],
                "leads": leads,
                "department": department,
            },
            lambda _: shape_phrase(),
            row=f"position {number}",
        )
        if found.name is None:
            dropped.append(found.drop(f"position {number}"))
            continue
        origin = (source, *departments[department], *found.calls)
        rows.append(Position(make_id("position", own.id, number), number, department, found.name, origin))
    return Drafts(rows, dropped)


def spread_people(departments: list[str], people: int) -> list[str]:
    """Give each department its people, as evenly as it goes; those of one department follow each other."""
    each, left = divmod(people, len(departments))
    return [name for place, name in enumerate(departments) for _ in range(each + (1 if place < left else 0))]
