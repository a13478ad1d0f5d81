"""Stage: have a model write the company's documents: project reports, and pages on it and its staff.

A document is written section by section and checked as a whole by machine reading. Sections with facts that
the reader does not find are written again; facts that are still missing are dropped, or the document with
them (appendix G.1, step 6).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.grammar.company.company_data import collect_company
from tasks.grammar.company.plans import DocumentPlan, PlannedSection, plan_documents
from tasks.grammar.company.rows import CompanyClient, CompanyProfile, Employee, Project
from tasks.grammar.company.settings import Company, ReportSettings
from tasks.grammar.corpus.document_grammar import write_part_grammar
from tasks.grammar.corpus.entities import Fact
from tasks.grammar.corpus.machine_reading import Reading, check_reading, missing_values
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.systems.contract import Document

MISSING = "facts_missing"
"""Drop reason of a fact that no draft of its section named."""
PER_FACT = (7, 36)
"""Minimum and maximum number of words of a section, per fact."""
REQUESTED = (12, 20)
"""The words per fact that the prompt asks for: narrower, since a small model keeps to it only roughly."""


@dataclass
class SectionDraft:
    """The current state of a section: its newest text, all calls so far, and why there is no text."""

    section: PlannedSection
    text: str | None = None
    calls: tuple[str, ...] = ()
    problem: str = ""


async def reports(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    projects: list[Project],
    entry: Company,
    ask: Ask,
) -> Drafts[Document]:
    """Write and check every document.

    Drop reasons of a document: `unreadable` (the reader found too few facts), `length`. Drop reasons of a
    single fact in a document that is kept: `facts_missing` (no draft named it), `fact_unread` (the reader
    did not find it).
    """
    company = collect_company(profile, employees, clients, projects)
    names = [row.name for rows in (company.employees, company.clients, company.projects) for row in rows]
    plans = plan_documents(company, entry.reports)
    outcomes = await asyncio.gather(*(_write_document(plan, names, entry.reports, ask) for plan in plans))
    return Drafts(
        [document for document, _ in outcomes if document is not None],
        [row for _, dropped in outcomes for row in dropped],
    )


async def _write_document(
    plan: DocumentPlan, names: Sequence[str], settings: ReportSettings, ask: Ask
) -> tuple[Document | None, list[Dropped]]:
    drafts = [SectionDraft(section) for section in plan.sections]
    readings: dict[str, Reading] = {}
    for sample in range(settings.drafts):
        for draft in drafts:
            if draft.text is None or _list_unread(draft, readings):
                await _write_section(draft, plan.id, names, sample, ask)
                for fact in draft.section.facts:  # a new text needs new readings of all its facts
                    readings.pop(fact.id, None)
        unread = [
            fact for draft in drafts if draft.text is not None for fact in _list_unread(draft, readings)
        ]
        text = _join_texts(drafts)
        found = await check_reading(
            plan.title, text, unread, ask, row=plan.id, sample=sample, at_once=settings.at_once
        )
        readings |= {reading.fact.id: reading for reading in found}
        if not any(_list_unread(draft, readings) for draft in drafts):
            break
    return _accept_or_drop(plan, drafts, readings, settings)


async def _write_section(draft: SectionDraft, row: str, names: Sequence[str], sample: int, ask: Ask) -> None:
    """Write a section again; if that fails, its previous text stays."""
    section = draft.section
    minimum, maximum = (words * len(section.facts) for words in PER_FACT)
    allowed = {section.name, *(value for fact in section.facts for value in fact.values)}
    others = [name for name in names if not any(name in value for value in allowed)]
    answer: Answer[str] = await ask(
        "company/section",
        {
            "kind": section.kind,
            "name": section.name,
            "facts": section.facts,
            "minimum": REQUESTED[0] * len(section.facts),
            "maximum": REQUESTED[1] * len(section.facts),
        },
        role="generator",
        row=row,
        parse=lambda text: parse_section(text, section.facts, others, minimum, maximum),
        grammar=write_part_grammar(section.kind, section.name, section.facts),
        sample=sample,
        max_tokens=4 * maximum,
    )
    draft.calls += (answer.call,)
    if answer.value is None:
        draft.problem = answer.problem
    else:
        draft.text = answer.value


def parse_section(text: str, facts: Sequence[Fact], others: Sequence[str], minimum: int, maximum: int) -> str:
    """Parse a paragraph that names every value of its facts and none of `others`. Raises Unparsed."""
    text = " ".join(text.split())
    words = len(text.split())
    if not minimum <= words <= maximum:
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


def _list_unread(draft: SectionDraft, readings: Mapping[str, Reading]) -> list[Fact]:
    return [fact for fact in draft.section.facts if fact.id not in readings or not readings[fact.id].found]


def _join_texts(drafts: Sequence[SectionDraft]) -> str:
    return "\n\n".join(draft.text for draft in drafts if draft.text is not None)


def _accept_or_drop(
    plan: DocumentPlan,
    drafts: Sequence[SectionDraft],
    readings: Mapping[str, Reading],
    settings: ReportSettings,
) -> tuple[Document | None, list[Dropped]]:
    calls = {call for draft in drafts for call in draft.calls}
    calls |= {reading.call for reading in readings.values()}
    origin = (*plan.sources, *(Origin("call", call) for call in sorted(calls)))
    text, total = _join_texts(drafts), sum(len(draft.section.facts) for draft in drafts)
    dropped = [
        _drop_fact(plan, fact, draft, readings.get(fact.id), origin)
        for draft in drafts
        for fact in _list_unread(draft, readings)
    ]
    if total - len(dropped) < settings.readable * total or not text:
        detail = f"{plan.title}: {len(dropped)} of {total} facts not read: {dropped[0].detail}"
        return None, [Dropped(plan.id, "unreadable", detail, origin)]
    words = len(text.split())
    if plan.words is not None and not plan.words[0] <= words <= plan.words[1]:
        return None, [Dropped(plan.id, "length", f"{plan.title}: {words} words", origin)]
    return Document(plan.id, plan.title, text, origin), dropped


def make_unread_id(plan: DocumentPlan, fact: Fact) -> str:
    """Make the id of the dropped row for a fact that is not found in a document."""
    return make_id("unread", plan.id, fact.id)


def _drop_fact(
    plan: DocumentPlan, fact: Fact, draft: SectionDraft, reading: Reading | None, origin: tuple[Origin, ...]
) -> Dropped:
    row = make_unread_id(plan, fact)
    description = f"{fact.attribute} of {fact.subject}: {', '.join(fact.values)}"
    if reading is None:
        return Dropped(row, MISSING, f"{description}: {draft.problem}", origin)
    return Dropped(row, "fact_unread", f"{description}, read as: {reading.answer}", origin)
