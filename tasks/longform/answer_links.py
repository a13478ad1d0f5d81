"""Link each sentence of an agent's answer to the queries whose rows hold what it states."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from tasks.longform.solve.interaction import AgentQuery

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
LEAST_NAME = 3
"""Characters of a text that is looked for in a sentence; shorter ones stand in many by chance."""
LEAST_NUMBER = 2
"""Characters of a number that tells a query; a single digit stands in many rows by chance."""


def link_sentences(answer: str, queries: Sequence[AgentQuery]) -> list[tuple[str, list[int]]]:
    """Split an answer into sentences, each with the numbers of the queries (from 1) that it may rest on.

    A query is linked where one of its rows, as the agent was shown them, or a statistic of it has a name or a
    figure of the sentence. It is where to look, no verdict: a sentence may misread the row that it is from.
    """
    sentences = [part for part in SENTENCE.split(answer.strip()) if part]
    return [
        (sentence, [number for number, query in enumerate(queries, start=1) if _holds(query, sentence)])
        for sentence in sentences
    ]


def _holds(query: AgentQuery, sentence: str) -> bool:
    said = [text.replace(",", "") for text in NUMBER.findall(sentence)]
    for row in _list_rows(query):
        told = [
            text for text in said if len(text) >= LEAST_NUMBER and any(_equals(text, cell) for cell in row)
        ]
        if told or any(isinstance(cell, str) and _names(cell, sentence) for cell in row):
            return True
    return False


def _list_rows(query: AgentQuery) -> Iterator[Sequence[object]]:
    yield from json.loads(query.rows, parse_constant=str)
    for statistic in query.statistics:
        yield list(json.loads(statistic.figures).values())


def _names(cell: str, sentence: str) -> bool:
    name = cell.strip()
    return len(name) >= LEAST_NAME and bool(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE)
    )


def _equals(text: str, cell: object) -> bool:
    """Tell whether a number as it is said is a cell, rounded as far as it is said."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return False
    places = len(text.partition(".")[2])
    return abs(float(text) - cell) <= 0.5 * 10.0**-places if places else float(text) == round(cell)
