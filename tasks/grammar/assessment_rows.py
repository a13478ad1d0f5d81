"""The row types of the assessment's artifacts, from question to judgement."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.systems.contract import Passage

FAITHFULNESS, CONSISTENCY = "claim_faithfulness", "self_consistency"
"""The reference-free methods."""


@dataclass(frozen=True)
class AskedQuestion:
    """A sampled question that systems are asked, with the sets that it belongs to."""

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
    """Ids of the documents about the rows that the answer comes from; None if unknown."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class AssessedAnswer:
    """A system's answer to a question. response: None if it gave none; then `problem` says why."""

    id: str
    question: str
    """The question's id."""
    group: str
    criterion: str
    response: str | None
    retrieved_document_ids: tuple[str, ...] | None
    """Distinct, best first; None if the system does not report what it retrieved."""
    passages: tuple[Passage, ...] | None
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Judgement:
    """The verdict on an answer. Its id is the answer's.

    judgement: Correct, Incorrect, or None if unscored; then `problem` says why. rule: the rule that
    decided (see `tasks/judging/rules.py`); empty if the judge did. verdicts: the judge's parsed ones,
    one for each time that it was asked.
    """

    id: str
    question: str
    group: str
    criterion: str
    judgement: str | None
    rule: str
    verdicts: tuple[str, ...]
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class AnswerLabel:
    """A human label of an answer: Correct or Incorrect. rater: empty if the file names none."""

    id: str
    answer: str
    """The answer's id."""
    rater: str
    label: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class BaselineVerdict:
    """A reference-free method's verdict on an answer.

    verdict: correct, incorrect, or None if unscored; then `problem` says why. share: of supported claims, or
    of samples that agree, 0 to 1. parts: the claims or samples with their verdicts.
    """

    id: str
    answer: str
    """The answer's id."""
    question: str
    group: str
    method: str
    verdict: str | None
    share: float | None
    parts: tuple[BaselinePart, ...]
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class BaselinePart:
    """A claim, or a sampled response. holds: yes, no, null, or unparsed.

    rule: the rule of equality by which a sample is the answer; empty where the judge was asked.
    """

    text: str
    holds: str
    rule: str = ""


@dataclass(frozen=True)
class ClosedDomain:
    """A group in one assessment. Its id is the group's. scored, correct: numbers of its questions.

    closed_domain: whether none is correct, so that a model alone does not know it; None if none is scored.
    wording: in which a model alone was asked; empty for a system that retrieves, or may.
    """

    id: str
    scored: int
    correct: int
    closed_domain: bool | None
    wording: str
    origin: tuple[Origin, ...]
