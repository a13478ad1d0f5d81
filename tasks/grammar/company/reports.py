"""Stage: the company's documents: project reports, and pages on it and its people (appendix G.1, 6).

A document is written a section at a time and read back as a whole; what a reader does not find is
written anew, and in the end left out of the document, or the document with it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.grammar.company.plans import Plan, Section, plan_documents
from tasks.grammar.company.rows import Client, Employee, Profile, Project
from tasks.grammar.company.settings import Company, Reports
from tasks.grammar.company.whole import assemble
from tasks.grammar.corpus.document_grammar import write_part_grammar
from tasks.grammar.corpus.entities import Fact
from tasks.grammar.corpus.machine_reading import Reading, check_reading, missing_values
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.systems.contract import Document

MISSING = "facts_missing"
"""Why a fact was dropped that no draft of its section said."""
PER_FACT = (7, 36)
"""Least and greatest number of words of a section, for each of its facts."""
WISHED = (12, 20)
"""What the prompt asks for: a small model keeps to it about, and no more."""


@dataclass
class Draft:
    """A section as it stands: its newest text, every call it took, and why there is no text."""

    section: Section
    text: str | None = None
    calls: tuple[str, ...] = ()
    problem: str = ""


async def reports(
    profile: list[Profile],
    employees: list[Employee],
    clients: list[Client],
    projects: list[Project],
    entry: Company,
    ask: Ask,
) -> Drafts[Document]:
    """Write and check every document. What no reader finds in a document that is kept is dropped as a fact.

    Dropped under `facts_missing` (a section never said its facts), `fact_unread`, `unreadable` (too small
    a share of a document's facts is read from it) and `length`.
    """
    whole = assemble(profile, employees, clients, projects)
    names = [each.name for part in (whole.employees, whole.clients, whole.projects) for each in part]
    made = await asyncio.gather(
        *(_write_document(plan, names, entry.reports, ask) for plan in plan_documents(whole, entry.reports))
    )
    return Drafts(
        [document for document, _ in made if document is not None],
        [each for _, left in made for each in left],
    )


async def _write_document(
    plan: Plan, names: Sequence[str], params: Reports, ask: Ask
) -> tuple[Document | None, list[Dropped]]:
    drafts = [Draft(section) for section in plan.sections]
    readings: dict[str, Reading] = {}
    for sample in range(params.drafts):
        for draft in drafts:
            if draft.text is None or _list_unread(draft, readings):
                await _write_section(draft, plan.id, names, sample, ask)
                for fact in draft.section.facts:  # new words are read anew, every one of them
                    readings.pop(fact.id, None)
        unread = [
            fact for draft in drafts if draft.text is not None for fact in _list_unread(draft, readings)
        ]
        text = _join(drafts)
        found = await check_reading(
            plan.title, text, unread, ask, row=plan.id, sample=sample, at_once=params.at_once
        )
        readings |= {each.fact.id: each for each in found}
        if not any(_list_unread(draft, readings) for draft in drafts):
            break
    return _settle(plan, drafts, readings, params)


async def _write_section(draft: Draft, row: str, names: Sequence[str], sample: int, ask: Ask) -> None:
    """Write a section anew; where that fails, what stood there stays."""
    section = draft.section
    least, most = (each * len(section.facts) for each in PER_FACT)
    own = {section.name, *(value for fact in section.facts for value in fact.values)}
    others = [name for name in names if not any(name in each for each in own)]
    answer: Answer[str] = await ask(
        "company/section",
        {
            "kind": section.kind,
            "name": section.name,
            "facts": section.facts,
            "minimum": WISHED[0] * len(section.facts),
            "maximum": WISHED[1] * len(section.facts),
        },
        role="generator",
        row=row,
        parse=lambda text: parse_section(text, section.facts, others, least, most),
        grammar=write_part_grammar(section.kind, section.name, section.facts),
        sample=sample,
        max_tokens=4 * most,
    )
    draft.calls += (answer.call,)
    if answer.value is None:
        draft.problem = answer.problem
    else:
        draft.text = answer.value


def parse_section(text: str, facts: Sequence[Fact], others: Sequence[str], least: int, most: int) -> str:
    """Read one paragraph that names every value of its facts, and nobody else. Raises Unparsed."""
    text = " ".join(text.split())
    words = len(text.split())
    if not least <= words <= most:
        raise Unparsed(f"length: {words} words")
    if re.search(r"[#*_`\[\]{}<>|]", text) or not text.endswith("."):
        raise Unparsed("form: no plain paragraph that ends")
    for fact in facts:
        if missing := missing_values(text, fact):
            raise Unparsed(f"missing: {fact.attribute}: {', '.join(missing)}")
    folded = text.casefold()
    for name in others:
        if re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", folded):
            raise Unparsed(f"names_other: {name}")
    return text


def _list_unread(draft: Draft, readings: Mapping[str, Reading]) -> list[Fact]:
    return [fact for fact in draft.section.facts if fact.id not in readings or not readings[fact.id].found]


def _join(drafts: Sequence[Draft]) -> str:
    return "\n\n".join(draft.text for draft in drafts if draft.text is not None)


def _settle(
    plan: Plan, drafts: Sequence[Draft], readings: Mapping[str, Reading], params: Reports
) -> tuple[Document | None, list[Dropped]]:
    calls = {call for draft in drafts for call in draft.calls} | {each.call for each in readings.values()}
    origin = (*plan.sources, *(Origin("call", call) for call in sorted(calls)))
    text, total = _join(drafts), sum(len(draft.section.facts) for draft in drafts)
    left = [
        _drop_fact(plan, fact, draft, readings.get(fact.id), origin)
        for draft in drafts
        for fact in _list_unread(draft, readings)
    ]
    if total - len(left) < params.readable * total or not text:
        first = left[0].detail
        detail = f"{plan.title}: {len(left)} of {total} facts not read: {first}"
        return None, [Dropped(plan.id, "unreadable", detail, origin)]
    words = len(text.split())
    if plan.words is not None and not plan.words[0] <= words <= plan.words[1]:
        return None, [Dropped(plan.id, "length", f"{plan.title}: {words} words", origin)]
    return Document(plan.id, plan.title, text, origin), left


def name_unread(plan: Plan, fact: Fact) -> str:
    """Name the dropped row that stands for a fact which is not read from a document."""
    return make_id("unread", plan.id, fact.id)


def _drop_fact(
    plan: Plan, fact: Fact, draft: Draft, reading: Reading | None, origin: tuple[Origin, ...]
) -> Dropped:
    row = name_unread(plan, fact)
    what = f"{fact.attribute} of {fact.subject}: {', '.join(fact.values)}"
    if reading is None:
        return Dropped(row, MISSING, f"{what}: {draft.problem}", origin)
    return Dropped(row, "fact_unread", f"{what}, read as: {reading.answer}", origin)
