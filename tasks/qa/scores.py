"""Stage: score every answer by rules, by the judge's verdict, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.judging.answered import Answered, Scored
from tasks.qa.answers import QaAnswer
from tasks.qa.entries import QaSystem
from tasks.qa.items import QaItem
from tasks.qa.rules import score_answer
from tasks.qa.verdicts import QaVerdict
from tasks.scoring.label import score_label

RULES = ("em", "f1")
JUDGE = "judge"


@dataclass(frozen=True)
class QaScore:
    """Row of the stage `scores`: the scores of an answer, each 0 to 1; None if there is no score.

    id: the answer's id. ruled: whether rules score the answer. judged: whether the judge scores the answer.
    problem: the reason for a missing score.
    """

    id: str
    item: str
    group: str
    ruled: bool
    judged: bool
    em: float | None
    f1: float | None
    judge: float | None
    problem: str
    origin: tuple[Origin, ...]

    @property
    def values(self) -> Mapping[str, float | None]:
        """The scores by metric: the judge's score (if the answer is judged), then exact match and F1."""
        ruled = {name: getattr(self, name) for name in RULES} if self.ruled else {}
        return {**({JUDGE: self.judge} if self.judged else {}), **ruled}


def scores(
    items: list[QaItem], answers: list[QaAnswer], verdicts: list[QaVerdict], entry: QaSystem
) -> Drafts[QaScore]:
    """Score every answer. A missing answer has no scores, and `problem` has the reason."""
    asked, given = {item.id: item for item in items}, {verdict.id: verdict for verdict in verdicts}
    return Drafts([score_one(asked[answer.item], answer, given.get(answer.id), entry) for answer in answers])


def score_one(item: QaItem, answer: QaAnswer, verdict: QaVerdict | None, entry: QaSystem) -> QaScore:
    """Score one answer. verdict: None if the judge was not asked."""
    ruled = None
    if entry.ruled and answer.text is not None:
        ruled = score_answer(item.accepted, answer.text, item.question)
    problem = f"no answer: {answer.problem}" if answer.text is None else verdict.problem if verdict else ""
    return QaScore(
        answer.id,
        item.id,
        item.group,
        entry.ruled,
        entry.judged,
        ruled.em if ruled else None,
        ruled.f1 if ruled else None,
        score_label(verdict.label) if verdict else None,
        problem,
        (
            Origin("row", f"answers#{answer.id}"),
            *([Origin("row", f"verdicts#{verdict.id}")] if verdict else []),
        ),
    )


def list_scored(scores: Iterable[QaScore]) -> list[Scored]:
    """List one score per answer for comparisons: the judge's score, or exact match if only rules score."""
    return [Scored(score.id, score.group, next(iter(score.values.values()))) for score in scores]


def list_answered(items: list[QaItem], answers: list[QaAnswer], scores: list[QaScore]) -> list[Answered]:
    """List an `Answered` per score for comparisons, with the answer's other metrics and its item's tags."""
    asked, given = {row.id: row for row in items}, {row.id: row for row in answers}
    listed = []
    for score in scores:
        (metric, _), *further = score.values.items()
        item = asked[score.item]
        listed.append(
            Answered(
                id=score.id,
                case=score.item,
                system="",
                metric=metric,
                question=item.question,
                reference=item.reference,
                answer=given[score.id].text or given[score.id].problem,
                note=score.problem,
                further=dict(further),
                tags=item.tags,
            )
        )
    return listed
