"""Stage: write a document from each profile, check every sentence, and read the facts back.

A model writes a document in parts of a few facts, because a small model reliably includes four facts, but not
fourteen. Only failed parts are rewritten. Sentences that break a rule (sentence_rules.py) are dropped with a
reason, and code writes plain sentences for the missing facts. With `written_by: plain`, code writes
everything and no model is called.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.grammar.corpus.checked_sentences import (
    CheckedPart,
    SentenceFault,
    check_part,
    join_parts,
    read_facts,
    require_words,
)
from tasks.grammar.corpus.document_grammar import parse_paragraph, write_part_grammar
from tasks.grammar.corpus.entities import EntityProfile, ProfileFact
from tasks.grammar.corpus.entity_tables import open_entity_table, read_distinct_values
from tasks.grammar.corpus.machine_reading import Reading
from tasks.grammar.corpus.plain_writer import CheckedSentence, PlainWriter, write_paragraphs
from tasks.grammar.corpus.sentence_rules import KnownFacts, KnownValues
from tasks.models.ask import Ask
from tasks.settings import Settings
from tasks.systems.contract import Document

PROMPT = "document_part"
UNREAD = "fact_unread"
"""The drop reason of a fact that was not found in a kept document."""
UNTOLD = "fact_untold"
"""The drop reason of a fact that no sentence can state without breaking a rule."""


class Documents(Settings):
    """The settings in params.yaml under `grammar.documents`."""

    written_by: Literal["model", "plain"] = "model"
    """`model`: a model writes each part, and code writes plain sentences for facts whose sentences break a
    rule. `plain`: code writes all parts from the facts, and finds the facts by rule."""
    seed: int = 0
    """The seed for choosing among the sentences for a fact."""
    facts: int = Field(default=4, ge=1)
    """The number of facts per part."""
    maximum_words: int = 90
    """The maximum number of words per part, as stated in the prompt."""
    words: tuple[int, int] = (200, 400)
    """The minimum and maximum number of words of a document; shorter and longer documents are dropped. The
    minimum is lower for documents with few facts."""
    rewrites: int = Field(default=1, ge=0)
    """The maximum number of times that a part is rewritten because the reader does not find a fact in it."""
    readable: float = Field(default=1.0, ge=0, le=1)
    """The minimum share of facts that must be found in a document; otherwise the document is dropped. A rule
    finds facts in plain sentences, and the reader finds facts in a model's sentences."""
    at_once: int = Field(default=6, ge=1)
    """The number of questions per request to the reader."""
    mentions: bool = True
    """Whether a sentence may also contain the entity's name and the values of other facts in its part."""
    limits: QueryLimits = QueryLimits()
    """The limits for the queries (one per attribute) that fetch the values that a document must not
    contain."""


@dataclass
class DraftDocument:
    """A document under construction, with its paragraphs, calls, dropped rows and omitted facts."""

    profile: EntityProfile
    known_facts: KnownFacts
    writer: PlainWriter
    parts: list[list[CheckedSentence]] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    dropped: dict[str, Dropped] = field(default_factory=dict)
    untold: dict[str, SentenceFault] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)

    @property
    def origin(self) -> tuple[Origin, ...]:
        """The profile, and all calls for this document so far."""
        calls = (Origin("call", call) for call in sorted(self.calls))
        return (Origin("row", f"profiles#{self.profile.id}"), *calls)

    def note(self, part: CheckedPart) -> None:
        """Record a part's removed sentences and omitted facts as dropped rows."""
        for fault in part.faults:
            row = fault.drop(self.profile.name, self.origin)
            self.dropped[row.id] = row

    def fail(self, fact: ProfileFact, problem: str) -> None:
        """Record in `untold` a fact that no sentence can state, with the problem."""
        text = f"{fact.attribute} of {fact.subject}: {', '.join(fact.values)}"
        self.untold[fact.id] = SentenceFault(text, problem)


async def documents(
    profiles: list[EntityProfile],
    schema: list[Column],
    database: DatabaseEntry,
    params: Documents,
    ask: Ask,
) -> Drafts[Document]:
    """Write a document for every profile, and check its facts (GRAMMAR, section 5.1).

    Drop reasons of a document are `no_facts`, `unreadable` (too few facts were found) and `length` (outside
    `params.words`, by default 200 to 400 words). Drop reasons of a fact in a kept document are `fact_untold`
    (no sentence can state the fact) and `fact_unread` (the fact was not found). Drop reasons of a model's
    sentence are the reasons in sentence_rules.py and `no_fact`. Drop reasons of a whole part are `form` and
    `length`.
    """
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        known_facts = list_profile_facts(database.name, profiles, schema, safe)
    outcomes = await asyncio.gather(
        *(_write_document(profile, known_facts[profile.id], params, ask) for profile in profiles)
    )
    return Drafts(
        [document for document, _ in outcomes if document is not None],
        [row for _, dropped in outcomes for row in dropped],
    )


async def _write_document(
    profile: EntityProfile, known_facts: KnownFacts, params: Documents, ask: Ask
) -> tuple[Document | None, list[Dropped]]:
    if not profile.facts:
        source = Origin("row", f"profiles#{profile.id}")
        return None, [Dropped(profile.id, "no_facts", profile.name, (source,))]
    draft = DraftDocument(
        profile, known_facts, PlainWriter(profile.name, known_facts, (params.seed, profile.id))
    )
    readings: dict[str, Reading] = {}
    unread: list[ProfileFact] = list(profile.facts)
    for sample in range(params.rewrites + 1):
        written = await _write_parts(draft, unread, sample, params, ask)
        told = [fact for fact in written if fact.id not in draft.untold]
        found = await read_facts(
            profile.name, draft.parts, told, ask, row=profile.id, sample=sample, at_once=params.at_once
        )
        readings |= {reading.fact.id: reading for reading in found}
        unread = [fact for fact in told if not readings[fact.id].found]
        draft.attempts.update(fact.id for fact in unread)
        if not unread:
            break
    return _accept_or_drop(draft, list(readings.values()), params)


