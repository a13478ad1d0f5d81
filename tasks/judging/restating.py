"""What needs no judge although it is a sentence: one that says the question again, with an answer or without.

`The language listed for the film is English.` has nothing that its question does not have, but the answer.
Nothing can hide in such a response: it is right where it adds the true answer, and wrong where it adds
nothing, a part of the list or another number. Any other word, a denial or a choice leaves it to a judge.
"""

from __future__ import annotations

import re

from tasks.judging.equality import QUANTITY, normalise, read_number, take_out, write_numbers

STATED, NOTHING, PART, OTHER_NUMBER = "stated", "nothing", "part", "other number"
LINKING = frozenset([
    "according", "also", "and", "are", "as", "at", "by", "called", "did", "do", "does", "for", "from", "had",
    "has", "have", "in", "is", "it", "its", "listed", "made", "named", "of", "on", "that", "the", "there",
    "these", "they", "this", "those", "to", "was", "were", "which", "who", "with", "yes",
])  # fmt: skip
"""Words of a sentence that answer nothing and deny nothing."""
TURNING = re.compile(
    r"\b(?:not?|none|never|neither|nor|or|but|except|without|unlike|than|instead|rather|unless|if|\w+n['\u2019]t)\b"
)
"""Words by which a sentence may say the opposite, or leave a choice."""
WORD = re.compile(r"\w+(?:[-'\u2019.,]\w+)*")
PLAIN = re.compile(r"[\w\s.,;:!?()&/\"'\u2018\u2019\u201c\u201d-]*")
"""No sign that changes what a number says, as % and $ do."""
ENDING = re.compile(r"e?[sd]?$")
SHORT = 3
POLAR = ("yes", "no", "true", "false")


def find_restatement(answer: str, response: str, question: str) -> str:
    """Name what a response adds to its question.

    stated: the true answer (each part of a list). nothing: nothing at all. part: some of a list.
    other number: one whole number, where another is true. Empty where it adds any other word or sign, denies
    or leaves a choice, and where the question has a part of the answer in it or asks for yes or no.
    """
    given, asked = normalise(response), normalise(question)
    items = sorted(filter(None, map(normalise, answer.split(";"))), key=len, reverse=True)
    if not items or not asked or items[0] in POLAR or TURNING.search(given):
        return ""
    if any(take_out(item, asked) is not None for item in items):
        return ""
    rest, held = given, 0
    for item in items:
        without = take_out(item, rest)
        rest, held = (rest, held) if without is None else (without, held + 1)
    known = _list_words(f"{asked} {write_numbers(asked)}")
    added = [word for word in WORD.findall(rest) if word not in LINKING and _cut(word) not in known]
    if not PLAIN.fullmatch(rest):
        return ""
    if held:
        return "" if added else STATED if held == len(items) else PART
    if any(known & _list_words(item) for item in items):
        return ""
    if not added:
        return NOTHING
    return OTHER_NUMBER if len(added) == 1 and _are_other_numbers(items[0], added[0]) else ""


def _list_words(text: str) -> set[str]:
    return {_cut(word) for word in WORD.findall(text) if word not in LINKING}


def _cut(word: str) -> str:
    """Cut a word's ending, so that `hired` is `hire`; a short one may be a value, as R is beside Red."""
    return ENDING.sub("", word) if len(word) > SHORT else word


def _are_other_numbers(wanted: str, given: str) -> bool:
    """Tell two whole numbers apart that are no short form of each other, as 84 of 1984 and 5 of 5,000,000."""
    here, there = QUANTITY.fullmatch(wanted), QUANTITY.fullmatch(given)
    if here is None or there is None or here[3] or there[3]:
        return False
    values = [str(value) for value in map(read_number, (here, there)) if value is not None]
    short, long = sorted(values, key=len)
    return not (long.startswith(short) or long.endswith(short))
