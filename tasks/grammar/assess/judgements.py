"""Stage: label every answer as correct or incorrect, by a rule or by the judge.

The judge may label an answer several times; the majority verdict counts. An answer without a verdict is
unscored.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.corpus.answer_columns import AnswerColumn
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.judging.answered import Answered, Scored
from tasks.judging.findings import UNDECIDED, RuleFinding, label_by_rule
from tasks.judging.known_values import KnownColumn
from tasks.judging.quoting import quote
from tasks.judging.rules import find_rule
from tasks.judging.verdicts import make_form
from tasks.models.ask import Answer, Ask
from tasks.scoring.correctness import Correctness
from tasks.scoring.label import score_label
from tasks.settings import Settings

V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True)
class Majority(Generic[V]):
    """The majority verdict of several replies to one request."""

    value: V | None
    """The most frequent verdict; None on a tie, or if fewer than half of the replies parsed."""
    agreement: float | None
    """The share of the most frequent verdict among the parsed replies, 0 to 1; None if no reply parsed."""
    calls: tuple[str, ...]
    """The ledger keys of the calls, in the order of the samples."""
    problem: str = ""
    """The reason why `value` is None; otherwise empty."""


async def judge_often(ask_once: Callable[[int], Awaitable[Answer[V]]], repeats: int) -> Majority[V]:
    """Send the same request `repeats` times, and return the majority.

    `ask_once` sends the request with the given sample number (0, 1, ...). Repeats are useful only above
    temperature 0, where samples differ. Raises ValueError for fewer than one repeat, and any error
    that `ask_once` raises.
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; expected at least 1")
    return count_votes(list(await asyncio.gather(*(ask_once(sample) for sample in range(repeats)))))


def count_votes(answers: list[Answer[V]]) -> Majority[V]:
    """Return the majority of the replies to one request."""
    votes = Counter(answer.value for answer in answers if answer.value is not None)
    n, parsed = len(answers), votes.total()
    calls = tuple(answer.call for answer in answers)
    ranked = votes.most_common(2)
    agreement = ranked[0][1] / parsed if ranked else None
    if 2 * parsed < n or not ranked:
        refused = next((f"; {answer.problem}" for answer in answers if answer.unanswered), "")
        return Majority(None, agreement, calls, f"unparsed: {n - parsed} of {n} replies{refused}")
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return Majority(None, agreement, calls, f"tie: {ranked[0][1]} of {parsed} each")
    return Majority(ranked[0][0], agreement, calls)


class Judgements(Settings):
    """The settings in params.yaml under `grammar.judgements`, which also apply to the canaries."""

    repeats: int = Field(default=1, ge=1)
    """The number of verdicts per answer. The majority counts; after a tie, the answer is unscored."""
    feedback: bool = False
    """Whether the judge writes a line of feedback before the verdict."""
    rules: bool = True
    """Whether rules based on the true answer and the column's values are applied first. The judge then labels
    only answers that no rule decides."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on an answer. The row's id is the answer's id.

    For an unscored answer, `judgement` is None and `problem` states why. `rule` is the rule that decided (see
    `tasks/judging/rules.py`), or empty if the judge decided. `found` is the value in the response that the
    rule is based on, or empty if there is no such value. `verdicts` contains the judge's parsed verdicts, at
    most one per repeat.
    """

    id: str
    question: str
    group: str
    criterion: str
    judgement: Correctness | None
    rule: str
    found: str
    verdicts: tuple[Correctness, ...]
    problem: str
    origin: tuple[Origin, ...]


async def judgements(
    answers: list[AssessedAnswer],
    questions: list[AskedQuestion],
    answer_columns: list[AnswerColumn],
    params: Judgements,
    ask: Ask,
) -> Drafts[Judgement]:
    """Judge every answer. Failed answers are unscored and not sent to the judge."""
    asked = {question.id: question for question in questions}
    columns = {row.id: KnownColumn(row.kind, row.words, row.values) for row in answer_columns}
    findings = {answer.id: _find_rule(answer, asked[answer.question], columns, params) for answer in answers}
    open_ones = [answer for answer in answers if answer.response is not None and not findings[answer.id]]
    majorities = await asyncio.gather(
        *(_judge(answer, asked[answer.question], params, ask) for answer in open_ones)
    )
    found = dict(zip((answer.id for answer in open_ones), majorities, strict=True))
    return Drafts([make_judgement(answer, findings[answer.id], found.get(answer.id)) for answer in answers])


