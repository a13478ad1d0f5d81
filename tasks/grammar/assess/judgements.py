"""Stage: label every answer correct or incorrect, by a rule or by the judge; else it stays unscored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Origin
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.judge import judge_once
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.judging.answered import Answered
from tasks.judging.majority import Majority, judge_often
from tasks.judging.rules import find_rule, label_by_rule
from tasks.judging.scored import Scored
from tasks.models.ask import Answer, Ask
from tasks.scoring.correctness import Correctness
from tasks.scoring.label import score_label


class Judgements(BaseModel):
    """`grammar.judgements` in params.yaml; the canaries are judged in the same way."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repeats: int = Field(default=1, ge=1)
    """Number of verdicts per answer; the majority counts, a tie is unscored."""
    feedback: bool = False
    """Let the judge write a line before its verdict."""
    rules: bool = True
    """A response that equals the true answer as text, number or date is correct, an empty one incorrect; the
    judge is not asked."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on an answer. Its id is the answer's.

    judgement: None if unscored; then `problem` says why. rule: the rule that decided (see
    `tasks/judging/rules.py`); empty if the judge did. verdicts: the judge's parsed ones, one for each time
    that it was asked.
    """

    id: str
    question: str
    group: str
    criterion: str
    judgement: Correctness | None
    rule: str
    verdicts: tuple[Correctness, ...]
    problem: str
    origin: tuple[Origin, ...]


async def judgements(
    answers: list[AssessedAnswer], questions: list[AskedQuestion], params: Judgements, ask: Ask
) -> Drafts[Judgement]:
    """Judge every answer. A failed answer is not shown to the judge and is unscored."""
    asked = {question.id: question for question in questions}
    rules = {answer.id: _find_rule(answer, asked[answer.question], params) for answer in answers}
    open_ones = [answer for answer in answers if answer.response is not None and not rules[answer.id]]
    majorities = await asyncio.gather(
        *(_judge(answer, asked[answer.question], params, ask) for answer in open_ones)
    )
    found = dict(zip((answer.id for answer in open_ones), majorities, strict=True))
    return Drafts([make_judgement(answer, rules[answer.id], found.get(answer.id)) for answer in answers])


def _find_rule(answer: AssessedAnswer, question: AskedQuestion, params: Judgements) -> str:
    if not params.rules or answer.response is None:
        return ""
    return find_rule(question.answer, answer.response, question.question)


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
    answer: AssessedAnswer, rule: str, found: tuple[Majority[Correctness], tuple[Correctness, ...]] | None
) -> Judgement:
    """Make a judgement's row.

    rule: that decided; empty if none did. found: the majority and its verdicts; None if the judge was not
    asked, for a rule or since the system gave no answer.
    """
    origin = [Origin("row", f"answers#{answer.id}"), Origin("row", f"questions#{answer.question}")]
    label: Correctness | None = None
    verdicts: tuple[Correctness, ...] = ()
    problem = f"no answer: {answer.problem}"
    if rule:
        label, problem = label_by_rule(rule), ""
    elif found is not None:
        majority, verdicts = found
        label, problem = majority.value, majority.problem
        origin += [Origin("call", call) for call in dict.fromkeys(majority.calls)]
    return Judgement(
        answer.id,
        answer.question,
        answer.group,
        answer.criterion,
        label,
        rule,
        verdicts,
        problem,
        tuple(origin),
    )


def list_scored(judgements: Iterable[Judgement]) -> list[Scored]:
    """Convert judgements to scores for nightly comparisons; unscored None."""
    return [
        Scored(judgement.question, judgement.group, score_label(judgement.judgement))
        for judgement in judgements
    ]


def list_answered(
    questions: list[AskedQuestion], answers: list[AssessedAnswer], judgements: list[Judgement]
) -> list[Answered]:
    """List the answer behind each score, for comparisons."""
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
