"""Stage: who works in the company: names, supervisors, and since when (appendix G.1, 3)."""

from __future__ import annotations

from datetime import date

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.rows import Employee, Position
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor
from tasks.grammar.invent.seeded_random import draw_day, draw_letter, middle_year, shuffle
from tasks.grammar.invent.shapes import Shape, shape_person
from tasks.models.ask import Ask

EXTENSIONS = range(100, 1000)


async def employees(organisation: list[Position], entry: Company, ask: Ask) -> Drafts[Employee]:
    """Name a person for every position; each is led by the head of their department, heads by the top.

    The head of a department is the first in it who got a name. A position without one is dropped.
    Raises StageFailed where nobody got a name.
    """
    inventor = Inventor(ask, entry.tries, entry.sure)
    found: list[tuple[Position, Invention]] = []
    dropped: list[Dropped] = []
    for position in sorted(organisation, key=lambda each: each.number):
        number = position.number

        def shape(sample: int, number: int = number) -> Shape:
            return shape_person(
                draw_letter(entry.seed, "first", number, sample),
                draw_letter(entry.seed, "last", number, sample),
            )

        person = await inventor.invent(
            "company/person", {"title": position.title}, shape, row=position.id, kind="person"
        )
        if person.name is None:
            dropped.append(person.drop(position.id))
        else:
            found.append((position, person))
    if not found:
        raise StageFailed("grammar.company.employees: nobody got a name; see `tries` and the role's model")
    return Drafts([_employ(position, person, found, entry) for position, person in found], dropped)


def _employ(
    position: Position, person: Invention, found: list[tuple[Position, Invention]], company: Company
) -> Employee:
    top = found[0][0].number
    head = next(each.number for each, _ in found if each.department == position.department)
    leads = position.number == head
    supervisor = None if position.number == top else top if leads else head
    years = (date(company.years[0], 1, 1), date(middle_year(company.years), 12, 31))
    # Hired in the first half of the story: the projects of the second find their staff there.
    hired = draw_day(*years, company.seed, "hired", position.number)
    extensions = shuffle(EXTENSIONS, company.seed, "extensions")
    return Employee(
        make_id("employee", position.id, person.name),
        position.number,
        person.name or "",
        position.title,
        position.department,
        leads,
        supervisor,
        hired.isoformat(),
        extensions[position.number - 1],
        (Origin("row", f"organisation#{position.id}"), *person.calls),
    )
