"""Tables 3 and 4 of a set's `statistics.json`, and what the page says of it in words (section 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.tables import Cell, FigureTable, Line, leave_empty

QUESTIONS, FACTS = "questions", "facts"
ITEMS = Selection("items")
ALL = (ITEMS,)
COUNTED, FORMS = ("count", "%"), ("count", "share")
VALUE_WORDS = {"item": "item", "time": "time", "quantity": "numeric", "text": "text"}
NUMBER_WORDS = {"0": "no skill", "1": "one skill", "2": "two skills", "3": "three skills"}


@dataclass(frozen=True)
class CountedShare:
    """A count and its share of the whole, a fraction of 1."""

    count: int
    share: float | None


@dataclass(frozen=True)
class SetStatistics:
    """What pages read of `statistics.json`; what else it has is ignored.

    types: facts by kind of value; means: of tokens, rows, columns and relations; absent_skills: by name, why
    no question has it; definitions: of what is counted.
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
    """Make Tables 3 and 4, by number."""
    told = statistics.definitions
    facts = sum(own.count for own in statistics.types.values())
    types = _make_lines(
        "", statistics.types, VALUE_WORDS, facts, FACTS, lambda kind: Derivation(f"facts of kind {kind}", ALL)
    )
    n = statistics.items
    questions = (
        *_make_lines("kind", statistics.kinds, {}, n, QUESTIONS, lambda kind: _count_items("kind", kind)),
        *_make_lines("skill", statistics.skills, {}, n, QUESTIONS, _derive_skill),
        *_make_lines(
            "skills per question",
            statistics.skills_per_question,
            NUMBER_WORDS,
            n,
            QUESTIONS,
            lambda number: _count_items("count(skills)", int(number)),
        ),
    )
    absent = [f"No question has {name_skill(name)}: {why}." for name, why in statistics.absent_skills.items()]
    return {
        "3": FigureTable(
            "3", "Values of the relations", ("type",), COUNTED,
            tuple(Line(line.label[1:], line.cells) for line in types), _list_notes(told, "types"), FORMS,
        ),
        "4": FigureTable(
            "4", "Kinds of question and skills", ("", "questions"), COUNTED, questions,
            (*_list_notes(told, "no_skill", "skills"), *absent), FORMS,
        ),
    }  # fmt: skip


def describe_means(statistics: SetStatistics) -> list[tuple[str, str]]:
    """Say the means, each with what it counts."""
    return [
        (f"{name.capitalize()}, mean", f"{value:.1f}. {statistics.definitions.get(name, '')}".strip())
        for name, value in statistics.means.items()
        if value is not None
    ]


def name_skill(name: str) -> str:
    """Name a skill for a reader."""
    return name.replace("_", " ")


def _count_items(expression: str, value: str | int) -> Derivation:
    return Derivation("count", (Selection("items", {expression: value}),))


def _derive_skill(name: str) -> Derivation:
    if name == "no_skill":
        return _count_items("count(skills)", 0)
    # A question that takes a skill twice counts twice, which no count of rows comes to.
    return Derivation("uses of the skill", (Selection("items", {"skills.name": name}),))


def _make_lines(
    group: str,
    counted: Mapping[str, CountedShare],
    words: Mapping[str, str],
    n: int,
    of: str,
    derive: Callable[[str], Derivation],
) -> tuple[Line, ...]:
    return tuple(
        Line((group, words.get(name, name_skill(name))), _count(own, n, of, derive(name)))
        for name, own in counted.items()
    )


def _count(own: CountedShare, n: int, of: str, basis: Derivation) -> tuple[Cell, Cell]:
    count = Cell(own.count, n, 0, None, of, basis=basis)
    if own.share is None:
        return count, leave_empty(f"no {of}", of)
    share = Derivation(f"share of {of}: {basis.measure} of all", (*basis.rows, *ALL))
    return count, Cell(float(own.share), n, 0, None, of, basis=share)


def _list_notes(definitions: Mapping[str, str], *names: str) -> tuple[str, ...]:
    return tuple(definitions[name] for name in names if name in definitions)
