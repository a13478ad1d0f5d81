"""Stage: join the question, database, reference answer and evidence of each finished item."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.errors import StageFailed
from tasks.longform.build.classify import QuestionKind
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.statement import Claim


@dataclass(frozen=True)
class LongformItem:
    """Row of the stage `items`: a finished question with its database and its reference answer."""

    id: str
    database: str
    question: str
    kind: str
    """Either `conclusive` or `interpretive`."""
    reference: str
    claims: tuple[Claim, ...]
    script: str
    """The synthetic database as CREATE and INSERT statements of SQLite."""
    confirmed_by: str
    origin: tuple[Origin, ...]


def items(
    control: list[ControlledQuestion],
    confirm: list[ConfirmedQuestion],
    construct: list[SyntheticDatabase],
    conclude: list[Conclusion],
    classify: list[QuestionKind],
) -> Drafts[LongformItem]:
    """Join the outputs of the stages for every question that passed all stages.

    Raises StageFailed if no question passed all stages.
    """
    databases = {question.id: question.database for question in control}
    confirmed = {question.id: question for question in confirm}
    scripts = {made.id: made.script for made in construct}
    answers = {answer.id: answer for answer in conclude}
    rows = [
        LongformItem(
            id=kind.id,
            database=databases[kind.id],
            question=confirmed[kind.id].text,
            kind=kind.kind,
            reference=answers[kind.id].text,
            claims=answers[kind.id].claims,
            script=scripts[kind.id],
            confirmed_by=confirmed[kind.id].confirmed_by,
            origin=tuple(
                Origin("row", f"{stage}#{kind.id}")
                for stage in ("confirm", "construct", "conclude", "classify")
            ),
        )
        for kind in classify
    ]
    if not rows:
        raise StageFailed(
            f"no question passed all stages: {len(control)} were written, {len(confirm)} were confirmed, "
            f"{len(construct)} have a database; the .dropped files give the reasons"
        )
    return Drafts(rows)
