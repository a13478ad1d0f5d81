"""Find the values that an answer must contain: the critical values of the reference's claims.

A claim's critical values are the name of its first group, and the numbers that the claim states about that
group. The values come from the claim's query and rows. If an answer lacks critical values, `limit_verdict`
limits the verdict and lists the missing values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from tasks.judging.amounts import SCALES, list_figures
from tasks.judging.known_values import split_tokens
from tasks.judging.words import LINKING
from tasks.longform.build.items import LongformItem
from tasks.longform.build.statement import Claim
from tasks.longform.labels import CONCLUSIVE, Verdict

MISSING = "missing value"
"""The name of the rule that lowers a verdict, as in `ReferenceVerdict.rule`."""
LONGEST = 20_000
"""Number of characters to search, from the start of an answer."""
ASIDE = re.compile(r"\([^()]*\)")
"""Matches text in parentheses: counts of rows, which an answer does not have to repeat."""
AGAINST = re.compile(r",? against\b")
NEAR = Decimal("0.01")
"""The largest relative difference between a number and its rounded form in an answer."""
SHORT = {"k": 3, "m": 6, "bn": 9, "b": 9, **SCALES}
"""Map a suffix or word after a number, such as `k`, to the exponent of its power of ten."""
INTENT = re.compile(
    r"\b(?:(?:would|we|you|i) (?:also )?(?:need|have|want) to|(?:we|i|you) (?:can|will|would|could|should)\b"
    r"|(?:can|could|would) be (?:calculated|determined|computed|found)|sql quer(?:y|ies)|step-by-step)",
    re.IGNORECASE,
)
"""Matches phrases in an answer that describe how to find the result instead of stating the result."""
GENERIC = frozenset(["average", "mean", "median", "highest", "lowest", "most", "least", "number", "known"])
"""Words that occur in too many claims to identify a measure."""


def find_missing(item: LongformItem, answer: str) -> tuple[str, ...]:
    """List the critical values that an answer lacks, in the order of the claims.

    For an item without claims (from a user's file), the candidates are the reference's numbers that are not
    in the question. If the answer contains a candidate, the result is empty. Otherwise, the result lists all
    candidates.
    """
    text = answer[:LONGEST]
    said = read_numbers(text)
    if item.claims:
        values = [value for claim in item.claims for value in list_critical(claim, item.question)]
        return tuple(dict.fromkeys(value for value in values if not _has(value, text, said)))
    numbers = [figure.text for figure in list_figures(item.reference.casefold())]
    asked = read_numbers(item.question)
    numbers = [number for number in numbers if not is_said(number, asked)]
    return () if any(is_said(number, said) for number in numbers) else tuple(dict.fromkeys(numbers))


def list_critical(claim: Claim, question: str) -> list[str]:
    """List the critical values of a claim: the name of its first group, and that group's numbers.

    Numbers that occur in the question are not critical.
    """
    lead = AGAINST.split(ASIDE.sub(" ", claim.text), maxsplit=1)[0]
    names = sorted(
        (name for name in _list_names(claim) if name in lead), key=lambda name: (lead.index(name), -len(name))
    )
    bare = lead
    for name in names:
        bare = bare.replace(name, " ")
    asked = read_numbers(question)
    numbers = [figure.text for figure in list_figures(bare.casefold()) if not is_said(figure.text, asked)]
    return [*names[:1], *numbers]


def _list_names(claim: Claim) -> list[str]:
    return [cell for row in json.loads(claim.rows) for cell in row if isinstance(cell, str)]


def read_numbers(text: str) -> list[Decimal]:
    """Read the numbers in a text without their signs; for `1.2 million`, return both 1.2 and 1200000."""
    numbers, plain = [], text.casefold()
    for figure in list_figures(plain):
        numbers.append(abs(figure.value))
        # 12 characters contain every key of `SHORT`. Copying the whole rest for every number would be slow.
        unit = re.match(r"\s?([a-z]+)\b", plain[figure.end : figure.end + 12])
        if unit and unit[1] in SHORT:
            numbers.append(abs(figure.value) * 10 ** SHORT[unit[1]])
    return numbers


def is_said(number: str, said: Sequence[Decimal]) -> bool:
    """Return whether a number is in a list of numbers, within a relative difference of 1%."""
    value = abs(Decimal(number.replace(",", "").replace("\u2212", "-")))
    return any(abs(other - value) <= NEAR * value for other in said)


def _has(value: str, text: str, said: Sequence[Decimal]) -> bool:
    """Return whether an answer contains a critical value, which is a number or a name.

    An answer contains a name if it contains all words of the name, any word of the name that has more than
    three letters, or at least the first two of the name's initials as one word.
    """
    if _is_number(value):
        return is_said(value, said)
    words = [token.word for token in split_tokens(value)]
    there = {token.word for token in split_tokens(text)}
    initials = "".join(word[0] for word in words)
    short = any(len(word) > 1 and initials.startswith(word) for word in there)
    return short or any(len(word) > 3 and word in there for word in words) or {*words} <= there


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[\d,]+(?:\.\d+)?", text) is not None


def limit_verdict(item: LongformItem, answer: str, verdict: Verdict) -> tuple[Verdict, tuple[str, ...]]:
    """Lower a verdict that is better than the answer's values justify; return (verdict, missing values).

    - A Match, or a score of 4 or 5, requires all critical values.
    - A score of 3 requires at least half of the critical numbers, and at least one.
    - A score of 2 requires at least one critical number, or an answer that names a claim's measure and does
      not describe how to find the result.

    The scores of interpretive items without claims are not changed.
    """
    missing = find_missing(item, answer)
    if item.kind == CONCLUSIVE:
        return (Verdict.NOT_MATCH if missing else verdict), missing
    if not item.claims or not missing:
        return verdict, missing
    values = {value for claim in item.claims for value in list_critical(claim, item.question)}
    numbers = {value for value in values if _is_number(value)}
    lacking = numbers & {*missing}
    if len(lacking) < len(numbers):
        most = 3 if 2 * len(lacking) <= len(numbers) else 2
    else:
        most = 1 if INTENT.search(answer[:LONGEST]) or not _names_measure(item, answer[:LONGEST]) else 2
    score = verdict.score or 1
    return (verdict if score <= most else Verdict.read(str(most))), missing


def _names_measure(item: LongformItem, answer: str) -> bool:
    """Return whether an answer names the measure of at least one claim."""
    there = {token.word for token in split_tokens(answer)}
    asked = {token.word for token in split_tokens(item.question)}
    return any(
        words <= there for claim in item.claims if (words := {*_list_measure(claim.text)} - asked - GENERIC)
    )


def _list_measure(claim: str) -> Iterable[str]:
    head = re.split(r"\d", claim, maxsplit=1)[0]
    return (token.word for token in split_tokens(head) if token.word not in LINKING)
