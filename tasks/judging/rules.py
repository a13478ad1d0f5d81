"""Choose the rule that decides whether a response is correct; if no rule applies, a judge decides.

A response that only repeats the question, with or without an answer, needs no judge. For example, the
response `The language listed for the film is English.` repeats the question and adds only the answer. A
response that repeats the question is right if it adds the reference answer, and wrong if it adds nothing or
only a part of a list. If a response has other words, a denial or a choice of answers, the rules for values
decide.
"""

from __future__ import annotations

import re

from tasks.judging.amounts import ONE, TEXT, find_amount, guess_kind
from tasks.judging.equality import find_equality, is_empty, normalise, take_out, write_numbers
from tasks.judging.findings import ABSTAINS, EMPTY, NOTHING, OTHER_VALUE, PART, STATED, RuleFinding
from tasks.judging.known_values import KnownColumn, find_value
from tasks.judging.words import LINKING, POLAR, TURNING, WORD, cut_ending, list_words

LONGEST = 40
"""Maximum number of words in an abstention; a longer response also has other content."""
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
"""Matches a response, in lower case, that only states that it has no answer."""
PLAIN = re.compile(r"[\w\s.,;:!?()&/\"'\u2018\u2019\u201c\u201d-]*")
"""Matches a text without signs that change the meaning of a number, such as % and $."""


def is_abstention(response: str) -> bool:
    """Return whether a response states that it has no answer, or is empty."""
    words = response.replace("\u2019", "'").split()
    return not words or (len(words) <= LONGEST and ABSTENTION.search(" ".join(words)) is not None)


def says_nothing_else(response: str) -> bool:
    """Return whether a normalised response is an abstention without any other words."""
    return ALONE.fullmatch(response.replace("\u2019", "'")) is not None


def find_restatement(answer: str, response: str, question: str) -> str:
    """Return the rule that applies to the words that a response adds to its question.

    - `stated`: the response adds the reference answer (all items of a list).
    - `nothing`: the response adds no words.
    - `part`: the response adds some items of a list.

    Returns an empty string if the response adds any other word or sign, a denial, or a choice of answers. The
    result is also empty if the question contains a part of the answer, or is a yes-or-no question.
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
    known = list_words(f"{asked} {write_numbers(asked)}")
    added = [word for word in WORD.findall(rest) if word not in LINKING and cut_ending(word) not in known]
    if added or not PLAIN.fullmatch(rest):
        return ""
    if held:
        return STATED if held == len(items) else PART
    if any(known & list_words(item) for item in items) or (items[0] == "1" and ONE.search(given)):
        return ""
    return NOTHING


def find_rule(answer: str, response: str, question: str, column: KnownColumn | None = None) -> RuleFinding:
    """Return the deciding rule and the value that it found; both are empty if a judge must decide.

    column: the database column of the answer. Without a column, numbers, dates and times are recognised by
    the form of the answer.
    """
    if is_empty(response):
        return RuleFinding(EMPTY)
    if equal := find_equality(answer, response, question):
        return RuleFinding(equal, response.strip())
    if says_nothing_else(normalise(response)):
        return RuleFinding(ABSTAINS)
    if column is not None and column.kind == TEXT:
        valued = find_value(answer, response, question, column)
    else:
        kind = column.kind if column else guess_kind(answer)
        valued = find_amount(kind, answer, response, f"{question} {column.words if column else ''}")
    if valued.rule == OTHER_VALUE:
        return valued
    restated = find_restatement(answer, response, question)
    return RuleFinding(restated, answer if restated == STATED else "") if restated else valued
