"""Which rule decides whether a response is right; where none does, a judge is asked.

A sentence that says the question again, with an answer or without, needs no judge either. `The language
listed for the film is English.` has nothing that its question does not have, but the answer. Nothing can hide
in such a response: it is right where it adds the true answer, and wrong where it adds nothing, a part of the
list or another number. Any other word, a denial or a choice leaves it to a judge.
"""

from __future__ import annotations

import re

from tasks.judging.equality import (
    QUANTITY,
    find_equality,
    is_empty,
    normalise,
    read_number,
    take_out,
    write_numbers,
)
from tasks.scoring.correctness import Correctness

EMPTY, ABSTAINS = "empty", "abstains"
STATED, NOTHING, PART, OTHER_NUMBER = "stated", "nothing", "part", "other number"
NO_ANSWER = (EMPTY, ABSTAINS, NOTHING)
WRONG = (*NO_ANSWER, PART, OTHER_NUMBER)
LONGEST = 40
"""In words: what goes on for longer says something beside."""
ABSTENTION = re.compile(
    r"\b(?:(?:i|we) (?:(?:do|did) not|don't|didn't) (?:know|have|find)|(?:i|we) (?:am|are) not sure"
    r"|(?:i|we) (?:cannot|can't|can not|could not|am unable to|are unable to) (?:answer|say|tell|find)"
    r"|(?:is|are) not (?:known|given|stated|mentioned|provided|specified) (?:in|by)"
    r"|(?:documents?|contexts?|passages?|sources?|texts?) (?:do|does) not (?:say|mention|contain|state|tell)"
    r"|(?:there is )?no (?:information|answer) (?:about|on|is|was|in|to))",
    re.IGNORECASE,
)
ALONE = re.compile(
    r"(?:sorry,? (?:but )?)?(?:i|we) (?:do not|don't|did not|didn't) know(?: (?:that|this|the answer))?"
)
"""All of a response that answers nothing, in lower case."""
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


def is_abstention(response: str) -> bool:
    """Tell whether a response is no answer but says that there is none; an empty one is no answer either."""
    words = response.replace("\u2019", "'").split()
    return not words or (len(words) <= LONGEST and ABSTENTION.search(" ".join(words)) is not None)


def says_nothing_else(response: str) -> bool:
    """Tell whether a normalised response is an abstention and not a word beside it."""
    return ALONE.fullmatch(response.replace("\u2019", "'")) is not None


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


def find_rule(answer: str, response: str, question: str) -> str:
    """Name the rule that decides: `empty`, `abstains`, one of equality or of restating; or an empty text."""
    if is_empty(response):
        return EMPTY
    if equal := find_equality(answer, response, question):
        return equal
    if says_nothing_else(normalise(response)):
        return ABSTAINS
    return find_restatement(answer, response, question)


def label_by_rule(rule: str) -> Correctness | None:
    """Return the verdict of a rule that decides, as `find_rule` names it; None where none does."""
    if not rule:
        return None
    return Correctness.INCORRECT if rule in WRONG else Correctness.CORRECT
