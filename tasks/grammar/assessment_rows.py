"""The rows that the assessment's stages pass on, from question to judgement."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.systems.contract import Passage


@dataclass(frozen=True)
class AskedQuestion:
    """A question of the sample that systems are asked, and the sets that it is of."""

    id: str
    group: str
    criterion: str
    question: str
    answer: str
    sql_template: str
    text_template: str
    in_balanced: bool
    in_unbalanced: bool
    true_document_ids: tuple[str, ...] | None
    """The documents made of the rows that the answer comes from; None where they are not known."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class SystemAnswer:
    """What a system said to a question. response: None where it gave no answer; then `problem` says why."""

    id: str
    question: str
    """The question's id."""
    group: str
    criterion: str
    response: str | None
    retrieved_document_ids: tuple[str, ...] | None
    """Each once, best first; None where the system does not show what it retrieved."""
    passages: tuple[Passage, ...] | None
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Judgement:
    """The judge's word on an answer. Its id is the answer's.

    judgement: Correct, Incorrect, or None where it is unscored; then `problem` says why. verdicts: one for
    each time that the judge was asked, empty where it gave none.
    """

    id: str
    question: str
    group: str
    criterion: str
    judgement: str | None
    verdicts: tuple[str, ...]
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class AnswerLabel:
    """A person's word on an answer: Correct or Incorrect. rater: empty where the file names none."""

    id: str
    answer: str
    """The answer's id."""
    rater: str
    label: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Baseline:
    """What a reference-free method says of an answer, beside its judgement.

    verdict: correct, incorrect, or None where it is unscored. share: of claims supported, or of samples that
    agree. parts: the claims or samples, with what was found of each (yes, no, or null).
    """

    id: str
    answer: str
    """The answer's id."""
    question: str
    group: str
    method: str
    verdict: str | None
    share: float | None
    parts: tuple[Part, ...]
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Part:
    """A claim or a sample. holds: yes, no, or null."""

    text: str
    holds: str


@dataclass(frozen=True)
class ClosedDomain:
    """A group in a run: how many of its questions were scored, how many right.

    closed_domain: none right, so that a model alone does not know it; None where nothing was scored.
    """

    id: str
    scored: int
    correct: int
    closed_domain: bool | None
    origin: tuple[Origin, ...]
