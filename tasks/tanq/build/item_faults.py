"""Use rules to detect the faults from TANQ's audit (section 3.5) in finished items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tasks.english import make_singular
from tasks.tanq.build.mention_names import BEFORE, NEAR
from tasks.tanq.build.skill_words import is_unit_named
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.seed_question import PEOPLE

LEAKED, DISORDERED, UNLIKE_NOUN, NO_UNIT, SHARED = (
    "answer_in_question", "relations_out_of_order", "noun_unlike_answers", "unit_not_named", "shared_name",
)  # fmt: skip
SHORT = 3
"""Minimum length of a value to search for in the question; shorter values occur by chance."""
HUMAN = "human"


def find_leak(item: TanqItem) -> str:
    """Describe an entity or value of the answer that the question names before skills are added.

    Returns an empty string if there is none. Amounts are ignored, because a number can appear in a question
    for other reasons. Longer names do not match: `South Sudan` does not name Sudan.
    """
    named = [
        value
        for row in item.rows
        for column, cell in zip(item.columns, row.cells, strict=True)
        if column.kind in ("item", "text", "time")
        for value in cell.values
    ]
    question = item.ext_question_cleaned
    for text in sorted({*(row.label for row in item.rows), *named}):
        if len(text) < SHORT:
            continue
        for found in re.finditer(rf"(?<![\w-]){re.escape(text)}(?![\w-])", question, re.IGNORECASE):
            if not BEFORE.search(question, max(0, found.start() - NEAR), found.start()):
                return f"the question names {text}, which is in its answer table"
    return ""


def find_disorder(item: TanqItem, ranks: Mapping[str, int]) -> str:
    """Describe relations that are not in order of rank, such as death before birth; empty if none."""
    order = [ranks[relation] for relation in item.relations if relation in ranks]
    if order == sorted(order):
        return ""
    return f"its relations are in the wrong order: {', '.join(item.relations)}"


def find_unlike_noun(item: TanqItem) -> str:
    """Describe answers that do not match the question's noun, such as films for `software`; empty if none."""
    if not item.noun or not item.instance_type:
        return ""
    noun = item.noun.lower()
    names = {noun, make_singular(noun), *noun.split()[-1:], make_singular(noun.split()[-1])}
    if names & PEOPLE and HUMAN in item.instance_type:
        return ""
    for label in item.instance_type:
        words = label.lower().split()
        if names & {label.lower(), make_singular(label.lower()), *words, *map(make_singular, words)}:
            return ""
    classes = ", ".join(item.instance_type)
    return f"the question asks for {item.noun}, but its answers are instances of {classes}"


def find_unnamed_unit(item: TanqItem) -> str:
    """Describe a column with amounts in a unit that the question does not name; empty if none."""
    for column in item.columns:
        if column.unit and column.relation and not is_unit_named(item.question, column.unit):
            return f"the question does not state that {column.header} is in {column.unit}"
    return ""


def find_shared_name(item: TanqItem) -> str:
    """Describe a label that two entities of the question share; empty if none.

    Tables and published records contain only labels, so the entities could not be distinguished.
    """
    counts = Counter(thing.label for thing in dict.fromkeys(item.things))
    return next((f"two of its entities are called {label}" for label, n in counts.items() if n > 1), "")


def list_faults(item: TanqItem, ranks: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the faults of an item as (reason, detail) pairs."""
    checks: Sequence[tuple[str, Callable[[TanqItem], str]]] = (
        (LEAKED, find_leak),
        (DISORDERED, lambda item: find_disorder(item, ranks)),
        (UNLIKE_NOUN, find_unlike_noun),
        (NO_UNIT, find_unnamed_unit),
        (SHARED, find_shared_name),
    )
    for reason, check in checks:
        if detail := check(item):
            yield reason, detail
