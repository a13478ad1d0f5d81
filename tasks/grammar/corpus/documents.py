"""Stage: have a model write a document from each profile, check it by machine reading, rewrite if needed.

A document is written in parts of a few facts each: a small model includes four facts reliably but not
fourteen, and only the part that failed is written again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.grammar.corpus.document_grammar import write_part_grammar
from tasks.grammar.corpus.entities import EntityProfile, Fact
from tasks.grammar.corpus.machine_reading import Reading, check_reading, missing_values
from tasks.models.ask import Ask, Unparsed
from tasks.systems.contract import Document

PROMPT = "document_part"
UNREAD = "fact_unread"
"""Drop reason of a fact that the reader does not find in a document that is kept."""


class Documents(BaseModel):
    """`grammar.documents` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    facts: int = Field(default=4, ge=1)
    """Number of facts per part."""
    minimum_words: int = 45
    maximum_words: int = 90
    """Of one part."""
    words: tuple[int, int] = (200, 400)
    """Minimum and maximum of a whole document; others are dropped."""
    rewrites: int = Field(default=1, ge=0)
    """How often a part is rewritten if the reader did not find its facts."""
    readable: float = Field(default=1.0, ge=0, le=1)
    """Minimum share of its facts that the reader must find in a document; others are dropped."""
    at_once: int = Field(default=6, ge=1)
    """Number of questions per request to the reader."""
    mentions: bool = True
    """Allow a sentence to repeat the entity's name and other values of its part."""


@dataclass(frozen=True)
class DocumentPart:
    """A paragraph. text: None if no attempt named all facts; then `problem` says why."""

    text: str | None
    call: str
    problem: str = ""


async def documents(profiles: list[EntityProfile], params: Documents, ask: Ask) -> Drafts[Document]:
    """Write a document of 200 to 400 words for every profile, and check its facts (section 5.1).

    Drop reasons: `no_facts`, `facts_missing` (no attempt at a part named its facts), `unreadable` (the reader
    found too few facts), `length`; and `fact_unread` for a single fact that the reader does not find in a
    document that is kept.
    """
    outcomes = await asyncio.gather(*(_write_document(profile, params, ask) for profile in profiles))
    return Drafts(
        [document for document, _ in outcomes if document is not None],
        [row for _, dropped in outcomes for row in dropped],
    )


async def _write_document(
    profile: EntityProfile, params: Documents, ask: Ask
) -> tuple[Document | None, list[Dropped]]:
    if not profile.facts:
        source = Origin("row", f"profiles#{profile.id}")
        return None, [Dropped(profile.id, "no_facts", profile.name, (source,))]
    batches = [profile.facts[at : at + params.facts] for at in range(0, len(profile.facts), params.facts)]
    parts = list(await asyncio.gather(*(_write_part(profile, facts, params, ask, 0) for facts in batches)))
    readings: dict[str, Reading] = {}
    for sample in range(params.rewrites + 1):
        if (failed := next((part for part in parts if part.text is None), None)) is not None:
            origin = (Origin("row", f"profiles#{profile.id}"), Origin("call", failed.call))
            return None, [Dropped(profile.id, "facts_missing", f"{profile.name}: {failed.problem}", origin)]
        unread = [fact for fact in profile.facts if fact.id not in readings or not readings[fact.id].found]
        if sample:
            for number, facts in enumerate(batches):
                if any(fact in unread for fact in facts):
                    rewritten = await _write_part(profile, facts, params, ask, sample)
                    parts[number] = rewritten if rewritten.text is not None else parts[number]
        text = "\n\n".join(part.text or "" for part in parts)
        found = await check_reading(
            profile.name, text, unread, ask, row=profile.id, sample=sample, at_once=params.at_once
        )
        readings |= {reading.fact.id: reading for reading in found}
        if all(reading.found for reading in readings.values()):
            break
    return _accept_or_drop(profile, text, parts, list(readings.values()), params)


async def _write_part(
    profile: EntityProfile, facts: Sequence[Fact], params: Documents, ask: Ask, sample: int
) -> DocumentPart:
    answer = await ask(
        PROMPT,
        {
            "kind": profile.kind,
            "name": profile.name,
            "facts": facts,
            "minimum": params.minimum_words,
            "maximum": params.maximum_words,
        },
        role="generator",
        row=profile.id,
        parse=lambda text: parse_part(text, facts, params),
        grammar=write_part_grammar(profile.kind, profile.name, facts, mentions=params.mentions),
        sample=sample,
        max_tokens=3 * params.maximum_words,
    )
    return DocumentPart(answer.value, answer.call, answer.problem)


def parse_part(text: str, facts: Sequence[Fact], params: Documents) -> str:
    """Parse a paragraph that names every value of its facts. Raises Unparsed."""
    text = " ".join(text.split())
    words = len(text.split())
    if not params.minimum_words // 2 <= words <= 2 * params.maximum_words:
        raise Unparsed(f"length: {words} words")
    if re.search(r"[#*_`\[\]{}<>|]", text) or not text.endswith((".", "!", '"')):
        raise Unparsed("form: no plain paragraph that ends")
    for fact in facts:
        if missing := missing_values(text, fact):
            raise Unparsed(f"missing: {fact.attribute}: {', '.join(missing)}")
    return text


def _accept_or_drop(
    profile: EntityProfile,
    text: str,
    parts: Sequence[DocumentPart],
    readings: Sequence[Reading],
    params: Documents,
) -> tuple[Document | None, list[Dropped]]:
    calls = sorted({part.call for part in parts} | {reading.call for reading in readings})
    origin = (Origin("row", f"profiles#{profile.id}"), *(Origin("call", call) for call in calls))
    unread = [reading for reading in readings if not reading.found]
    words = len(text.split())
    if len(readings) - len(unread) < params.readable * len(readings):
        first = unread[0].fact.attribute
        detail = f"{profile.name}: {len(unread)} of {len(readings)} facts not read, {first} first"
        return None, [Dropped(profile.id, "unreadable", detail, origin)]
    if not params.words[0] <= words <= params.words[1]:
        return None, [Dropped(profile.id, "length", f"{profile.name}: {words} words", origin)]
    dropped = [
        Dropped(
            reading.fact.id,
            UNREAD,
            f"{reading.fact.attribute} of {profile.name}: {', '.join(reading.fact.values)}, "
            f"read as: {reading.answer}",
            origin,
        )
        for reading in unread
    ]
    return Document(profile.id, profile.name, text, origin), dropped
