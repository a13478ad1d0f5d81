"""Read a document's facts back: by rule in sentences that code wrote, by the reader in those of a model.

A plain sentence is written from its fact alone and says nothing else, so that its values stand in it is all
there is to read. Of a model's sentence only a reader can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.grammar.corpus.checked_sentences import PLAIN, CheckedSentence, join_parts
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.machine_reading import Reading, check_reading, names_fact
from tasks.models.ask import Ask

Parts = Iterable[Sequence[CheckedSentence]]
"""The paragraphs of a document."""


async def read_facts(
    title: str, parts: Parts, facts: Sequence[ProfileFact], ask: Ask, *, row: str, sample: int, at_once: int
) -> list[Reading]:
    """Read facts in a document; the reader is asked for those that no plain sentence tells.

    sample, at_once: see `check_reading`.
    """
    parts = list(parts)
    text, _ = join_parts(parts)
    ruled = read_by_rule((sentence for part in parts for sentence in part), facts)
    told = {reading.fact.id for reading in ruled}
    others = [fact for fact in facts if fact.id not in told]
    asked = await check_reading(title, text, others, ask, row=row, sample=sample, at_once=at_once)
    return [*ruled, *asked]


def read_by_rule(sentences: Iterable[CheckedSentence], facts: Iterable[ProfileFact]) -> list[Reading]:
    """Read the facts that plain sentences tell: one is found if a sentence of it names all its values."""
    plain = [sentence for sentence in sentences if sentence.writer == PLAIN]
    readings = []
    for fact in facts:
        telling = [sentence.text for sentence in plain if fact.id in sentence.facts]
        if telling:
            found = [text for text in telling if names_fact(text, fact)]
            readings.append(Reading(fact, (found or telling)[0], bool(found), None))
    return readings
