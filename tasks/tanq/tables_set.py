"""Create Tables 3 and 4 from a set's `statistics.json`, and describe its means (TANQ, section 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.tables import Cell, FigureTable, Line, leave_empty

QUESTIONS, FACTS = "questions", "facts"
ITEMS = Selection("items")
ALL = (ITEMS,)
COUNTED, FORMS = ("count", "%"), ("count", "share")
VALUE_WORDS = {"item": "item", "time": "time", "quantity": "numeric", "text": "text"}
NOTES = {"3": ("types",), "4": ("no_skill", "skills")}
"""Map each table number to the keys of the definitions below the table."""
NUMBER_WORDS = {"0": "no skill", "1": "one skill", "2": "two skills", "3": "three skills"}


@dataclass(frozen=True)
class CountedShare:
    """A count, and its share of the total (0 to 1); the share is None if the total is 0."""

    count: int
    share: float | None


@dataclass(frozen=True)
class SetStatistics:
    """The fields of `statistics.json` that pages use; all other fields are ignored.

    - types: number of facts by kind of value.
    - means: mean number of tokens, rows, columns and relations.
    - absent_skills: maps each unused skill to the reason why no question has the skill.
    - definitions: maps the name of a statistic to its definition.
    """

    items: int
    definitions: Mapping[str, str]
    types: Mapping[str, CountedShare]
    kinds: Mapping[str, CountedShare]
    skills: Mapping[str, CountedShare]
    skills_per_question: Mapping[str, CountedShare]
    means: Mapping[str, float | None]
    absent_skills: Mapping[str, str]


def tabulate_set(statistics: SetStatistics) -> dict[str, FigureTable]:
    """Return TANQ's Tables 3 and 4 by number."""
    facts, questions = sum(counted.count for counted in statistics.types.values()), statistics.items
    types = [
        Line(
            (VALUE_WORDS.get(kind, kind),),
            _count(counted, facts, FACTS, Derivation(f"facts of kind {kind}", ALL)),
        )
        for kind, counted in statistics.types.items()
    ]
    parts = [
        *(("kind", kind, counted, _count_items("kind", kind)) for kind, counted in statistics.kinds.items()),
        *(
            ("skill", name_skill(name), counted, _derive_skill(name))
            for name, counted in statistics.skills.items()
        ),
        *(
            (
                "skills per question",
                NUMBER_WORDS.get(number, number),
                counted,
                _count_items("count(skills)", int(number)),
            )
            for number, counted in statistics.skills_per_question.items()
        ),
    ]
    lines = [
        Line((part, name), _count(counted, questions, QUESTIONS, derivation))
        for part, name, counted, derivation in parts
    ]
    notes = {
        name: [statistics.definitions[key] for key in keys if key in statistics.definitions]
        for name, keys in NOTES.items()
    }
    absent = [
        f"No question has the skill “{name_skill(name)}”: {why}."
        for name, why in statistics.absent_skills.items()
    ]
    return {
        "3": FigureTable(
            "3", "Values of the relations", ("type",), COUNTED, tuple(types), tuple(notes["3"]), FORMS
        ),
        "4": FigureTable(
            "4",
            "Kinds of question and skills",
            ("", "questions"),
            COUNTED,
            tuple(lines),
            (*notes["4"], *absent),
            FORMS,
        ),
    }


def describe_means(statistics: SetStatistics) -> list[tuple[str, str]]:
    """Return a title and a text for each mean that is not None. The text is its value and definition."""
    return [
        (f"{name.capitalize()}, mean", f"{value:.1f}. {statistics.definitions.get(name, '')}".strip())
        for name, value in statistics.means.items()
        if value is not None
    ]


def name_skill(name: str) -> str:
    """Return the display name of a skill: `filter_time` becomes `filter time`."""
    return name.replace("_", " ")


def _count_items(expression: str, value: str | int) -> Derivation:
    return Derivation("count", (Selection("items", {expression: value}),))


def _derive_skill(name: str) -> Derivation:
    if name == "no_skill":
        return _count_items("count(skills)", 0)
    # A question that uses a skill twice counts twice, so a count of rows would give a different number.
    return Derivation("uses of the skill", (Selection("items", {"skills.name": name}),))


def _count(counted: CountedShare, n: int, of: str, derivation: Derivation) -> tuple[Cell, Cell]:
    count = Cell(counted.count, n, 0, None, of, basis=derivation)
    if counted.share is None:
        return count, leave_empty(f"no {of}", of)
    share = Derivation(f"share of {of}: {derivation.measure} of all", (*derivation.rows, *ALL))
    return count, Cell(float(counted.share), n, 0, None, of, basis=share)
