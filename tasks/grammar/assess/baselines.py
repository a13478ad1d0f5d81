"""Stage: judge a sample of answers by reference-free methods, to compare them with the judge (section 3).

Claim faithfulness is the share of a response's claims that the retrieved passages support. Self-consistency
is the share of sampled responses that agree with the response. One request checks all claims. Rules find the
samples that are equal to the response. One request compares the response with all other samples. No method
sees the true answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.grammar.assess.ablation import ablate_corpus
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.resampling import ResampledAsk
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.judging.equality import find_equality
from tasks.judging.quoting import Quoted, quote
from tasks.judging.rules import is_abstention
from tasks.judging.verdicts import make_list
from tasks.models.ask import Ask, Unparsed
from tasks.scoring.label import Label, count_labels
from tasks.settings import Settings
from tasks.systems.build import build_system
from tasks.systems.contract import Document, System
from tasks.systems.entries import OpenAiEntry, RagEntry, SystemEntry

SAMPLER = "sampler"
"""The role that samples responses at temperature 1, instead of the system's role."""
CLAIM = re.compile(r"- (\S.*)")
NO_CLAIMS = "None"
MOST_CLAIMS = 6
"""The maximum number of claims per response, which the decoding grammar enforces."""
CLAIMS_GRAMMAR = (
    f'root ::= "{NO_CLAIMS}" | claim ("\\n" claim){{0,{MOST_CLAIMS - 1}}}\n'
    'claim ::= "- " [^\\n\\r-] [^\\n\\r]{2,160}'
)
CLAIM_TOKENS = 260
"""The maximum number of tokens in a reply that lists claims."""
Shown = Mapping[str, Quoted | list[Quoted]]
"""The texts in the judge's prompt, by field."""
FAITHFULNESS, CONSISTENCY = "claim_faithfulness", "self_consistency"
"""The reference-free methods."""


class Baselines(Settings):
    """The settings in params.yaml under `grammar.baselines`."""

    sample: int | None = Field(default=100, ge=1)
    """The number of answers to sample; null means all answers.

    Each sampled answer costs at most `samples` + 3 calls.
    """
    samples: int = Field(default=4, ge=1)
    """The number of responses sampled for self-consistency; the paper samples 4 at temperature 1."""
    seed: int = 0
    """The seed for sampling answers."""


class BaselineLabel(Label):
    """A reference-free method's verdict on an answer."""

    CORRECT = "correct", "", 1.0
    INCORRECT = "incorrect", "", 0.0


class ClaimSupport(Label):
    """The judge's label: whether the sources support a claim, or whether a sample agrees with the response.

    In the judge's reply, the labels are capitalised.
    """

    YES = "yes", "", 1.0
    NO = "no", "", 0.0
    NULL = "null"
    """The sources neither support nor contradict the claim."""
    UNPARSED = "unparsed"


@dataclass(frozen=True)
class BaselinePart:
    """A claim or a sampled response, with its verdict.

    `rule` is the rule that found a sample equal to the response; it is empty if the judge decided.
    """

    text: str
    holds: ClaimSupport
    rule: str = ""


@dataclass(frozen=True)
class BaselineVerdict:
    """A reference-free method's verdict on an answer.

    For an unscored answer, `verdict` is None and `problem` states why. `share` is the share of supported
    claims or agreeing samples, 0 to 1. `parts` contains the claims or samples with their verdicts.
    """

    id: str
    answer: str
    """The answer's id."""
    question: str
    group: str
    method: str
    verdict: BaselineLabel | None
    share: float | None
    parts: tuple[BaselinePart, ...]
    problem: str
    origin: tuple[Origin, ...]


async def baselines(
    answers: list[AssessedAnswer],
    questions: list[AskedQuestion],
    documents: list[Document],
    entry: AssessmentEntry,
    system: SystemEntry,
    params: Baselines,
    ask: Ask,
) -> Drafts[BaselineVerdict]:
    """Judge a random sample of the answers by both reference-free methods.

    Returns no rows if baselines are disabled. Abstentions are unscored, because they contain no claim and no
    answer that samples could agree with.
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
        *(_check_consistency(answer, asked[answer.question], systems, params.seed, ask) for answer in saying),
    )
    return Drafts([*rows, *silent])


def choose_answers(answers: Sequence[AssessedAnswer], params: Baselines) -> list[AssessedAnswer]:
    """Return a random sample of the answers that have a response; `params` sets the size and the seed."""
    given = (answer for answer in answers if answer.response is not None)
    return sorted(given, key=lambda answer: make_id("baseline", params.seed, answer.id))[: params.sample]


def find_role(system: SystemEntry) -> str:
    """Return the role of the model that writes a system's answers, or "" if there is no such role."""
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
    if not found.value:
        return _make(answer, FAITHFULNESS, (), (found.call,))
    claims = [quote(claim) for claim in found.value]
    fields: Shown = {"sources": sources, "claims": claims}
    labels = (ClaimSupport.YES, ClaimSupport.NO, ClaimSupport.NULL)
    held, call = await _ask_support("claim_check", fields, labels, len(claims), ask=ask, row=answer.id)
    return _make(answer, FAITHFULNESS, tuple(map(BaselinePart, found.value, held)), (found.call, call))


