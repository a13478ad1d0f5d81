"""The wording of an extended question: a list question, and what else is asked of its answers (step 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tasks.english import make_plural
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing


def extend_text(question: str, relations: Sequence[Relation], things: Mapping[str, Thing]) -> str:
    """Ask for relations of a list question's answers: `Which ...?` -> `Which ... and what are their ...?`.

    things: by id, with the units of the relations.
    """
    asked = question.rstrip().rstrip("?.").rstrip()
    first = relations[0]
    verb = "are" if first.words != first.one else "is"
    return f"{asked} and what {verb} their {list_words([name_column(known, things) for known in relations])}?"


def name_column(relation: Relation, things: Mapping[str, Thing], *, one: bool = False) -> str:
    """Name what is asked of every answer, with the unit: `areas in square kilometres`; one: `area in ...`."""
    unit, words = things.get(relation.unit), relation.one if one else relation.words
    return f"{words} in {name_units(unit.label)}" if unit else words


def name_units(unit: str) -> str:
    """Write a unit in the plural: `square feet`."""
    return re.sub(r"\bfoot\b", "feet", unit) if re.search(r"\bfoot\b", unit) else make_plural(unit)


def list_words(words: Sequence[str]) -> str:
    """List words as English does: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
