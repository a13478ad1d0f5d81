"""Stage: conjecture the answer to each question ("conjecture" in section 2.2 of the paper).

The question's database is built later, to support the conjecture.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id, split_outcomes
from tasks.longform.build.analyses.outcomes import UNKNOWN, is_analysis
from tasks.longform.build.answers import list_heads
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import NO, YES
from tasks.longform.build.findings.answers import list_figure_choices
from tasks.longform.build.findings.rows import can_be_silent
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.build.words import describe_tables
from tasks.longform.entries import LongformSet
from tasks.models.ask import Ask, Unparsed
from tasks.settings import Settings

NOT_TOLD = "Unknown: the records do not tell."


@dataclass(frozen=True)
class Conjecture:
    """Row of the stage `conjecture`: the conjectured answer. The row has its question's id."""

    id: str
    text: str
    expected: tuple[str, ...]
    """The expected outcome of each figure.

    For a share, the expected outcome is `yes` if the share is more than half, otherwise `no`. For an
    analysis, the expected outcome is one of `outcomes.list_choices`, or `unknown` if the rows must not answer
    the question. For any other figure, such as a mean, the expected outcome is the group with the highest
    value.
    """
    origin: tuple[Origin, ...]


class ConjectureSettings(Settings):
    """The settings in params.yaml under `longform.conjecture`."""

    unknown: float = Field(default=0, ge=0, le=1)
    """The share of questions with the answer `unknown`.

    Only definite questions that are written with `longform.control.plans: questions` are sampled.
    """


async def conjecture(
    confirm: list[ConfirmedQuestion],
    control: list[ControlledQuestion],
    sources: Path,
    entry: LongformSet,
    params: ConjectureSettings,
    ask: Ask,
) -> Drafts[Conjecture]:
    """Have a model guess an answer to every question, and the outcome of each figure.

    Drop reason: `no_conjecture`.
    """
    known = SourceArtifacts(sources)
    asked = {question.id: question for question in control}
    unknown = draw_unknown([asked[question.id] for question in confirm], known, entry.seed, params.unknown)

    async def guess(question: ConfirmedQuestion) -> Conjecture | Dropped:
        if question.id in unknown:
            origin = (Origin("row", f"confirm#{question.id}"),)
            count = len(asked[question.id].figures)
            return Conjecture(question.id, NOT_TOLD, (UNKNOWN,) * count, origin)
        return await _guess(question, asked[question.id], known, ask)

    return split_outcomes(await asyncio.gather(*map(guess, confirm)))


def draw_unknown(
    questions: Sequence[ControlledQuestion], known: SourceArtifacts, seed: int, share: float
) -> Collection[str]:
    """Sample the ids of questions that the rows must leave unanswered.

    `share`: the share of unanswered questions among all questions. The sample may be smaller, because only
    definite analyses that `can_be_silent` accepts qualify.
    """
    if not share:
        return frozenset()
    definite = [
        question.id
        for question in questions
        if is_analysis(question.design)
        and question.quality is None
        and can_be_silent(question, known.list_columns(question.database, question.focus))
    ]
    drawn = sorted(definite, key=lambda name: make_id("unknown", seed, name))
    return frozenset(drawn[: round(share * len(questions))])


def list_choices(question: ControlledQuestion) -> list[tuple[str, ...]]:
    """List the possible outcomes for each line of the conjecture, such as the groups, or yes and no."""
    if is_analysis(question.design):
        return [list_figure_choices(question, figure) for figure in question.figures]
    return [(YES, NO) if figure.kind == "share" else question.groups for figure in question.figures]


async def _guess(
    question: ConfirmedQuestion, controlled: ControlledQuestion, known: SourceArtifacts, ask: Ask
) -> Conjecture | Dropped:
    heads, choices = list_heads(controlled), list_choices(controlled)

    def parse(text: str) -> tuple[str, tuple[str, ...]]:
        lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
        if len(lines) < len(heads):
            raise Unparsed(f"it has {len(lines)} lines; expected {len(heads)}")
        pairs = zip(lines[-len(heads) :], heads, choices, strict=True)
        expected = [_read_choice(line, head, options) for line, head, options in pairs]
        said = " ".join(lines[: -len(heads)])
        stated = "; ".join(f"{head}: {value}" for head, value in zip(heads, expected, strict=True))
        return said or f"{stated}.", tuple(expected)

    rules = [
        f"{json.dumps(f'{head}: ', ensure_ascii=False)} "
        f"({' | '.join(json.dumps(option, ensure_ascii=False) for option in options)})"
        for head, options in zip(heads, choices, strict=True)
    ]
    answer = await ask(
        "conjecture",
        {
            "tables": describe_tables(known.list_columns(controlled.database, controlled.focus)),
            "question": question.text,
            "lines": [
                f"{head}: {' or '.join(options)}" for head, options in zip(heads, choices, strict=True)
            ],
        },
        role="generator",
        row=question.id,
        parse=parse,
        grammar="root ::= " + ' "\\n" '.join(rules),
        max_tokens=200,
    )
    origin = (Origin("row", f"confirm#{question.id}"), Origin("call", answer.call))
    if answer.value is None:
        return Dropped(question.id, "no_conjecture", f"{answer.problem}: {answer.text[:200]}", origin)
    return Conjecture(question.id, *answer.value, origin)


def _read_choice(line: str, head: str, options: Sequence[str]) -> str:
    named = line.removeprefix(f"{head}:").strip(" .*").casefold()
    found = [option for option in options if option.strip(" .*").casefold() == named]
    if not line.startswith(f"{head}:") or not found:
        raise Unparsed(f"the line `{head}:` must end with {' or '.join(options)}")
    return found[0]
