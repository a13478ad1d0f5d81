"""Stage: reference-free judgements of a sample of answers, to be held against the judge's (section 3).

Claim faithfulness asks whether what an answer claims stands in what was retrieved; self-consistency asks
whether the system says the same when its answers are sampled. Neither is shown the true answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.grammar.assess.answers import withhold
from tasks.grammar.assess.assessment_entry import Entry
from tasks.grammar.assess.resampling import ResampledAsk
from tasks.grammar.assessment_rows import AskedQuestion, Baseline, Part, SystemAnswer
from tasks.judging.grammars import judge_grammar
from tasks.judging.quoting import quote
from tasks.judging.verdicts import parse_label
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.systems.build import build_system
from tasks.systems.contract import Document, System
from tasks.systems.entries import OpenAiEntry, RagEntry, SystemEntry

FAITHFULNESS, CONSISTENCY = "claim_faithfulness", "self_consistency"
SAMPLER = "sampler"
"""The role that takes the answering one's place, at temperature 1."""
YES, NO, NULL = "Yes", "No", "Null"
CLAIM = re.compile(r"- (\S.*)")
NO_CLAIMS = "None"
MOST_CLAIMS = 6
CLAIMS_GRAMMAR = (
    f'root ::= "{NO_CLAIMS}" | claim ("\\n" claim){{0,{MOST_CLAIMS - 1}}}\n'
    'claim ::= "- " [^\\n\\r-] [^\\n\\r]{2,160}'
)
VERDICT_TOKENS, CLAIM_TOKENS = 12, 260


