"""Stage: compute similarities between answers and references, without contexts (section 2).

The measures are word recall, ROUGE-L, the cosine similarity of embeddings, and BERTScore.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.models.ask import Embed
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.content_words import find_content_words, list_words
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.questions import ReferenceQuestion

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

WORD_RECALL, ROUGE_L, EMBEDDING, BERTSCORE = "word_recall", "rouge_l", "embedding", "bertscore"
MEASURES = (WORD_RECALL, ROUGE_L, EMBEDDING, BERTSCORE)
"""Names of the baseline measures."""
DIGITS = 6
"""Number of decimal places of recorded values."""

Pair = tuple[ReferenceQuestion, SystemAnswer]
Values = Sequence[float | None]


@dataclass(frozen=True)
class BaselineSimilarity:
    """Row of the stage `baselines`: the similarity between an answer and its reference.

    The similarity is between 0 and 1, or between -1 and 1 for the measure `embedding`.
    """

    id: str
    answer: str
    question: str
    system: str
    measure: str
    value: float | None
    problem: str
    """The reason why `value` is None; otherwise empty."""
    origin: tuple[Origin, ...]


async def baselines(
    questions: list[ReferenceQuestion], answers: list[SystemAnswer], entry: Assessment, ask: Embed
) -> Drafts[BaselineSimilarity]:
    """Compare every answer with its reference by every measure; record the reason for a missing value."""
    question_of = {question.id: question for question in questions}
    pairs = [
        (question_of[answer.question], answer)
        for answer in answers
        if answer.text is not None and answer.question in question_of
    ]
    rows = _measure(WORD_RECALL, pairs, _compare_texts(compute_word_recall, pairs))
    rows += _measure(ROUGE_L, pairs, _compare_texts(compute_rouge_l, pairs))
    if entry.embedder is None:
        rows += _skip(EMBEDDING, pairs, "the parameters name no embedder")
    else:
        rows += _measure(EMBEDDING, pairs, await compare_embeddings(pairs, entry.embedder, ask))
    if entry.bertscore is None:
        rows += _skip(BERTSCORE, pairs, "the parameters name no model")
    elif importlib.util.find_spec("bert_score") is None:
        rows += _skip(BERTSCORE, pairs, "the package bert-score is not installed")
    else:
        rows += _measure(BERTSCORE, pairs, compute_bertscore(pairs, entry.bertscore))
    return Drafts(rows)


def compute_word_recall(reference: str, answer: str, language: str) -> float:
    """Compute the fraction of the reference's content words that occur in the answer (Breck et al., 2000).

    The result is between 0 and 1. Distinct stems are compared. If the reference has no content words ("what
    he is"), all words are compared, without stemming.
    """
    expected = set(find_content_words(reference, language))
    if expected:
        return len(expected & set(find_content_words(answer, language))) / len(expected)
    expected = set(list_words(reference, language))
    return len(expected & set(list_words(answer, language))) / len(expected) if expected else 0.0


def compute_rouge_l(reference: str, answer: str, language: str) -> float:
    """Compute the F measure of the longest common subsequence of words, 0 to 1 (Lin, 2004).

    If `is_plain` is true for both texts, the package rouge-score splits them into words, so that figures
    match published figures. Otherwise, for example for text without spaces, `list_words` splits both texts.
    """
    standard = all(is_plain(text, language) for text in (reference, answer))
    scorer = _make_scorer("" if standard else language)
    return float(scorer.score(reference, answer)["rougeL"].fmeasure)


def is_plain(text: str, language: str) -> bool:
    """Return whether rouge-score splits a text into words correctly for its language.

    rouge-score drops every character that is not an ASCII letter or digit. English text in Latin script is
    accepted, because it loses only accented letters.
    """
    letters = [character for character in text if character.isalnum() and not character.isascii()]
    return not letters or (
        language == "en"
        and all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters if letter.isalpha())
    )


@dataclass(frozen=True)
class _WordTokenizer:
    language: str

    def tokenize(self, text: str) -> list[str]:
        return list_words(text, self.language)


@lru_cache(maxsize=16)
def _make_scorer(language: str) -> RougeScorer:
    """Make a ROUGE-L scorer for a language; an empty language selects the package's own tokenizer."""
    # rouge-score imports nltk, which takes 2 s. Code that only reads this artifact does not need nltk.
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_WordTokenizer(language) if language else None)


async def compare_embeddings(pairs: Sequence[Pair], role: str, ask: Embed) -> list[float | None]:
    """Compute the cosine similarity of each pair's embeddings, -1 to 1; None if a vector is zero.

    role: the role of the embedding model. Raises ModelFailed, BudgetSpent, CallMissing.
    """
    vectors = await asyncio.gather(
        *(
            ask.embed([answer.text or "", question.reference], role=role, row=answer.id)
            for question, answer in pairs
        )
    )
    return [compute_cosine(*pair) for pair in vectors]


def compute_cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Compute the cosine similarity of two vectors of equal dimension; None if a vector is zero."""
    norms = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / norms if norms else None


def compute_bertscore(pairs: Sequence[Pair], model: str) -> list[float | None]:
    """Compute each pair's BERTScore F1 with the package bert-score, which downloads the model if needed."""
    import bert_score  # type: ignore[import-not-found] # an optional package, see Assessment.bertscore

    texts = [answer.text or "" for _, answer in pairs]
    _, _, f1 = bert_score.score(texts, [question.reference for question, _ in pairs], model_type=model)
    return [float(value) for value in f1]


def _compare_texts(compare: Callable[[str, str, str], float], pairs: Sequence[Pair]) -> list[float | None]:
    return [compare(question.reference, answer.text or "", question.language) for question, answer in pairs]


def _measure(measure: str, pairs: Sequence[Pair], values: Values) -> list[BaselineSimilarity]:
    return [
        _make_row(measure, answer, value, "" if value is not None else "nothing to compare")
        for (_, answer), value in zip(pairs, values, strict=True)
    ]


def _skip(measure: str, pairs: Sequence[Pair], reason: str) -> list[BaselineSimilarity]:
    return [_make_row(measure, answer, None, reason) for _, answer in pairs]


def _make_row(measure: str, answer: SystemAnswer, value: float | None, problem: str) -> BaselineSimilarity:
    return BaselineSimilarity(
        id=make_id(answer.id, measure),
        answer=answer.id,
        question=answer.question,
        system=answer.system,
        measure=measure,
        value=None if value is None else round(value, DIGITS),
        problem=problem,
        origin=(Origin("row", f"answers#{answer.id}"), Origin("row", f"questions#{answer.question}")),
    )