async def _check_consistency(
    answer: AssessedAnswer, question: AskedQuestion, systems: Sequence[System], seed: int, ask: Ask
) -> BaselineVerdict:
    """Sample responses and compare them with the answer, by rule first, and then in one judge request."""
    if not systems:
        return _make(answer, CONSISTENCY, (), (), "the system cannot be asked at another temperature")
    samples = await asyncio.gather(*(system.answer(question.question, row=answer.id) for system in systems))
    calls = [call for sample in samples for call in sample.calls]
    failed = next((sample.problem for sample in samples if sample.text is None), None)
    if failed is not None:
        return _make(answer, CONSISTENCY, (), calls, f"a sample failed: {failed}")
    responses = [sample.text or "" for sample in samples]
    given = answer.response or ""
    rules = {text: find_equality(given, text, question.question) for text in responses}
    # Identical samples are compared once. The order in the prompt is seeded, so it does not depend on the
    # order of the samples.
    others = sorted(
        {text for text in responses if not rules[text]}, key=lambda text: make_id("order", seed, given, text)
    )
    verdicts: dict[str, ClaimSupport] = {}
    if others:
        quoted = [quote(text) for text in others]
        fields: Shown = {"query": quote(question.question), "answer": quote(given), "others": quoted}
        labels = (ClaimSupport.YES, ClaimSupport.NO)
        held, call = await _ask_support("same_answer", fields, labels, len(others), ask=ask, row=answer.id)
        calls.append(call)
        verdicts = dict(zip(others, held, strict=True))
    parts = tuple(
        BaselinePart(text, ClaimSupport.YES if rules[text] else verdicts[text], rules[text])
        for text in responses
    )
    return _make(answer, CONSISTENCY, parts, calls)


async def _ask_support(
    prompt: str,
    fields: Shown,
    labels: Sequence[ClaimSupport],
    count: int,
    *,
    ask: Ask,
    row: str,
) -> tuple[list[ClaimSupport], str]:
    """Return the judge's labels for `count` claims or samples, and the ledger key of the call.

    One request asks for all labels. The prompt contains `fields`, and the field `verdicts` with the form for
    the labels. If the reply does not parse, all labels are UNPARSED.
    """
    shown = [text for value in fields.values() for text in (value if isinstance(value, list) else [value])]
    form = make_list([label.capitalize() for label in labels], count, shown)
    check = await ask(
        prompt,
        {**fields, "verdicts": form},
        role="judge",
        row=row,
        parse=form.parse,
        grammar=form.make_grammar(),
    )
    words = check.value or [ClaimSupport.UNPARSED] * count
    return [ClaimSupport.read(word.lower()) for word in words], check.call


def parse_claims(text: str) -> tuple[str, ...]:
    """Return the distinct claims in a reply: one per line, each after a dash. Raises Unparsed.

    The reply `None` contains no claim.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if lines == [NO_CLAIMS]:
        return ()
    found = [CLAIM.fullmatch(line) for line in lines]
    if not lines or None in found:
        raise Unparsed("no_claims: expected a dash and a claim on every line, or only `None`")
    return tuple(dict.fromkeys(match[1].strip() for match in found if match is not None))


def _make(
    answer: AssessedAnswer,
    method: str,
    parts: tuple[BaselinePart, ...],
    calls: Sequence[str],
    problem: str = "",
) -> BaselineVerdict:
    share, reason = weigh_parts(parts)
    label = BaselineLabel.CORRECT if share == 1 else BaselineLabel.INCORRECT
    return BaselineVerdict(
        id=make_id(method, answer.id),
        answer=answer.id,
        question=answer.question,
        group=answer.group,
        method=method,
        verdict=None if problem or share is None else label,
        share=None if problem else share,
        parts=parts,
        problem=problem or reason,
        origin=(
            Origin("row", f"answers#{answer.id}"),
            *(Origin("call", call) for call in dict.fromkeys(calls)),
        ),
    )


def weigh_parts(parts: Sequence[BaselinePart]) -> tuple[float | None, str]:
    """Return (the share of parts with a positive verdict, ""), or (None, the reason).

    A part is a claim or a sampled response. Parts with the verdict `null` are excluded. If the judge's reply
    on any part did not parse, the share is undefined.
    """
    if any(part.holds is ClaimSupport.UNPARSED for part in parts):
        return None, "the check of the claims or samples did not parse"
    share = count_labels(part.holds for part in parts).mean
    return share, "no claim is left" if share is None else ""
