"""The rows that pass between the stages of ragcheck."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.systems.contract import Passage

BY_QUESTION, BY_REFERENCE = "E2", "E3"
"""How contexts were retrieved: by the question alone, or by question and reference joined (section 2)."""
RULES = (BY_QUESTION, BY_REFERENCE)
WORD_RECALL, ROUGE_L, EMBEDDING, BERTSCORE = "word_recall", "rouge_l", "embedding", "bertscore"
MEASURES = (WORD_RECALL, ROUGE_L, EMBEDDING, BERTSCORE)
"""The baselines that see no context."""
COMPOSED, ASKED, FINISHED = "T2", "T5", "T6"
"""The tasks whose texts are guarded."""
ANSWERS = (COMPOSED, FINISHED)
TOP_SCORE = 5
NOT_SURE = 0


@dataclass(frozen=True)
class Exchange:
    """What was asked and said before a question."""

    question: str
    answer: str


@dataclass(frozen=True)
class ReferenceQuestion:
    """A question with the answer that is worth 5."""

    id: str
    key: str
    """Its name in the data that it comes from."""
    dataset: str
    """Figures are given for each of them."""
    language: str
    question: str
    reference: str
    history: tuple[Exchange, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class SystemAnswer:
    """What a system said to a question; `text` is None where it gave no answer."""

    id: str
    question: str
    system: str
    version: str
    text: str | None
    problem: str
    passages: tuple[Passage, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Context:
    """What a system retrieves for a question, by one of `RULES`."""

    id: str
    question: str
    system: str
    rule: str
    passages: tuple[Passage, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class JudgeScore:
    """A judge's word on an answer: 1 to 5, 0 for "not sure", None where it gave no score."""

    id: str
    answer: str
    question: str
    system: str
    rule: str
    judge: str
    score: int | None
    feedback: str
    problem: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class BaselineSimilarity:
    """A similarity of answer and reference that sees no context, 0..1 (an embedding's -1..1)."""

    id: str
    answer: str
    question: str
    system: str
    measure: str
    value: float | None
    problem: str
    """Why there is no value."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Rating:
    """A person's word on an answer, by the judge's rubric (E1)."""

    id: str
    answer: str
    rater: str
    rating: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Low and high; None where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class MeasureCorrelation:
    """One line of figure 2: a measure's mean, and its correlation with people.

    dataset: empty for all of them. n = scored + unsure + failed + skipped; the mean is over `scored`.
    pairs: the answers whose correlation it is, rated by people and scored here, neither of them 0.
    """

    id: str
    system: str
    dataset: str
    measure: str
    judge: str
    n: int
    scored: int
    unsure: int
    failed: int
    skipped: int
    mean: Estimate
    pairs: int
    pearson: Estimate
    spearman: Estimate
    alpha: Estimate
    """Krippendorff's alpha, ordinal: of the raters on E1's own line, on a judge's of judge and people."""
    note: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Grade:
    """A judge's score of a composed answer; None where it gave none."""

    score: int | None
    feedback: str
    problem: str


@dataclass(frozen=True)
class ConversationTurn:
    """One turn: T1 asked and said, T2 tentative, T3 its grade, T6 final, T7 its grade."""

    query: str
    said: str
    tentative: str
    grade: Grade | None
    final: str | None
    final_grade: Grade | None

    @property
    def score(self) -> int | None:
        """The turn's one score: T7's where there is one, else T3's."""
        grade = self.final_grade or self.grade
        return grade.score if grade else None


@dataclass(frozen=True)
class Conversation:
    """A conversation with one system about one question. Scores are None where it failed."""

    id: str
    question: str
    system: str
    version: str
    turns: tuple[ConversationTurn, ...]
    ended: str
    """One of `ENDS`."""
    problem: str
    scores: tuple[int, ...]
    wscore: float | None
    lscore: float | None
    mscore: float | None
    passages: tuple[Passage, ...]
    """The contexts that the judge saw: E3's."""
    origin: tuple[Origin, ...]


TOP, STOPPED, REPEATED, LIMIT, FAILED = (
    "top_score",
    "no_question",
    "repeated_question",
    "turn_limit",
    "failed",
)
ENDS = (TOP, STOPPED, REPEATED, LIMIT, FAILED)


@dataclass(frozen=True)
class Guard:
    """Words of the reference alone in what an agent wrote.

    task: T2 or T6 (an answer: they leak) or T5 (a question: they probe). words: content words of the
    reference in neither the target question nor anything said so far. flagged: of a question's, those
    that stand not in the review either.
    """

    id: str
    conversation: str
    question: str
    system: str
    turn: int
    task: str
    words: tuple[str, ...]
    flagged: tuple[str, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class ConversationFigure:
    """One figure of the conversations. kind: `mean` of a system, `difference` system - other, `sign`.

    dataset: empty for all. value of a `sign`: in how many datasets the difference has the sign that it has
    over all; `n` is then the number of datasets, else of conversations (pairs of them).
    """

    id: str
    kind: str
    dataset: str
    system: str
    other: str
    measure: str
    n: int
    failed: int
    estimate: Estimate
    p_value: float | None
    adjusted: float | None
    """By Holm, over the datasets and measures of a pair of systems."""
    origin: tuple[Origin, ...]
