"""Stage: judge a sample of the answers by reference-free methods, for comparison with the judge (section 3).

Claim faithfulness: the share of a response's claims that the retrieved passages support. Self-consistency:
the share of sampled responses that agree with it. Neither method is shown the true answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.grammar.assess.ablation import ablate_corpus
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.judge import ask_label
from tasks.grammar.assess.resampling import ResampledAsk
from tasks.grammar.assessment_rows import AskedQuestion, AssessedAnswer, BaselinePart, BaselineVerdict
from tasks.judging.abstention import is_abstention
from tasks.judging.quoting import quote
from tasks.models.ask import Ask, Unparsed
from tasks.systems.build import build_system
from tasks.systems.contract import Document, System
from tasks.systems.entries import OpenAiEntry, RagEntry, SystemEntry

FAITHFULNESS, CONSISTENCY = "claim_faithfulness", "self_consistency"
SAMPLER = "sampler"
"""The role that replaces the answering one to sample responses, at temperature 1."""
YES, NO, NULL = "Yes", "No", "Null"
CLAIM = re.compile(r"- (\S.*)")
NO_CLAIMS = "None"
MOST_CLAIMS = 6
CLAIMS_GRAMMAR = (
    f'root ::= "{NO_CLAIMS}" | claim ("\\n" claim){{0,{MOST_CLAIMS - 1}}}\n'
    'claim ::= "- " [^\\n\\r-] [^\\n\\r]{2,160}'
)
CLAIM_TOKENS = 260


class Baselines(BaseModel):
    """`grammar.baselines` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sample: int | None = Field(default=20, ge=1)
    """Number of answers, sampled by seed; null = all. Each costs about a dozen calls."""
    samples: int = Field(default=4, ge=1)
    """Number of responses sampled for self-consistency; the paper has 4, at temperature 1."""
    seed: int = 0


async def baselines(
    answers: list[AssessedAnswer],
    questions: list[AskedQuestion],
    documents: list[Document],
    entry: AssessmentEntry,
    system: SystemEntry,
    params: Baselines,
    ask: Ask,
) -> Drafts[BaselineVerdict]:
    """Judge a seeded sample of the answers by both methods; no rows if the assessment has no baselines.

    An abstention is unscored: it makes no claim, and samples of it agree on nothing.
    """
    if not entry.baselines:
        return Drafts(())
    asked = {question.id: question for question in questions}
    chosen = choose_answers(answers, params)
    corpus = ablate_corpus(documents, questions, entry.withheld)
    role = find_role(system)
    systems = [
        build_system(entry.system, system, corpus, ResampledAsk(ask, role, SAMPLER, sample))
        for sample in range(params.samples if role else 0)
    ]
    saying = [answer for answer in chosen if not is_abstention(answer.response or "")]
    silent = [
        _make(answer, method, (), (), "the response is an abstention")
        for answer in chosen
        if is_abstention(answer.response or "")
        for method in (FAITHFULNESS, CONSISTENCY)
    ]
    rows = await asyncio.gather(
        *(_check_claims(answer, asked[answer.question], ask) for answer in saying),
        *(_check_consistency(answer, asked[answer.question], systems, ask) for answer in saying),
    )
    return Drafts([*rows, *silent])


def choose_answers(answers: Sequence[AssessedAnswer], params: Baselines) -> list[AssessedAnswer]:
    """Sample answers by seed, among those with a response."""
    given = (answer for answer in answers if answer.response is not None)
    return sorted(given, key=lambda answer: make_id("baseline", params.seed, answer.id))[: params.sample]


def find_role(system: SystemEntry) -> str:
    """Return the role that a system answers with; empty if it has its own model and cannot be sampled."""
    if isinstance(system, RagEntry):
        return system.answerer
    return system.role if isinstance(system, OpenAiEntry) else ""