def _find_rule(
    answer: AssessedAnswer, question: AskedQuestion, columns: Mapping[str, KnownColumn], params: Judgements
) -> RuleFinding:
    if not params.rules or answer.response is None:
        return UNDECIDED
    column = columns.get(question.sql_template)
    return find_rule(question.answer, answer.response, question.question, column)


async def _judge(
    answer: AssessedAnswer, question: AskedQuestion, params: Judgements, ask: Ask
) -> tuple[Majority[Correctness], tuple[Correctness, ...]]:
    verdicts: dict[int, Correctness] = {}

    async def ask_once(sample: int) -> Answer[Correctness]:
        verdict = await judge_once(
            question.question,
            question.answer,
            answer.response or "",
            ask=ask,
            row=answer.id,
            feedback=params.feedback,
            sample=sample,
        )
        if verdict.value is not None:
            verdicts[sample] = verdict.value
        return verdict

    majority = await judge_often(ask_once, params.repeats)
    return majority, tuple(verdicts[sample] for sample in sorted(verdicts))


def make_judgement(
    answer: AssessedAnswer,
    finding: RuleFinding,
    judged: tuple[Majority[Correctness], tuple[Correctness, ...]] | None,
) -> Judgement:
    """Make a judgement's row.

    `finding` states which rule decided, and is falsy if no rule decided. `judged` contains the majority and
    the verdicts. `judged` is None if the judge was not asked, because a rule decided or the system returned
    no answer.
    """
    origin = [Origin("row", f"answers#{answer.id}"), Origin("row", f"questions#{answer.question}")]
    label: Correctness | None = None
    verdicts: tuple[Correctness, ...] = ()
    problem = f"no answer: {answer.problem}"
    if finding:
        label, problem = label_by_rule(finding.rule), ""
    elif judged is not None:
        majority, verdicts = judged
        label, problem = majority.value, majority.problem
        origin += [Origin("call", call) for call in dict.fromkeys(majority.calls)]
    return Judgement(
        answer.id,
        answer.question,
        answer.group,
        answer.criterion,
        label,
        finding.rule,
        finding.found,
        verdicts,
        problem,
        tuple(origin),
    )


def list_scored(judgements: Iterable[Judgement]) -> list[Scored]:
    """Convert judgements to scores for nightly comparisons; unscored answers have the score None."""
    return [
        Scored(judgement.question, judgement.group, score_label(judgement.judgement))
        for judgement in judgements
    ]


def list_answered(
    questions: list[AskedQuestion], answers: list[AssessedAnswer], judgements: list[Judgement]
) -> list[Answered]:
    """List the question, reference and answer of each judgement, for comparisons."""
    asked, given = {row.id: row for row in questions}, {row.id: row for row in answers}
    return [
        Answered(
            id=row.question,
            case=row.question,
            system="",
            metric="accuracy",
            question=asked[row.question].question,
            reference=asked[row.question].answer,
            answer=given[row.id].response or given[row.id].problem,
            note=row.judgement.shown if row.judgement else row.problem,
        )
        for row in judgements
    ]


async def judge_once(
    query: str, answer: str, response: str, *, ask: Ask, row: str, feedback: bool = False, sample: int = 0
) -> Answer[Correctness]:
    """Request one verdict on a response, given the true answer.

    `row` is the id of the answer's row. `feedback` requests a line of feedback before the verdict. To repeat
    the request, pass another number as `sample`. Any reply other than a verdict is unparsed. The reply may
    have up to the role's `max_tokens` tokens, because a reasoning model writes more than the verdict.
    """
    fields = {"query": query, "answer": answer, "response": quote(response)}
    form = make_form(tuple(Correctness), fields.values(), feedback=feedback)
    return await ask(
        "judge",
        {**fields, "verdict": form},
        role="judge",
        row=row,
        parse=lambda text: Correctness.read(form.parse(text)[0]),
        grammar=form.make_grammar(),
        sample=sample,
    )
