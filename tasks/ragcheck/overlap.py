"""Word recall and ROUGE-L of an answer against a reference, in any language that has a tokenizer."""

from __future__ import annotations

from functools import lru_cache

from rouge_score import tokenizers
from rouge_score.rouge_scorer import RougeScorer

from tasks.ragcheck.content_words import list_content_words, list_words


def compute_word_recall(reference: str, answer: str, language: str) -> float:
    """Compute the share of the reference's content words that the answer has, 0 to 1 (Breck et al., 2000).

    Distinct stems are compared; for a reference without content words ("what he is"), all words.
    """
    expected = set(list_content_words(reference, language))
    if expected:
        return len(expected & set(list_content_words(answer, language))) / len(expected)
    expected = set(list_words(reference, language))
    return len(expected & set(list_words(answer, language))) / len(expected) if expected else 0.0


def compute_rouge_l(reference: str, answer: str, language: str) -> float:
    """Compute the F measure of the longest common subsequence of words, 0 to 1 (Lin, 2004)."""
    return float(_make_scorer(language).score(reference, answer)["rougeL"].fmeasure)


class _WordTokenizer(tokenizers.Tokenizer):  # type: ignore[misc] # rouge-score is untyped
    def __init__(self, language: str) -> None:
        self.language = language

    def tokenize(self, text: str) -> list[str]:
        return list_words(text, self.language)


@lru_cache(maxsize=16)
def _make_scorer(language: str) -> RougeScorer:
    return RougeScorer(["rougeL"], tokenizer=_WordTokenizer(language))
