"""Stage: each profile written out as a document, read back by a machine, and rewritten where it must be.

A document is written in parts of a few facts each: a small model keeps four facts in mind where it
loses one of fourteen, and only the part that failed is written anew.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.grammar.corpus.document_grammar import write_part_grammar
from tasks.grammar.corpus.entities import Fact, Profile
from tasks.grammar.corpus.machine_reading import Reading, check_reading, missing_values
from tasks.models.ask import Ask, Unparsed
from tasks.systems.contract import Document

PROMPT = "document_part"
UNREAD = "fact_unread"
"""The reason by which a fact is dropped that no reader finds in a document that is kept."""


class Documents(BaseModel):
    """`grammar.documents` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    facts: int = Field(default=4, ge=1)
    """Facts that one part tells."""
    minimum_words: int = 45
    maximum_words: int = 90
    """Of one part."""
    words: tuple[int, int] = (200, 400)
    """Of a whole document; others are dropped."""
    rewrites: int = Field(default=1, ge=0)
    """How often a part is written anew whose facts the reader did not find."""
    readable: float = Field(default=1.0, ge=0, le=1)
    """The least share of its facts that must be read from a document; else it is dropped."""
    at_once: int = Field(default=6, ge=1)
    """Questions that one request to the reader holds."""
    mentions: bool = True
    """Whether a sentence may come back to the thing's name and to other values of its part."""


@dataclass(frozen=True)
class Part:
    """A paragraph, or None where no attempt held its facts; its call; and why it failed."""

    text: str | None
    call: str
    problem: str = ""


async def documents(profiles: list[Profile], params: Documents, ask: Ask) -> Drafts[Document]:
    """Write an article for every profile, 200 to 400 words, whose facts a reader finds (section 5.1).

    A fact that no reader finds in a document that is kept stands among the dropped rows.
    """
    made = await asyncio.gather(*(_write_document(profile, params, ask) for profile in profiles))
    return Drafts(
        [document for document, _ in made if document is not None],
        [each for _, left in made for each in left],
    )


async def _write_document(
    profile: Profile, params: Documents, ask: Ask
) -> tuple[Document | None, list[Dropped]]:
    if not profile.facts:
        source = Origin("row", f"profiles#{profile.id}")
        return None, [Dropped(profile.id, "no_facts", profile.name, (source,))]
    themes = [profile.facts[at : at + params.facts] for at in range(0, len(profile.facts), params.facts)]
    parts = list(await asyncio.gather(*(_write_part(profile, theme, params, ask, 0) for theme in themes)))
    readings: dict[str, Reading] = {}
    for round_ in range(params.rewrites + 1):
        if (failed := next((part for part in parts if part.text is None), None)) is not None:
            origin = (Origin("row", f"profiles#{profile.id}"), Origin("call", failed.call))
            return None, [Dropped(profile.id, "facts_missing", f"{profile.name}: {failed.problem}", origin)]
        unread = [fact for fact in profile.facts if fact.id not in readings or not readings[fact.id].found]
        if round_:
            for number, theme in enumerate(themes):
                if any(fact in unread for fact in theme):
                    again = await _write_part(profile, theme, params, ask, round_)
                    parts[number] = again if again.text is not None else parts[number]
        text = "\n\n".join(part.text or "" for part in parts)
        found = await check_reading(
            profile.name, text, unread, ask, row=profile.id, sample=round_, at_once=params.at_once
        )
        readings |= {each.fact.id: each for each in found}
        if all(each.found for each in readings.values()):
            break
    return _settle(profile, text, parts, list(readings.values()), params)


async def _write_part(
    profile: Profile, facts: Sequence[Fact], params: Documents, ask: Ask, sample: int
) -> Part:
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
    return Part(answer.value, answer.call, answer.problem)


def parse_part(text: str, facts: Sequence[Fact], params: Documents) -> str:
    """Read one paragraph that names every value of its facts. Raises Unparsed."""
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


def _settle(
    profile: Profile, text: str, parts: Sequence[Part], readings: Sequence[Reading], params: Documents
) -> tuple[Document | None, list[Dropped]]:
    calls = sorted({part.call for part in parts} | {reading.call for reading in readings})
    origin = (Origin("row", f"profiles#{profile.id}"), *(Origin("call", each) for each in calls))
    unread = [each for each in readings if not each.found]
    words = len(text.split())
    if len(readings) - len(unread) < params.readable * len(readings):
        first = unread[0].fact.attribute
        detail = f"{profile.name}: {len(unread)} of {len(readings)} facts not read, {first} first"
        return None, [Dropped(profile.id, "unreadable", detail, origin)]
    if not params.words[0] <= words <= params.words[1]:
        return None, [Dropped(profile.id, "length", f"{profile.name}: {words} words", origin)]
    left = [
        Dropped(
            each.fact.id,
            UNREAD,
            f"{each.fact.attribute} of {profile.name}: {', '.join(each.fact.values)}, read as: {each.answer}",
            origin,
        )
        for each in unread
    ]
    return Document(profile.id, profile.name, text, origin), left
