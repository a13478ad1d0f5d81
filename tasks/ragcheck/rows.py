"""The row types of ragcheck's artifacts."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.systems.contract import Passage

BY_QUESTION, BY_REFERENCE = "E2", "E3"
"""Rules of contexts: what the answer was written from, found by the question, or what question and reference
joined retrieve (section 2)."""
RULES = (BY_QUESTION, BY_REFERENCE)
WORD_RECALL, ROUGE_L, EMBEDDING, BERTSCORE = "word_recall", "rouge_l", "embedding", "bertscore"
MEASURES = (WORD_RECALL, ROUGE_L, EMBEDDING, BERTSCORE)
"""The baseline measures, which see no context."""
COMPOSED, ASKED, FINISHED = "T2", "T5", "T6"
"""The tasks whose texts are checked for words of the reference."""
ANSWERS = (COMPOSED, FINISHED)
TOP_SCORE = 5
NOT_SURE = 0


@dataclass(frozen=True)
class Exchange:
    """An earlier question and answer of a conversation."""

    question: str
    answer: str


@dataclass(frozen=True)
class ReferenceQuestion:
    """A question with its reference answer, which deserves the score 5."""

    id: str
    key: str
    """Its id in the source data."""
    dataset: str
    """The dataset within the set; figures are computed per dataset too."""
    language: str
    question: str
    reference: str
    history: tuple[Exchange, ...]
    origin: tuple[Origin, ...]

    @property
    def conversation(self) -> str:
        """What is drawn as a whole: MT-RAG names the conversation in front of each of its questions' ids."""
        return self.key.partition("<::>")[0]


@dataclass(frozen=True)
class SystemAnswer:
    """A system's answer to a question; `text` is None and `problem` the reason if there is none."""

    id: str
    question: str
    system: str
    version: str
    text: str | None
    problem: str
    passages: tuple[Passage, ...] | None
    """What it was written from, best first; None if the system does not show it."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Context:
    """The passages that a judge is shown with a system's answer by one of `RULES`, best first."""

    id: str
    question: str
    system: str
    rule: str
    passages: tuple[Passage, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class JudgeScore:
    """A judge's score of an answer: 1 to 5, 0 for "not sure", None for a reply without a score."""

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
    """A context-free similarity of answer and reference, 0 to 1 (of embeddings -1 to 1)."""

    id: str
    answer: str
    question: str
    system: str
    measure: str
    value: float | None
    problem: str
    """Why `value` is None."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Rating:
    """A person's rating of an answer by the judge's rubric, 0 ("not sure") to 5, or mapped onto it (E1)."""

    id: str
    answer: str
    rater: str
    rating: float
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% bootstrap interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """(low, high), or None without an interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class MeasureCorrelation:
    """One line of figure 2: a measure's mean and its correlation with people's ratings.

    dataset: empty for all of them. judge: empty for measures without one. n = scored + unsure + failed +
    skipped; the mean is over `scored`. pairs: the number of answers correlated: rated by people and scored
    here, neither of them 0.
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
    """Krippendorff's alpha (ordinal): among the raters on the line of E1, else between judge and people."""
    note: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class RuleDifference:
    """How a judge's grades by rule E3 differ from those by E2, on the same answers: a figure by E3 less E2's.

    figure: `mean`, or the correlation with people, `pearson` or `spearman`. dataset: empty for all of them.
    n: answers with a grade by both rules and, for a correlation, a rating, none of them 0. conversations: how
    many they are from, which are drawn whole. p_value: of a paired bootstrap, two-sided. adjusted: by Holm
    over the judges and figures of a system and dataset.
    """

    id: str
    system: str
    dataset: str
    judge: str
    figure: str
    n: int
    conversations: int
    estimate: Estimate
    p_value: float | None
    adjusted: float | None
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Grade:
    """A judge's feedback and score, 0 to 5; None with a problem if the reply had no score."""

    score: int | None
    feedback: str
    problem: str


@dataclass(frozen=True)
class ConversationTurn:
    """One turn of a conversation.

    query, said: question and system's answer (T1); tentative: composed answer (T2); grade: its grade (T3);
    final: rewritten answer (T6); final_grade: its grade (T7). None for a task that did not run.
    """

    query: str
    said: str
    tentative: str
    grade: Grade | None
    final: str | None
    final_grade: Grade | None

    @property
    def score(self) -> int | None:
        """The turn's score: that of T7 if it ran, else of T3."""
        grade = self.final_grade or self.grade
        return grade.score if grade else None


@dataclass(frozen=True)
class Conversation:
    """A conversation with one system about one question.

    scores: one per turn, empty if it failed; then wscore, lscore and mscore are None.
    """

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
    """The contexts (E3) that the judge was shown."""
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
    """Words that an agent can only have from the reference.

    task: T2 or T6 (in an answer they leak) or T5 (in a question they probe). words: content words of the
    reference that occur in neither the target question nor anything the system had said. flagged: those in a
    question that the judge's feedback did not name either.
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
    """One figure of Part II. kind: `mean`, `difference` (system - other), `sign` or `rate`.

    dataset: empty for all of them. A `sign` counts the datasets whose difference has the same sign as over
    all, and n is the number of datasets; otherwise n counts conversations, pairs of them, or guards.
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
    """The p value adjusted by Holm over the datasets and measures of a pair of systems."""
    origin: tuple[Origin, ...]
