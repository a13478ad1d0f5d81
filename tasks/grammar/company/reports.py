"""Stage: write the company's documents: project reports, and pages about the company and staff.

A model writes a document section by section. The stage removes sentences that break a rule, and writes plain
sentences for the missing facts. With `written_by: plain`, the stage writes all sentences. Then the stage
checks that the text states each fact: a rule checks plain sentences, and the reader model checks a model's
sentences. Sections with missing facts are rewritten. Facts that are still missing are dropped. If too many
facts are missing, the whole document is dropped (appendix G.1, step 6).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.plans import (
    DocumentPlan,
    PlannedSection,
    collect_company,
    list_known_values,
    list_section_facts,
    plan_documents,
)
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import CompanyProject
from tasks.grammar.company.settings import Company, ReportSettings
from tasks.grammar.corpus.checked_sentences import (
    SentenceFault,
    check_part,
    join_parts,
    read_facts,
    require_words,
)
from tasks.grammar.corpus.document_grammar import parse_paragraph, write_part_grammar
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.machine_reading import Reading
from tasks.grammar.corpus.plain_writer import CheckedSentence, PlainWriter
from tasks.grammar.corpus.sentence_rules import KnownFacts
from tasks.models.ask import Answer, Ask
from tasks.systems.contract import Document

MISSING = "facts_missing"
"""The drop reason of a fact that no sentence can state."""
WORDS_PER_FACT = 20
"""The maximum number of words per fact, as stated in the prompt."""


@dataclass
class SectionDraft:
    """A section under construction: the latest sentences, all calls so far, and the omitted facts.

    `untold` contains the facts that no sentence can state: each fact's id, with the reason.
    """

    section: PlannedSection
    known_facts: KnownFacts
    writer: PlainWriter
    sentences: tuple[CheckedSentence, ...] = ()
    calls: tuple[str, ...] = ()
    untold: dict[str, str] = field(default_factory=dict)
    faults: list[SentenceFault] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    """The number of attempts in which a fact was not found, by fact id."""

    def list_unread(self, readings: Mapping[str, Reading]) -> list[ProfileFact]:
        """List the facts that neither a rule nor the reader model has found, except the facts in `untold`."""
        told = (fact for fact in self.section.facts if fact.id not in self.untold)
        return [fact for fact in told if fact.id not in readings or not readings[fact.id].found]


async def reports(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    projects: list[CompanyProject],
    entry: Company,
    ask: Ask,
) -> Drafts[Document]:
    """Write and check every document.

    The drop reasons of a document are `unreadable` (too few facts were found) and `length`. The drop reasons
    of a fact in a kept document are `facts_missing` (no sentence can state the fact) and `fact_unread` (the
    fact was not found). The drop reasons of a model's sentence are listed in corpus/sentence_rules.py.
    """
    company = collect_company(profile, employees, clients, projects)
    known = list_known_values(company)
    outcomes = await asyncio.gather(
        *(
            _write_document(plan, list_section_facts(plan, company, known), entry, ask)
            for plan in plan_documents(company, entry.reports)
        )
    )
    return Drafts(
        [document for document, _ in outcomes if document is not None],
        [row for _, dropped in outcomes for row in dropped],
    )


async def _write_document(
    plan: DocumentPlan, section_facts: Sequence[KnownFacts], entry: Company, ask: Ask
) -> tuple[Document | None, list[Dropped]]:
    settings = entry.reports
    drafts = [
        SectionDraft(section, facts, PlainWriter(section.name, facts, (entry.seed, plan.id), by_name=True))
        for section, facts in zip(plan.sections, section_facts, strict=True)
    ]
    readings: dict[str, Reading] = {}
    for sample in range(settings.drafts):
        for draft in drafts:
            if not draft.sentences or draft.list_unread(readings):
                await _write_section(draft, plan.id, settings, sample, ask)
                for fact in draft.section.facts:  # in a new text, all facts must be found again
                    readings.pop(fact.id, None)
        unread = [fact for draft in drafts for fact in draft.list_unread(readings)]
        found = await read_facts(
            plan.title,
            [draft.sentences for draft in drafts],
            unread,
            ask,
            row=plan.id,
            sample=sample,
            at_once=settings.at_once,
        )
        readings |= {reading.fact.id: reading for reading in found}
        for draft in drafts:
            draft.attempts.update(fact.id for fact in draft.list_unread(readings))
        if not any(draft.list_unread(readings) for draft in drafts):
            break
    return _accept_or_drop(plan, drafts, readings, settings)


async def _write_section(
    draft: SectionDraft, row: str, settings: ReportSettings, sample: int, ask: Ask
) -> None:
    section, text = draft.section, None
    if settings.written_by == "model":
        maximum = WORDS_PER_FACT * len(section.facts)
        answer: Answer[str] = await ask(
            "company/section",
            {"kind": section.kind, "name": section.name, "facts": section.facts, "maximum": maximum},
            role="generator",
            row=row,
            parse=lambda text: parse_paragraph(text, 3 * maximum),
            grammar=write_part_grammar(section.kind, section.name, section.facts),
            sample=sample,
            max_tokens=6 * maximum,
        )
        draft.calls += (answer.call,)
        text = answer.value
        if text is None:
            draft.faults.append(SentenceFault(f"section on {section.name}, draft {sample}", answer.problem))
    part = check_part(text, section.facts, draft.known_facts, draft.writer, draft.attempts)
    draft.sentences = part.sentences
    # `check_part` appends the problems of omitted facts last, in the order of `untold`.
    last = part.faults[len(part.faults) - len(part.untold) :]
    draft.untold = {fact.id: fault.problem for fact, fault in zip(part.untold, last, strict=True)}
    draft.faults += part.faults


def _accept_or_drop(
    plan: DocumentPlan,
    drafts: Sequence[SectionDraft],
    readings: Mapping[str, Reading],
    settings: ReportSettings,
) -> tuple[Document | None, list[Dropped]]:
    calls = {call for draft in drafts for call in draft.calls}
    calls |= {reading.call for reading in readings.values() if reading.call is not None}
    origin = (*plan.sources, *(Origin("call", call) for call in sorted(calls)))
    read = {fact for fact, reading in readings.items() if reading.found}
    text, sentences = join_parts((draft.sentences for draft in drafts), read)
    faults = {
        row.id: row for draft in drafts for fault in draft.faults if (row := fault.drop(plan.title, origin))
    }
    dropped = [
        _drop_fact(plan, fact, draft, readings.get(fact.id), origin)
        for draft in drafts
        for fact in draft.section.facts
        if fact.id in draft.untold or fact in draft.list_unread(readings)
    ]
    total = len(plan.facts)
    if total - len(dropped) < settings.readable * total or not text:
        detail = f"{plan.title}: {len(dropped)} of {total} facts not read: {dropped[0].detail}"
        return None, [Dropped(plan.id, "unreadable", detail, origin), *faults.values()]
    words = len(text.split())
    if plan.words is not None:
        least, most = require_words(total, plan.words)
        if not least <= words <= most:
            detail = f"{plan.title}: {words} words"
            return None, [Dropped(plan.id, "length", detail, origin), *faults.values()]
    return Document(plan.id, plan.title, text, origin, sentences), [*faults.values(), *dropped]


def make_unread_id(plan: DocumentPlan, fact: ProfileFact) -> str:
    """Return the id of the dropped row for a fact that was not found in a document."""
    return make_id("unread", plan.id, fact.id)


def _drop_fact(
    plan: DocumentPlan,
    fact: ProfileFact,
    draft: SectionDraft,
    reading: Reading | None,
    origin: tuple[Origin, ...],
) -> Dropped:
    row = make_unread_id(plan, fact)
    description = f"{fact.attribute} of {fact.subject}: {', '.join(fact.values)}"
    if reading is None:
        return Dropped(row, MISSING, f"{description}: {draft.untold.get(fact.id, 'not stated')}", origin)
    return Dropped(row, "fact_unread", f"{description}, read as: {reading.answer}", origin)