class Baselines(BaseModel):
    """`grammar.baselines` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sample: int | None = Field(default=20, ge=1)
    """Answers that are tried, drawn by seed; null = all. Each costs a dozen calls."""
    samples: int = Field(default=4, ge=1)
    """Answers that self-consistency draws by the role `sampler`; the paper has 4, at temperature 1."""
    seed: int = 0


async def baselines(
    answers: list[SystemAnswer],
    questions: list[AskedQuestion],
    documents: list[Document],
    entry: Entry,
    system: SystemEntry,
    params: Baselines,
    ask: Ask,
) -> Drafts[Baseline]:
    """Judge a seeded sample of the answers by both methods; none where the assessment leaves them out."""
    if not entry.baselines:
        return Drafts(())
    asked = {question.id: question for question in questions}
    chosen = choose_answers(answers, params)
    corpus = withhold(documents, questions, entry.withheld)
    role = find_role(system)
    systems = [
        build_system(entry.system, system, corpus, ResampledAsk(ask, role, SAMPLER, sample))
        for sample in range(params.samples if role else 0)
    ]
    rows = await asyncio.gather(
        *(_check_claims(answer, asked[answer.question], ask) for answer in chosen),
        *(_check_consistency(answer, asked[answer.question], systems, ask) for answer in chosen),
    )
    return Drafts(rows)


def choose_answers(answers: Sequence[SystemAnswer], params: Baselines) -> list[SystemAnswer]:
    """Draw answers by seed among those that were given."""
    given = (answer for answer in answers if answer.response is not None)
    return sorted(given, key=lambda answer: make_id("baseline", params.seed, answer.id))[: params.sample]


def find_role(system: SystemEntry) -> str:
    """Name the role by which a system answers; empty where it brings its own model and cannot be sampled."""
    if isinstance(system, RagEntry):
        return system.answerer
    return system.role if isinstance(system, OpenAiEntry) else ""


async def _check_claims(answer: SystemAnswer, question: AskedQuestion, ask: Ask) -> Baseline:
    if answer.passages is None:
        return _make(answer, FAITHFULNESS, (), (), "the system does not show what it retrieved")
    said = quote(answer.response or "")
    found = await ask(
        "claims",
        {"query": quote(question.question), "response": said},
        role="judge",
        row=answer.id,
        parse=parse_claims,
        grammar=CLAIMS_GRAMMAR,
        max_tokens=CLAIM_TOKENS,
    )
    if found.value is None:
        return _make(answer, FAITHFULNESS, (), (found,), found.problem)
    sources = quote(
        "\n\n".join(f"{passage.title}\n{passage.text}" for passage in answer.passages) or "(nothing)"
    )
    checks = await asyncio.gather(
        *(
            _ask_label(
                "claim_check", {"sources": sources, "claim": quote(claim)}, (YES, NO, NULL), answer.id, ask
            )
            for claim in found.value
        )
    )
    parts = tuple(
        Part(claim, (check.value or "unparsed").lower())
        for claim, check in zip(found.value, checks, strict=True)
    )
    return _make(answer, FAITHFULNESS, parts, (found, *checks))


async def _check_consistency(
    answer: SystemAnswer, question: AskedQuestion, systems: Sequence[System], ask: Ask
) -> Baseline:
    if not systems:
        return _make(answer, CONSISTENCY, (), (), "the system cannot be asked at another temperature")
    samples = await asyncio.gather(*(system.answer(question.question, row=answer.id) for system in systems))
    calls = [call for sample in samples for call in sample.calls]
    failed = next((sample.problem for sample in samples if sample.text is None), None)
    if failed is not None:
        return _make(answer, CONSISTENCY, (), (), f"a sample failed: {failed}", calls)
    said = [sample.text or "" for sample in samples]
    checks = await asyncio.gather(
        *(
            _ask_label(
                "same_answer",
                {
                    "query": quote(question.question),
                    "one": quote(answer.response or ""),
                    "other": quote(text),
                },
                (YES, NO),
                answer.id,
                ask,
            )
            for text in said
        )
    )
    parts = tuple(
        Part(text, (check.value or "unparsed").lower()) for text, check in zip(said, checks, strict=True)
    )
    return _make(answer, CONSISTENCY, parts, checks, "", calls)


async def _ask_label(
    prompt: str, fields: dict[str, object], labels: Sequence[str], row: str, ask: Ask
) -> Answer[str]:
    return await ask(
        prompt,
        fields,
        role="judge",
        row=row,
        parse=lambda text: parse_label(text, labels),
        grammar=judge_grammar(labels),
        max_tokens=VERDICT_TOKENS,
    )


def parse_claims(text: str) -> tuple[str, ...]:
    """Read claims, one a line behind a dash, each once; `None` is no claim. Raises Unparsed."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if lines == [NO_CLAIMS]:
        return ()
    found = [CLAIM.fullmatch(line) for line in lines]
    if not lines or None in found:
        raise Unparsed("no_claims: every line must be a claim behind a dash, or the reply None")
    return tuple(dict.fromkeys(match[1].strip() for match in found if match is not None))


def _make(
    answer: SystemAnswer,
    method: str,
    parts: tuple[Part, ...],
    replies: Sequence[Answer[Any]],
    problem: str = "",
    calls: Sequence[str] = (),
) -> Baseline:
    share, found = weigh_parts(parts)
    keys = dict.fromkeys([*calls, *(reply.call for reply in replies)])
    return Baseline(
        id=make_id(method, answer.id),
        answer=answer.id,
        question=answer.question,
        group=answer.group,
        method=method,
        verdict=None if problem or share is None else "correct" if share == 1 else "incorrect",
        share=None if problem else share,
        parts=parts,
        problem=problem or found,
        origin=(Origin("row", f"answers#{answer.id}"), *(Origin("call", key) for key in keys)),
    )


def weigh_parts(parts: Sequence[Part]) -> tuple[float | None, str]:
    """Give the share of parts that hold, null ones left out, or None and why there is none.

    A part whose check did not parse leaves the whole unscored: without it the share would be a guess.
    """
    if any(part.holds == "unparsed" for part in parts):
        return None, "the check of a claim or sample did not parse"
    told = [part for part in parts if part.holds != NULL.lower()]
    if not told:
        return None, "no claim is left"
    return sum(part.holds == YES.lower() for part in told) / len(told), ""
