"""Stage: keep the questions that a model or people confirm ("confirm" in section 2.1 of the paper)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, split_outcomes
from tasks.databases.columns import Column
from tasks.judging.decisions import Decisions, Ruling, load_decisions, name_decisions
from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_list
from tasks.longform.build.condense import CondensedQuestion
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.build.words import describe_tables
from tasks.longform.labels import BY_MODEL, BY_NOBODY
from tasks.models.ask import Ask
from tasks.settings import Settings

YES, NO = "Yes", "No"
CRITERIA = ("ambiguous", "not answerable", "one query is enough")
"""The problem that each `No` in the model's reply indicates, in the order of the prompt's lines."""


@dataclass(frozen=True)
class ConfirmedQuestion:
    """Row of the stage `confirm`: a confirmed question, with its id from the stage `condense`."""

    id: str
    text: str
    confirmed_by: str
    """`model`, `nobody`, or the names of the people who decided, joined by commas."""
    origin: tuple[Origin, ...]


class Confirm(Settings):
    """The settings in params.yaml under `longform.confirm`."""

    least: int = Field(default=3, ge=0, le=3)
    """Minimum number of criteria, out of three, that the model must confirm.

    With 0, no model is called and only people's decisions count. Questions without a decision are kept, and
    `confirmed_by` is `nobody`.
    """


async def confirm(
    condense: list[CondensedQuestion],
    control: list[ControlledQuestion],
    sources: Path,
    labels: Path,
    key: str,
    params: Confirm,
    ask: Ask,
) -> Drafts[ConfirmedQuestion]:
    """Have a model review every question. People's decisions (`benchloom review`) overrule the model.

    labels: the folder with people's decisions. Drop reasons: `refused_by_model`, `no_verdict`, `rejected` (by
    people), `split` (people disagree).
    """
    known = SourceArtifacts(sources)
    decisions = load_decisions(labels / "review" / name_decisions(f"data/longform/{key}/condense.parquet"))
    columns = {question.id: known.list_columns(question.database, question.focus) for question in control}
    outcomes = await asyncio.gather(
        *(_review(question, columns[question.id], decisions, params, ask) for question in condense)
    )
    return split_outcomes(outcomes)


async def _review(
    question: CondensedQuestion, columns: Sequence[Column], decisions: Decisions, params: Confirm, ask: Ask
) -> ConfirmedQuestion | Dropped:
    ruling = decisions.decide(question.id, question)
    row = Origin("row", f"condense#{question.id}")
    if params.least == 0:
        # The reply would have no effect, so the call would cost money for nothing.
        return _apply(ruling, question, (row,)) or ConfirmedQuestion(
            question.id, question.text, BY_NOBODY, (row,)
        )
    text = quote(question.text)
    form = make_list((YES, NO), len(CRITERIA), [text])
    answer = await ask(
        "confirm",
        {"tables": describe_tables(columns), "question": text, "verdict": form},
        role="reader",
        row=question.id,
        parse=form.parse,
        grammar=form.make_grammar(),
        max_tokens=60,
    )
    origin = (row, Origin("call", answer.call))
    if (decided := _apply(ruling, question, origin)) is not None:
        return decided
    if answer.value is None:
        return Dropped(question.id, "no_verdict", answer.problem, origin)
    missed = [criterion for criterion, said in zip(CRITERIA, answer.value, strict=True) if said == NO]
    if len(CRITERIA) - len(missed) < params.least:
        return Dropped(question.id, "refused_by_model", f"{'; '.join(missed)}: {question.text}", origin)
    return ConfirmedQuestion(question.id, question.text, BY_MODEL, origin)


def _apply(
    ruling: Ruling, question: CondensedQuestion, origin: tuple[Origin, ...]
) -> ConfirmedQuestion | Dropped | None:
    """Return the question as people confirmed it, or its drop; None if nobody decided."""
    people = ", ".join(ruling.people)
    if ruling.keeps:
        return ConfirmedQuestion(question.id, ruling.text or question.text, people, origin)
    if ruling.state in ("rejected", "split"):
        return Dropped(question.id, ruling.state, f"by {people}: {question.text}", origin)
    return None