async def _write_parts(
    draft: DraftDocument, unread: Sequence[ProfileFact], sample: int, params: Documents, ask: Ask
) -> Sequence[ProfileFact]:
    """Write the parts that contain `unread` facts, and return all facts of these parts.

    Plain documents are rewritten completely, because this needs no model call. All facts of rewritten parts
    must be read again.
    """
    facts = draft.profile.facts
    if params.written_by == "plain":
        draft.parts, failed = write_paragraphs(draft.writer, facts, draft.attempts, draft.profile.named)
        for fact, problem in failed:
            draft.fail(fact, problem)
        return facts
    batches = [facts[at : at + params.facts] for at in range(0, len(facts), params.facts)]
    draft.parts = draft.parts or [[] for _ in batches]
    due = [number for number, batch in enumerate(batches) if any(fact in unread for fact in batch)]
    written = await asyncio.gather(
        *(_write_part(draft, batches[number], params, ask, sample) for number in due)
    )
    for number, part in zip(due, written, strict=True):
        draft.parts[number] = list(part.sentences)
        draft.note(part)
    return [fact for number in due for fact in batches[number]]


async def _write_part(
    draft: DraftDocument, facts: Sequence[ProfileFact], params: Documents, ask: Ask, sample: int
) -> CheckedPart:
    profile = draft.profile
    answer = await ask(
        PROMPT,
        {
            "kind": profile.kind,
            "name": profile.name,
            "facts": facts,
            "maximum": params.maximum_words,
        },
        role="generator",
        row=profile.id,
        parse=lambda text: parse_paragraph(text, 3 * params.maximum_words),
        grammar=write_part_grammar(profile.kind, profile.name, facts, mentions=params.mentions),
        sample=sample,
        max_tokens=3 * params.maximum_words,
    )
    draft.calls.add(answer.call)
    part = check_part(answer.value, facts, draft.known_facts, draft.writer, draft.attempts)
    for fact in part.untold:
        draft.fail(fact, part.faults[-1].problem)
    if answer.value is None:
        fault = SentenceFault(f"part {sample} of {facts[0].attribute}", answer.problem)
        part = CheckedPart(part.sentences, (fault, *part.faults), part.untold)
    return part


def _accept_or_drop(
    draft: DraftDocument, readings: Sequence[Reading], params: Documents
) -> tuple[Document | None, list[Dropped]]:
    profile = draft.profile
    calls = {reading.call for reading in readings if reading.call is not None}
    origin = (*draft.origin, *(Origin("call", call) for call in sorted(calls - draft.calls)))
    text, sentences = join_parts(draft.parts, {reading.fact.id for reading in readings if reading.found})
    unread = [reading for reading in readings if not reading.found]
    words, total = len(text.split()), len(profile.facts)
    missing = [fault.text for fault in draft.untold.values()] + [reading.fact.attribute for reading in unread]
    if not text or total - len(missing) < params.readable * total:
        detail = f"{profile.name}: {len(missing)} of {total} facts were not read, the first is {missing[0]}"
        return None, [Dropped(profile.id, "unreadable", detail, origin), *draft.dropped.values()]
    least, most = require_words(total, params.words, params.written_by)
    if not least <= words <= most:
        detail = f"{profile.name}: {words} words"
        return None, [Dropped(profile.id, "length", detail, origin), *draft.dropped.values()]
    dropped = [
        *draft.dropped.values(),
        *(
            Dropped(fact, UNTOLD, f"{fault.text} ({fault.problem})", origin)
            for fact, fault in draft.untold.items()
        ),
        *(
            Dropped(
                reading.fact.id,
                UNREAD,
                f"{reading.fact.attribute} of {reading.fact.subject}: {', '.join(reading.fact.values)}, "
                f"read as: {reading.answer}",
                origin,
            )
            for reading in unread
        ),
    ]
    return Document(profile.id, profile.name, text, origin, sentences), dropped


def list_profile_facts(
    database: str, profiles: Iterable[EntityProfile], schema: Sequence[Column], safe: SafeDatabase
) -> dict[str, KnownFacts]:
    """Return the known facts for each profile's document, by the profile's id. Raises SqlError."""
    profiles = list(profiles)
    known = read_known_values(database, (profile.table for profile in profiles), schema, safe)
    return {
        profile.id: KnownFacts(profile.kind, (profile.name,), profile.facts, known[profile.table])
        for profile in profiles
    }


def read_known_values(
    database: str, tables: Iterable[str], schema: Sequence[Column], safe: SafeDatabase
) -> Mapping[str, KnownValues]:
    """Return all values of the attributes of entity tables, except row names, by table.

    Numbers are left out, because `KnownValues` finds only values with letters. Raises SqlError.
    """
    numbers = {column.id for column in schema if column.type in {"integer", "real"}}
    found = {}
    for name in sorted(set(tables)):
        table = open_entity_table(database, name, schema)
        found[name] = KnownValues(
            {
                attribute.words: read_distinct_values(attribute, schema, safe)
                for attribute in table.attributes
                if attribute.column != table.naming and attribute.column not in numbers
            }
        )
    return found
