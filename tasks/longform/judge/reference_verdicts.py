"""Stage: compare every answer with the reference answer (section 4.2.1 of the paper)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.judging.answered import Answered, Scored
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.critical_values import MISSING, limit_verdict
from tasks.longform.judge.exhibits import show_answer
from tasks.longform.judge.opinions import Opinion, ask_opinion, skip
from tasks.longform.labels import CHOICES, CONCLUSIVE, Verdict
from tasks.longform.solve.interaction import Interaction, find_no_answer
from tasks.models.ask import Answer, Ask
from tasks.settings import Settings


@dataclass(frozen=True)
class ReferenceVerdict:
    """Row of the stage `reference_verdicts`: the verdict on an answer, compared with the reference answer."""

    id: str
    interaction: str
    item: str
    kind: str
    label: Verdict | None
    """For a conclusive item, Match or Not Match; None if the answer or the verdict is missing."""
    score: int | None
    """For an interpretive item, the score from 1 to 5; None if the answer or the verdict is missing."""
    reason: str
    problem: str
    origin: tuple[Origin, ...]
    rule: str = ""
    """The rule that lowered the judge's verdict; empty if no rule lowered the verdict."""
    missing: tuple[str, ...] = ()
    """The critical values that the answer lacks, if the rule lowered the verdict."""
    judged: Verdict | None = None
    """The judge's verdict before the rule lowered it; None if no rule lowered the verdict."""

    @property
    def verdict(self) -> Verdict | None:
        """The label, or the score as a `Verdict`; None if both are missing. Raises UnknownLabel."""
        return self.label if self.score is None else Verdict.read(str(self.score))

    @property
    def by_judge(self) -> Verdict | None:
        """The judge's own verdict, before any rule lowered the verdict."""
        return self.judged if self.rule else self.verdict


