"""Stage: fill the positions with employees: names, supervisors, hire dates (appendix G.1, step 3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.organisation import Position
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor, Shape, shape_person
from tasks.grammar.invent.offered_names import choose_shape
from tasks.grammar.invent.seeded_random import middle_year, random_letter, random_working_day, shuffle
from tasks.models.ask import Ask

EXTENSIONS = range(100, 1000)
"""The possible three-digit phone extensions."""


@dataclass(frozen=True)
class Employee:
    """An employee. `supervisor` is the supervisor's number; None only for the chief executive."""

    id: str
    number: int
    name: str
    title: str
    department: str
    leads: bool
    """Whether the employee leads the department."""
    supervisor: int | None
    hired: str
    """The hire date in ISO format."""
    extension: int
    origin: tuple[Origin, ...]


async def employees(organisation: list[Position], entry: Company, ask: Ask) -> Drafts[Employee]:
    """Invent a person for every position. Positions without a valid name are dropped.

    The first employee of a department leads the department and reports to the chief executive. Other
    employees report to the head of their department. Raises StageFailed if no position has a valid name.
    """
    inventor = Inventor(ask, entry.tries, entry.sure)
    found: list[tuple[Position, Invention]] = []
    dropped: list[Dropped] = []
    for position in sorted(organisation, key=lambda position: position.number):
        number = position.number

        def shape(sample: int, number: int = number) -> Shape:
            return shape_person(
                random_letter(entry.seed, "first", number, sample),
                random_letter(entry.seed, "last", number, sample),
            )

        offered = choose_shape(shape, "person", entry.offered, entry.seed, number)
        person = await inventor.invent(
            "company/person", {"title": position.title}, offered, row=position.id, kind="person"
        )
        if person.name is None:
            dropped.append(person.drop(position.id))
        else:
            found.append((position, person))
    if not found:
        raise StageFailed(
            "grammar.company.employees: no valid name; raise `tries`, or change the role's model"
        )
    filled = [position for position, _ in found]
    return Drafts([_make_employee(position, person, filled, entry) for position, person in found], dropped)


def _make_employee(
    position: Position, person: Invention, filled: list[Position], settings: Company
) -> Employee:
    top = filled[0].number
    head = next(other.number for other in filled if other.department == position.department)
    leads = position.number == head
    supervisor = None if position.number == top else top if leads else head
    years = (date(settings.years[0], 1, 1), date(middle_year(settings.years), 12, 31))
    # All hire dates are in the first half of the years, so that every project in the second half has staff.
    hired = random_working_day(*years, settings.seed, "hired", position.number)
    extensions = shuffle(EXTENSIONS, settings.seed, "extensions")
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
