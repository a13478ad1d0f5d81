"""Compute exact match and F1 of a response against the accepted answers, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tasks.judging.equality import QUANTITY, are_same_number
from tasks.judging.equality import normalise as fold
from tasks.qa.accepted_answers import NO, YES, AcceptedAnswer, AnswerKind
from tasks.scoring.hotpotqa import compute_f1, compute_official_f1, normalise


class RuleScore(NamedTuple):
    """The scores of one response, each 0 to 1. em: exact match."""

    em: float
    f1: float


def score_answer(accepted: Sequence[AcceptedAnswer], response: str, question: str) -> RuleScore:
    """Score a response against the accepted answers: the best exact match and the best F1.

    A text is scored with the normalisation and F1 of HotpotQA's official script. A number is compared by
    value; the response may add a unit that the question or the accepted answer names. For a boolean, `yes`
    equals `true`, and `no` equals `false`.
    """
    scores = [score_by(answer, response, question) for answer in accepted]
    return RuleScore(max(score.em for score in scores), max(score.f1 for score in scores))


def score_by(answer: AcceptedAnswer, response: str, question: str) -> RuleScore:
    """Score a response against one accepted answer."""
    if answer.kind is AnswerKind.BOOLEAN:
        words = YES if answer.text.lower() in YES else NO
        equal = float(normalise(response) in words)
        return RuleScore(equal, equal)
    if answer.kind is AnswerKind.NUMBER:
        return score_number(answer.text, response, question)
    gold, given = normalise(answer.text), normalise(response)
    if not gold:
        # Normalisation removed the whole answer, such as an article or symbols: `A` in a multiple-choice
        # question.
        equal = float(fold_case(answer.text) == fold_case(response))
        return RuleScore(equal, equal)
    return RuleScore(float(gold == given), compute_official_f1(gold, given))


def score_number(answer: str, response: str, question: str) -> RuleScore:
    """Score a response against a number.

    em compares the values. f1 also credits a longer response that contains the value as one word. Numbers are
    not normalised as text, because 1.5 would become 15.
    """
    wanted, asked = fold(answer), fold(question)
    if are_same_number(wanted, fold(response), asked):
        return RuleScore(1.0, 1.0)
    words = [word for word in response.split() if normalise(word)]
    hit = any(QUANTITY.fullmatch(fold(word)) and are_same_number(wanted, fold(word), asked) for word in words)
    return RuleScore(0.0, compute_f1(int(hit), len(words), 1))


def fold_case(text: str) -> str:
    """Fold case, and collapse white space."""
    return " ".join(text.casefold().split())
