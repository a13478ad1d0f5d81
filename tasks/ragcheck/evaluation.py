"""A system asked on questions that somebody brings, judged by Part I and, where it is wished, Part II.

The same functions as the flow's stages, over one system and one judge; people's ratings are not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Dropped
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import Thresholds
from tasks.ragcheck.comparison import comparison
from tasks.ragcheck.correlations import correlations
from tasks.ragcheck.entries import Assessment, Continuity
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.guards import guards
from tasks.ragcheck.judge_report import tell_judge
from tasks.ragcheck.rows import (
    FAILED,
    Answer,
    Baseline,
    Comparison,
    Context,
    Conversation,
    Correlation,
    Estimate,
    Guard,
    Question,
    Score,
)

JUDGE = "judge"
ALL = "all"
"""The name of all datasets together in the figures."""


@dataclass(frozen=True)
class Evaluated:
    """What was said and judged. conversations: None where Part II was not wished for."""

    questions: Sequence[Question]
    answers: Sequence[Answer]
    contexts: Sequence[Context]
    unretrieved: Sequence[Dropped]
    scores: Sequence[Score]
    canaries: Sequence[CanaryRow]
    baselines: Sequence[Baseline]
    conversations: Sequence[Conversation] | None
    guards: Sequence[Guard]


def make_entry(system: str) -> Assessment:
    """Make the entry that `ragcheck.correctness` would have: one system, one judge, and no ratings."""
    return Assessment(systems=(system,), judges=(JUDGE,), ratings=Path(__file__).with_name("unrated.csv"))


def check_conversations(questions: Sequence[Question], talks: Sequence[Conversation]) -> list[Guard]:
    """Check what the agents wrote."""
    return list(guards(list(questions), list(talks)).rows)


def make_figures(
    evaluated: Evaluated, system: str, thresholds: Thresholds, how: Resampling
) -> dict[str, Any]:
    """Compute what an evaluation came to, over all questions and per dataset where there are several."""
    judge = tell_judge(JUDGE, [each.score for each in evaluated.scores], evaluated.canaries, (), thresholds)
    lines = correlations(
        list(evaluated.questions),
        list(evaluated.answers),
        list(evaluated.scores),
        list(evaluated.baselines),
        [],
        make_entry(system),
        how,
    ).rows
    talks = evaluated.conversations
    return {
        "warnings": judge["warnings"],
        "canaries": asdict(judge["canaries"]),
        "counts": count_rows(evaluated),
        "correctness": _nest((each.dataset, each.measure, _tell_measure(each)) for each in lines),
        "continuity": None
        if talks is None
        else _nest(
            (each.dataset, each.measure, _tell_comparison(each))
            for each in comparison(
                list(evaluated.questions),
                list(talks),
                list(evaluated.guards),
                Continuity(systems=(system,), judge=JUDGE),
                how,
            ).rows
        ),
    }


def count_rows(evaluated: Evaluated) -> dict[str, int]:
    """Count what was asked, and what of it is in no mean. failed: the system gave no answer."""
    talks = evaluated.conversations or ()
    return {
        "questions": len(evaluated.questions),
        "failed": sum(each.text is None for each in evaluated.answers),
        "grades": len(evaluated.scores),
        "unscored": sum(each.score is None for each in evaluated.scores),
        "conversations": len(talks),
        "failed_conversations": sum(each.ended == FAILED for each in talks),
    }


def list_failures(evaluated: Evaluated) -> list[str]:
    """Say of each row without an answer, a context or a grade, and of each failed conversation, why."""
    keys = {each.id: each.key for each in evaluated.questions}
    lines = [
        f"question {keys[each.question]}: no answer: {each.problem}"
        for each in evaluated.answers
        if each.text is None
    ]
    if evaluated.unretrieved:
        why = evaluated.unretrieved[0].detail
        lines.append(f"{len(evaluated.unretrieved)} contexts are missing, and their grades: {why}")
    lines += [
        f"question {keys[each.question]}: {each.rule}: unscored: {each.problem}"
        for each in evaluated.scores
        if each.score is None
    ]
    lines += [
        f"canary {each.id}: unscored: {each.problem}" for each in evaluated.canaries if each.given is None
    ]
    return lines + [
        f"question {keys[each.question]}: conversation failed: {each.problem}"
        for each in evaluated.conversations or ()
        if each.ended == FAILED
    ]


def _nest(rows: Any) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for dataset, measure, told in rows:
        nested.setdefault(dataset or ALL, {})[measure] = told
    return nested


def _tell_measure(line: Correlation) -> Mapping[str, Any]:
    counts = ("n", "scored", "unsure", "failed", "skipped")
    return {**_tell(line.mean), **{name: getattr(line, name) for name in counts}, "note": line.note}


def _tell_comparison(line: Comparison) -> Mapping[str, Any]:
    return {**_tell(line.estimate), "n": line.n, "failed": line.failed}


def _tell(estimate: Estimate) -> dict[str, float | None]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
