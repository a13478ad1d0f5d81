"""Write the text of extended questions: a list question followed by relations (step 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tasks.english import make_plural
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing


def extend_text(question: str, relations: Sequence[Relation], things: Mapping[str, Thing]) -> str:
    """Append relations to a list question: `Which ...?` becomes `Which ... and what are their ...?`.

    things: maps ids to entities, including the units of the relations.
    """
    asked = question.rstrip().rstrip("?.").rstrip()
    first = relations[0]
    verb = "are" if first.words != first.one else "is"
    return f"{asked} and what {verb} their {list_words([name_column(known, things) for known in relations])}?"


def name_column(relation: Relation, things: Mapping[str, Thing], *, one: bool = False) -> str:
    """Return a column's name with its unit, such as `areas in square kilometres`.

    one: whether to use the wording for one value, such as `area in square kilometres`.
    """
    unit, words = things.get(relation.unit), relation.one if one else relation.words
    return f"{words} in {name_units(unit.label)}" if unit else words


def name_units(unit: str) -> str:
    """Return the plural of a unit: `square feet`."""
    return re.sub(r"\bfoot\b", "feet", unit) if re.search(r"\bfoot\b", unit) else make_plural(unit)


def list_words(words: Sequence[str]) -> str:
    """Join words into an English list: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
