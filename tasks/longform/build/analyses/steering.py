"""Find the columns and tables that existing questions mention, as the basis of new plans.

Section 2.1 of the paper describes how existing questions steer new questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tasks.english import make_singular
from tasks.longform.build.analyses.subjects import AnalysedRows
from tasks.longform.build.source_columns import SourceColumn
from tasks.longform.build.words import split_name

WORD = re.compile(r"[^\W_]+")
VAGUE = frozenset(["name", "number", "id", "code", "type", "date", "the", "of", "and", "in", "by", "to", "a"])
"""Words that are too vague to name a column. A column whose name has only such words never counts as
mentioned."""


def find_mentions(question: str, known: Mapping[str, SourceColumn]) -> frozenset[str]:
    """Find the ids of columns and the names of tables that a question mentions.

    A column or table is mentioned if all words of its name occur in the question, in the singular or plural.
    """
    there = _read_stems(question)
    found = set()
    for row in known.values():
        name = _read_stems(split_name(row.column.name))
        if name and name <= there and name - VAGUE:
            found.add(row.id)
        table = _read_stems(split_name(row.column.table))
        if table and table <= there:
            found.add(row.column.table)
    return frozenset(found)


def _read_stems(text: str) -> set[str]:
    return {make_singular(word.lower()) for word in WORD.findall(text)}


def write_questions(subjects: Iterable[AnalysedRows]) -> list[str]:
    """Write questions that name a database's columns, for databases without existing questions."""
    written: dict[str, None] = {}
    for subject in subjects:
        amounts = [amount.name for amount in subject.amounts]
        categories = [category.words for category in subject.categories]
        for name in amounts:
            written[f"What are the average and the highest {name} of all {subject.words}?"] = None
        for words in categories:
            written[f"How many {subject.words} are there of each {words}?"] = None
            for name in amounts[:2]:
                written[f"Which {words} has the {subject.words} with the highest average {name}?"] = None
        for time in subject.times:
            for name in amounts[:2]:
                written[f"What is the average {name} of {subject.words} for each {time.name}?"] = None
        for first, second in pairwise(amounts):
            written[f"Which {subject.words} have the highest {first}, and what is their {second}?"] = None
    return list(written)


def count_mentioned(mentions: frozenset[str], columns: Sequence[str], table: str) -> int:
    """Score how much of a plan a question mentions: 2 points per column, and 1 point for the table."""
    return 2 * len(mentions.intersection(columns)) + (table in mentions)