class ReferenceJudging(Settings):
    """The settings in params.yaml under `longform.reference_verdicts`.

    These settings also apply to verdicts on canaries.
    """

    prompt_tokens: int = Field(default=3000, ge=1500)
    """Maximum number of tokens in a prompt (an estimate)."""
    feedback: bool = False
    """Whether the judge writes a reason before its verdict, as in the paper.

    Writing a reason does not improve the verdicts of small models.
    """
    rationale_words: int = Field(default=25, gt=0)
    """Maximum number of words in a rationale."""
    reply_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens in a reply. Reasoning models need more tokens."""
    rules: bool = True
    """Whether a verdict is lowered if the answer lacks critical values of the reference."""


async def reference_verdicts(
    items: list[LongformItem],
    interactions: list[Interaction],
    entry: AgentEvaluation,
    params: ReferenceJudging,
    ask: Ask,
) -> Drafts[ReferenceVerdict]:
    """Judge the answers of all agents: a label for conclusive items, a score (1 to 5) for interpretive items.

    For an interaction without an answer, the row has no label and no score, and no request is sent.
    """
    return await judge_answers(items, interactions, entry.judge, params, ask)


async def judge_answers(
    items: Iterable[LongformItem],
    interactions: Iterable[Interaction],
    role: str,
    params: ReferenceJudging,
    ask: Ask,
) -> Drafts[ReferenceVerdict]:
    """Judge all answers with the model of one role. Raises the same errors as `judge_answer`."""
    by_id = {item.id: item for item in items}
    verdicts = (
        judge_answer(by_id[interaction.item], interaction, role, params, ask) for interaction in interactions
    )
    return Drafts(await asyncio.gather(*verdicts))


async def judge_answer(
    item: LongformItem, interaction: Interaction, role: str, params: ReferenceJudging, ask: Ask
) -> ReferenceVerdict:
    """Judge one answer; with `params.rules`, lower the verdict if critical values are missing.

    Raises ModelFailed, BudgetSpent, CallMissing.
    """
    row = make_id("reference_verdicts", interaction.id)
    if problem := find_no_answer(interaction):
        return _make_row(row, item, interaction, skip(problem))
    judged = await ask_judge(item, interaction, role, row, params, ask)
    return _make_row(row, item, interaction, judged, rules=params.rules)


async def ask_judge(
    item: LongformItem,
    interaction: Interaction,
    role: str,
    row: str,
    params: ReferenceJudging,
    ask: Ask,
    *,
    sample: int = 0,
    answer_first: bool = False,
) -> Answer[Opinion[Verdict]]:
    """Ask the judge about one answer.

    `row`: the id for error messages. With `answer_first`, the answer precedes the reference.
    Raises ModelFailed, BudgetSpent, CallMissing.
    """
    conclusive = item.kind == CONCLUSIVE
    return await ask_opinion(
        "judge_conclusive" if conclusive else "judge_interpretive",
        show_answer(item, interaction, params.prompt_tokens, answer_first=answer_first),
        CHOICES[item.kind],
        field="Verdict" if conclusive else "Score",
        words=params.rationale_words if params.feedback else 0,
        tokens=params.reply_tokens,
        role=role,
        row=row,
        ask=ask,
        sample=sample,
    )


def _make_row(
    row: str,
    item: LongformItem,
    interaction: Interaction,
    answer: Answer[Opinion[Verdict]],
    *,
    rules: bool = False,
) -> ReferenceVerdict:
    origin = [Origin("row", f"items#{item.id}"), Origin("row", f"interactions#{interaction.id}")]
    origin += [Origin("call", answer.call)] if answer.call else []
    own = answer.value.verdict if answer.value else None
    verdict, missing = own, tuple[str, ...]()
    if rules and own is not None:
        verdict, missing = limit_verdict(item, interaction.answer or "", own)
    lowered = verdict != own
    return ReferenceVerdict(
        id=row,
        interaction=interaction.id,
        item=item.id,
        kind=item.kind,
        label=verdict if item.kind == CONCLUSIVE else None,
        score=int(verdict) if verdict is not None and item.kind != CONCLUSIVE else None,
        reason=answer.value.rationale if answer.value else "",
        problem="" if answer.value else answer.problem,
        origin=tuple(origin),
        rule=MISSING if lowered else "",
        missing=missing if lowered else (),
        judged=own if lowered else None,
    )


def tell_rule(verdict: ReferenceVerdict) -> str:
    """Describe a lowered verdict: the answer's missing values and the judge's verdict.

    Returns an empty string if no rule lowered the verdict.
    """
    if not verdict.rule or verdict.judged is None:
        return ""
    return f"by rule: without {', '.join(verdict.missing)}; the judge said {verdict.judged.shown}"


def list_scored(verdicts: Iterable[ReferenceVerdict]) -> list[Scored]:
    """List the score (0 to 1) of each verdict, for comparisons of nightly runs; None if unscored.

    A match scores 1, and no match scores 0. Scores from 1 to 5 are rescaled to 0 to 1.
    """
    return [Scored(verdict.id, verdict.item, _scale(verdict)) for verdict in verdicts]


def _scale(verdict: ReferenceVerdict) -> float | None:
    score = verdict.verdict.score if verdict.verdict else None
    return score if score is None or verdict.kind == CONCLUSIVE else (score - 1) / 4


def list_answered(
    items: list[LongformItem], interactions: list[Interaction], reference_verdicts: list[ReferenceVerdict]
) -> list[Answered]:
    """List the answer that each verdict judges, for comparisons; the system is named `<agent>/<model>`."""
    asked, given = {row.id: row for row in items}, {row.id: row for row in interactions}
    return [
        Answered(
            id=row.id,
            case=row.item,
            system=f"{given[row.interaction].agent}/{given[row.interaction].model}",
            metric="match" if row.kind == CONCLUSIVE else "score",
            question=asked[row.item].question,
            reference=asked[row.item].reference,
            answer=given[row.interaction].answer or given[row.interaction].problem,
            note=tell_rule(row) or row.reason or row.problem,
        )
        for row in reference_verdicts
    ]
