"""Rows of judging: verdicts on answers and steps, of models and of people."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

STEPS = ("IP", "TE", "IS")
"""The steps of an interaction (section 3): interaction planning, tool employment, information synthesis."""
ANSWER = "match"
"""What is judged beside the steps: the answer, held against the reference."""
PERFECT, IMPERFECT = "Perfect", "Imperfect"
MATCH, NOT_MATCH = "Match", "Not Match"
AGAIN, SWAPPED = "again", "swapped"
"""How a verdict is asked for once more."""


@dataclass(frozen=True)
class ReferenceVerdict:
    """Stage reference_verdicts: an answer held against the reference answer."""

    id: str
    interaction: str
    item: str
    kind: str
    label: str | None
    """Of a conclusive item: `Match` or `Not Match`; None without an answer, or without a verdict."""
    score: int | None
    """Of an interpretive item: 1 to 5."""
    reason: str
    problem: str
    origin: tuple[Origin, ...]

    @property
    def verdict(self) -> str | None:
        """The label, or the score as text; None if there is neither."""
        return self.label if self.score is None else str(self.score)


@dataclass(frozen=True)
class Review:
    """Stages reviews, meta_reviews and revisions: one reviewer's word on one step of an interaction."""

    id: str
    interaction: str
    item: str
    step: str
    """`IP`, `TE` or `IS`"""
    reviewer: int
    """0, 1, ..."""
    verdict: str | None
    """`Perfect` or `Imperfect`; None if the reply had no verdict."""
    rationale: str
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class JudgeRepeat:
    """Stage judge_repeats: a verdict that was asked for once more."""

    id: str
    interaction: str
    item: str
    part: str
    """`match` for the answer against the reference; `IP`, `TE` or `IS`"""
    way: str
    """`again`: the same texts with another seed; `swapped`: what is compared in the other order"""
    before: str | None
    """The verdict that the evaluation counts, a score as text; None if that has none."""
    verdict: str | None
    """Of this time; None if the reply had none, or nobody was asked."""
    problem: str
    """Why there is no verdict; it begins with `not asked` where the request would be the same."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class ErrorLabel:
    """Stage error_types: which error of section 4.5 an imperfect step has."""

    id: str
    interaction: str
    item: str
    step: str
    label: str | None
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class PersonLabel:
    """Stage human_labels: one person's verdict on an answer, or on one step of an interaction."""

    id: str
    interaction: str
    item: str
    part: str
    """`match` for the answer against the reference; `IP`, `TE` or `IS`"""
    rater: str
    """Empty if the file names none."""
    label: str
    """As the judge's: `Match` or `Not Match`, `1` to `5`; `Perfect` or `Imperfect` of a step."""
    origin: tuple[Origin, ...]
