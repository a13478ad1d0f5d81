"""A system asked on questions that somebody brings, and GRAMMAR-Eval's figures of it (section 4.3).

The same functions as an assessment's stages; only the sets, templates and baselines of a dataset of ours are
not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tasks.grammar.assess.answers import make_answer
from tasks.grammar.assess.assessment import join_rows, round_figures
from tasks.grammar.assess.judged import Judged
from tasks.grammar.assess.set_figures import attribute_wrong, contrast_set, count_gaps, rate_set
from tasks.grammar.assessment_rows import AskedQuestion, Judgement, SystemAnswer
from tasks.judging.canaries import CanaryRow, measure_health
from tasks.judging.trust import Thresholds, find_warnings
from tasks.models.ask import Ask
from tasks.scoring.running import Bootstrap
from tasks.systems.build import build_system
from tasks.systems.contract import Document
from tasks.systems.entries import SystemEntry

MOST_CRITERIA = 12
"""Above it they are no kinds of wording: figures are made of all rows alone."""


@dataclass(frozen=True)
class Evaluated:
    """What was said and judged."""

    questions: Sequence[AskedQuestion]
    answers: Sequence[SystemAnswer]
    judgements: Sequence[Judgement]
    canaries: Sequence[CanaryRow]


async def ask_system(
    questions: Sequence[AskedQuestion],
    documents: Sequence[Document],
    key: str,
    name: str,
    entry: SystemEntry,
    ask: Ask,
) -> list[SystemAnswer]:
    """Put every question to a system. key: the evaluation's, which the answers' ids are made of."""
    built = build_system(name, entry, documents, ask)
    responses = await asyncio.gather(*(built.answer(each.question, row=each.id) for each in questions))
    return [make_answer(key, each, response) for each, response in zip(questions, responses, strict=True)]


def make_figures(
    evaluated: Evaluated,
    preferred: Sequence[str],
    thresholds: Thresholds,
    intervals: Bootstrap,
) -> dict[str, Any]:
    """Compute what an evaluation came to; rates with 95% intervals by a bootstrap over groups.

    preferred: the order of two criteria, A against B, where the dataset's are these.
    """
    rows = join_rows(evaluated.judgements, evaluated.answers, evaluated.questions)
    named = list_criteria(rows, preferred)
    criteria = named if len(named) <= MOST_CRITERIA else ()
    health = measure_health(evaluated.canaries)
    unscored = sum(each.judgement is None for each in rows)
    figures: dict[str, Any] = {
        "warnings": find_warnings(thresholds, n=len(rows), n_unscored=unscored, canaries=health),
        "canaries": asdict(health),
        "counts": count_rows(evaluated, rows),
        "criteria": criteria,
        "rates": rate_set(rows, criteria, intervals),
        "gaps": count_gaps(rows, criteria),
        "attribution": attribute_wrong(rows, criteria),
        "hypothesis": contrast_set(rows, (criteria[0], criteria[1]), intervals)
        if len(criteria) == 2
        else None,
    }
    if not figures["counts"]["grounded"]:
        # Without true and retrieved documents closed mode would be open mode once more.
        for section in ("rates", "gaps", "attribution", "hypothesis"):
            figures[section] = figures[section] and {
                mode: each for mode, each in figures[section].items() if mode != "closed"
            }
    rounded: dict[str, Any] = round_figures(figures)
    return rounded


def list_criteria(rows: Sequence[Judged], preferred: Sequence[str]) -> tuple[str, ...]:
    """Name the criteria that a dataset has, none where it names none."""
    found = sorted({each.criterion for each in rows} - {""})
    return tuple(preferred) if sorted(preferred) == found else tuple(found)


def count_rows(evaluated: Evaluated, rows: Sequence[Judged]) -> dict[str, int]:
    """Count what was asked, and what of it is in no rate. failed: the system gave no answer.

    grounded: true and retrieved documents are both known; on the other rows closed mode is open mode.
    """
    failed = sum(each.response is None for each in evaluated.answers)
    scored = sum(each.judgement is not None for each in rows)
    return {
        "rows": len(rows),
        "groups": len({each.group for each in rows}),
        "scored": scored,
        "failed": failed,
        "unscored": len(rows) - scored - failed,
        "grounded": sum(None not in (each.true, each.retrieved) for each in rows),
    }


def list_failures(evaluated: Evaluated) -> list[str]:
    """Say of each row without an answer or a verdict, and of each canary without one, why."""
    failed = {each.id for each in evaluated.answers if each.response is None}
    lines = [
        f"question {each.question}: {'' if each.id in failed else 'unscored: '}{each.problem}"
        for each in evaluated.judgements
        if each.judgement is None
    ]
    unread = [each for each in evaluated.canaries if each.given is None]
    return lines + [f"canary {each.id}: unscored: {each.problem}" for each in unread]