async def _check_claims(answer: AssessedAnswer, question: AskedQuestion, ask: Ask) -> BaselineVerdict:
    if answer.passages is None:
        return _make(answer, FAITHFULNESS, (), (), "the system does not show what it retrieved")
    response = quote(answer.response or "")
    found = await ask(
        "claims",
        {"query": quote(question.question), "response": response},
        role="judge",
        row=answer.id,
        parse=parse_claims,
        grammar=CLAIMS_GRAMMAR,
        max_tokens=CLAIM_TOKENS,
    )
    if found.value is None:
        return _make(answer, FAITHFULNESS, (), (found.call,), found.problem)
    sources = quote(
        "\n\n".join(f"{passage.title}\n{passage.text}" for passage in answer.passages) or "(nothing)"
    )
    checks = await asyncio.gather(
        *(
            ask_label(
                "claim_check",
                {"sources": sources, "claim": quote(claim)},
                (YES, NO, NULL),
                ask=ask,
                row=answer.id,
            )
            for claim in found.value
        )
    )
    parts = tuple(
        BaselinePart(claim, (check.value or "unparsed").lower())
        for claim, check in zip(found.value, checks, strict=True)
    )
    return _make(answer, FAITHFULNESS, parts, [found.call, *(check.call for check in checks)])


async def _check_consistency(
    answer: AssessedAnswer, question: AskedQuestion, systems: Sequence[System], ask: Ask
) -> BaselineVerdict:
    if not systems:
        return _make(answer, CONSISTENCY, (), (), "the system cannot be asked at another temperature")
    samples = await asyncio.gather(*(system.answer(question.question, row=answer.id) for system in systems))
    calls = [call for sample in samples for call in sample.calls]
    failed = next((sample.problem for sample in samples if sample.text is None), None)
    if failed is not None:
        return _make(answer, CONSISTENCY, (), calls, f"a sample failed: {failed}")
    responses = [sample.text or "" for sample in samples]
    checks = await asyncio.gather(
        *(
            ask_label(
                "same_answer",
                {
                    "query": quote(question.question),
                    "one": quote(answer.response or ""),
                    "other": quote(text),
                },
                (YES, NO),
                ask=ask,
                row=answer.id,
            )
            for text in responses
        )
    )
    parts = tuple(
        BaselinePart(text, (check.value or "unparsed").lower())
        for text, check in zip(responses, checks, strict=True)
    )
    return _make(answer, CONSISTENCY, parts, [*calls, *(check.call for check in checks)])


def parse_claims(text: str) -> tuple[str, ...]:
    """Parse claims: one per line after a dash, duplicates removed; `None` means no claim. Raises Unparsed."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if lines == [NO_CLAIMS]:
        return ()
    found = [CLAIM.fullmatch(line) for line in lines]
    if not lines or None in found:
        raise Unparsed("no_claims: every line must be a claim behind a dash, or the reply None")
    return tuple(dict.fromkeys(match[1].strip() for match in found if match is not None))


def _make(
    answer: AssessedAnswer,
    method: str,
    parts: tuple[BaselinePart, ...],
    calls: Sequence[str],
    problem: str = "",
) -> BaselineVerdict:
    share, reason = weigh_parts(parts)
    return BaselineVerdict(
        id=make_id(method, answer.id),
        answer=answer.id,
        question=answer.question,
        group=answer.group,
        method=method,
        verdict=None if problem or share is None else "correct" if share == 1 else "incorrect",
        share=None if problem else share,
        parts=parts,
        problem=problem or reason,
        origin=(
            Origin("row", f"answers#{answer.id}"),
            *(Origin("call", call) for call in dict.fromkeys(calls)),
        ),
    )


def weigh_parts(parts: Sequence[BaselinePart]) -> tuple[float | None, str]:
    """Return the share of parts that hold, and an empty text; or None and the reason.

    Parts with verdict null are excluded. One part whose check did not parse makes the share undefined, since
    its verdict could be either.
    """
    if any(part.holds == "unparsed" for part in parts):
        return None, "the check of a claim or sample did not parse"
    decided = [part for part in parts if part.holds != NULL.lower()]
    if not decided:
        return None, "no claim is left"
    return sum(part.holds == YES.lower() for part in decided) / len(decided), ""
