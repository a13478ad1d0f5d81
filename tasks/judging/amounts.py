"""Decide by rules whether a response states the expected number, date or time of day.

The rules call a response wrong only if none of its values could be the answer. A value could be the answer if
it has another unit, precision or scale, or if it is a part of a date. A judge decides on the responses that
no rule decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tasks.judging.equality import MONTHS, find_dates, normalise, read_date, write_numbers
from tasks.judging.findings import HOLDS, NO_VALUE, OTHER_VALUE, UNDECIDED, RuleFinding
from tasks.judging.words import (
    HEDGING,
    LINKING,
    LONGEST,
    RELATIVE,
    TURNING,
    WORD,
    cut_ending,
    list_words,
)

NUMBER, DATE, TIME, TEXT, OTHER = "number", "date", "time", "text", "other"
"""Names of the kinds of answers."""
PLAIN_NUMBER = re.compile(r"[-\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
PLAIN_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?")
CODE = re.compile(r"(?<![\w-])[a-z][\w-]*\d[\w-]*")
"""Matches a name that contains digits, such as A320; these digits are not an amount."""
FIGURE = re.compile(r"([-+\u2212]?)(\d{1,3}(?:,\d{3})+(?!\d)|\d+)(\.\d+)?")
CLOCK = re.compile(r"(?<![\d:.])(\d{1,2})[:.h](\d{2})(?::\d{2})?(?:\s?([ap])\.?m\b\.?)?(?![\d:])")
NUMERIC_DATE = re.compile(r"(?<![\d/.-])\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?![\d/.-])")
SCALES = {
    "hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "hundreds": 2, "thousands": 3,
    "millions": 6, "billions": 9,
}  # fmt: skip
UNITS = frozenset([
    "hour", "hours", "hr", "hrs", "h", "minute", "minutes", "min", "mins", "second", "seconds", "sec",
    "secs", "s", "day", "days", "week", "weeks", "month", "months", "year", "years", "decade", "decades",
    "century", "centuries", "km", "kilometre", "kilometres", "kilometer", "kilometers", "mile", "miles",
    "mi", "metre", "metres", "meter", "meters", "m", "foot", "feet", "ft", "inch", "inches", "cm", "mm",
    "yard", "yards", "nautical", "nm", "kg", "kilo", "kilos", "kilogram", "kilograms", "gram", "grams",
    "g", "pound", "pounds", "lb", "lbs", "ton", "tons", "tonne", "tonnes", "euro", "euros", "eur",
    "dollar", "dollars", "usd", "gbp", "cent", "cents", "percent", "percentage", "per", "degree",
    "degrees", "celsius", "fahrenheit", "kelvin", "knot", "knots", "mph", "kph", "kmh", "litre", "litres",
    "liter", "liters", "gallon", "gallons", "k", "bn", "times", "points",
])  # fmt: skip
"""Names of units. If a number has a unit, it may be the answer converted to that unit."""
SIGNS = {"$": {"dollar", "usd"}, "€": {"euro", "eur"}, "£": {"pound", "gbp"}, "%": {"percent", "percentage"}}
"""The words with the same meaning as each currency or percent sign, in the singular."""
NEAR = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|over|above|more|less|fewer|under|below|least"
    r"|most|between|up to|circa|estimated|average of)\b|[~\u2248<>\u2264\u2265\u00b1]"
)
ORDINAL = (
    r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\w{3,6}teenth"
    r"|\w{3,5}tieth|\w{3,5}ty-\w+th"
)
UNTOLD = re.compile(
    r"\b(?:only|sole|single|both|pair|couple|dozens?|half|halves|quarters?|thirds?|score|few|several|many"
    r"|some|all|each|every|any|once|twice|thrice|double|triple|another|other|nobody|nothing|hundreds?"
    rf"|thousands?|millions?|billions?|{ORDINAL})\b"
)
"""Matches words that can express a number without digits."""
ONE = re.compile(r"\ban? ")
ROMAN = re.compile(r"\b[IVXLCDM]{2,}\b")
MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS.split())}|sept)\b")
DATED = re.compile(
    r"\b(?:\w{3,6}day|today|tomorrow|tonight|now|century|centuries|decade|year|week|spring|summer|autumn|fall"
    rf"|winter|christmas|easter|eve|thousand|{ORDINAL})\b"
)
TIMED = re.compile(
    r"\b(?:noon|midday|midnight|o'clock|past|quarter|half|hours?|hrs|minutes?|morning|evening|afternoon|night"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|on time)\b"
)
MANY = 6
"""A number with at least this many digits is unlikely to occur in a response by chance."""


@dataclass(frozen=True)
class NumberInText:
    """A number in a text, with its position."""

    value: Decimal
    text: str
    start: int
    end: int


def guess_kind(answer: str) -> str:
    """Return the kind of an answer, based on its form: a number, a date, a time, or `other`."""
    plain = normalise(answer)
    if PLAIN_NUMBER.fullmatch(plain):
        return NUMBER
    if PLAIN_TIME.fullmatch(plain):
        return TIME
    return DATE if read_date(plain) is not None else OTHER


def find_amount(kind: str, answer: str, response: str, asked: str) -> RuleFinding:
    """Apply the rules for numbers, dates and times; return the deciding rule and the value found.

    kind: the kind of the answer. asked: the question and the name of the answer's column. Rules:

    - `other value`: the response has values of this kind, but none that could be the answer.
    - `no value`: the response has no value of the answer's kind.
    - `holds`: the answer is a number, and the response has it directly after words from the question.

    No rule decides if the answer is not of kind `kind`, or if the question contains the answer. No rule
    decides if the response has more than `LONGEST` characters, or letters that are not Latin.
    """
    read = READERS.get(kind)
    if read is None or guess_kind(answer) != kind or len(response) > LONGEST or not _is_latin(response):
        return UNDECIDED
    return read(answer, response, asked)


def _is_latin(text: str) -> bool:
    """Return whether all letters are Latin; the rules support no other alphabet."""
    # U+024F is the last letter of the block Latin Extended-B.
    return all(ord(sign) < 0x250 or not sign.isalpha() for sign in text)


def _find_number(answer: str, response: str, asked: str) -> RuleFinding:
    question, text = _write(asked), _write(response)
    truth = Decimal(normalise(answer).replace(",", "").replace("\u2212", "-"))
    named = {figure.value for figure in list_figures(question)}
    if truth in named or abs(truth) in named:
        return UNDECIDED
    words = list_words(question)
    figures = [figure for figure in list_figures(text) if abs(figure.value) not in named]
    if _holds(truth, figures, text, words):
        return RuleFinding(HOLDS, answer)
    rest = CODE.sub(" ", text)
    if not figures:
        told = UNTOLD.search(rest) or TURNING.search(rest) or ROMAN.search(response)
        one = truth == 1 and ONE.search(rest)
        # Instead of a number, a response may list the things that the question counts.
        listed = truth == int(truth) and re.search(r"[,;\n]|\band\b", rest)
        return UNDECIDED if told or one or listed else RuleFinding(NO_VALUE)
    if NEAR.search(rest) or any(word in SCALES and word not in words for word in WORD.findall(rest)):
        return UNDECIDED
    if any(_may_be(figure.value, truth) or _is_unclear(figure, text, words) for figure in figures):
        return UNDECIDED
    # A response may state the parts of the answer: `3 of her own and 9 with others` for 12.
    if sum(figure.value for figure in figures) == truth:
        return UNDECIDED
    return RuleFinding(OTHER_VALUE, figures[0].text)


def _write(text: str) -> str:
    return write_numbers(normalise(text)).replace("\u2212", "-")


def list_figures(text: str) -> list[NumberInText]:
    """List the numbers in a text, without digits in names such as A320."""
    bare = CODE.sub(lambda found: " " * len(found[0]), text)
    figures = []
    for found in FIGURE.finditer(bare):
        sign = found[1] if found.start() == 0 or not bare[found.start() - 1].isalnum() else ""
        try:
            value = Decimal(f"{sign.replace('+', '')}{found[2].replace(',', '')}{found[3] or ''}")
        except InvalidOperation:
            continue
        figures.append(NumberInText(value, found[0], found.start(), found.end()))
    return figures


def _holds(truth: Decimal, figures: Iterable[NumberInText], text: str, words: set[str]) -> bool:
    """Return whether a text states the expected number directly after words from the question.

    If the number has fewer than `MANY` digits, the text must have no other number, and no words except words
    from the question, units, and words like `of`.
    """
    right = [figure for figure in figures if figure.value == truth]
    if not right or TURNING.search(text) or HEDGING.search(text) or NEAR.search(text):
        return False
    known = words | UNITS
    precise = sum(character.isdigit() for character in right[0].text) >= MANY
    added = [word for word in WORD.findall(CODE.sub(" ", text)) if word not in LINKING]
    strange = [word for word in added if not word[0].isdigit() and cut_ending(word) not in known]
    others = len(list(figures)) > len(right)
    if (others or strange) and not precise:
        return False
    return any(follows(text[: figure.start], words) for figure in right) and all(
        not _is_unclear(figure, text, words) for figure in right
    )


def follows(before: str, words: set[str]) -> bool:
    """Return whether the text before a value ends with a word from the question, skipping words like `of`."""
    for word in reversed(WORD.findall(before.casefold())):
        if word not in AFTER:
            return cut_ending(word) in words
    return False


AFTER = frozenset([
    "a", "an", "are", "as", "at", "being", "called", "has", "in", "is", "it", "its", "listed", "located",
    "named", "of", "the", "to", "under", "was", "were",
])  # fmt: skip


def _is_unclear(figure: NumberInText, text: str, words: set[str]) -> bool:
    """Return whether a sign or a unit next to a number could change the number's value."""
    before, after = text[: figure.start][-1:], text[figure.end :][:24]
    sign = before if before in SIGNS else after.lstrip()[:1]
    if sign in SIGNS:
        if not SIGNS[sign] & {cut_ending(word) for word in words} and not SIGNS[sign] & words:
            return True
        after = after.lstrip().removeprefix(sign)
    if before.isalnum() or (before in "/:^*\u00d7=#" and before):
        return True
    if after[:1] and (after[0].isalnum() or after[0] in "/:^*\u00d7\u00b0'\"\u2032\u2033=+"):
        return True
    if re.match(r"\s?[-\u2013\u2014]\s?\d", after):
        return True
    unit = re.match(r"[\s-]*(\w+)", after)
    return unit is not None and unit[1] in UNITS and cut_ending(unit[1]) not in words


def _may_be(said: Decimal, truth: Decimal) -> bool:
    """Return whether a number may be the true number after rounding, scaling, negation or loss of digits."""
    said, truth = abs(said), abs(truth)
    if said == truth:
        return True
    places = [max(0, -int(number.as_tuple().exponent)) for number in (said, truth)]
    if any(places) and abs(said - truth) <= Decimal(1).scaleb(-min(places)):
        return True
    if said and truth:
        ratio = max(said, truth) / min(said, truth)
        # A share and its percentage differ by 10^2; words such as `million` scale by 10^3, 10^6 or 10^9.
        if any(abs(ratio / Decimal(10) ** scale - 1) < Decimal("0.01") for scale in (2, 3, 6, 9)):
            return True
    short, long = (f"{number:f}".replace(".", "").lstrip("0") for number in (said, truth))
    return bool(short) and len(short) < len(long) and (long.startswith(short) or long.endswith(short))


def _find_date(answer: str, response: str, asked: str) -> RuleFinding:
    truth, text, question = read_date(normalise(answer)), normalise(response), normalise(asked)
    named = {read_date(found) for found in find_dates(question)}
    found = {text_: read_date(text_) for text_ in find_dates(text)}
    said = {text_: day for text_, day in found.items() if day not in named}
    if truth in named or truth in said.values():
        return UNDECIDED
    rest = text
    # The longest date first: cutting `3 may 2016` first would also cut a part of `13 may 2016`.
    for known in sorted(found, key=len, reverse=True):
        rest = rest.replace(known, " ")
    asked_figures = set(re.findall(r"\d+", question))
    unread = set(re.findall(r"\d+", CODE.sub(" ", rest))) - asked_figures
    months = set(MONTH.findall(rest)) - set(MONTH.findall(question))
    if unread or months or None in said.values() or RELATIVE.search(_drop_asked(rest, question)):
        return UNDECIDED
    if said:
        return RuleFinding(OTHER_VALUE, next(iter(said)))
    vague = DATED.search(_drop_asked(rest, question)) or NUMERIC_DATE.search(rest)
    return UNDECIDED if vague or TURNING.search(rest) else RuleFinding(NO_VALUE)


def _drop_asked(text: str, question: str) -> str:
    asked = set(WORD.findall(question))
    return " ".join(word for word in text.split() if word.strip(".,;:!?") not in asked)


def _find_time(answer: str, response: str, asked: str) -> RuleFinding:
    text, question = normalise(response), normalise(asked)
    truth = _read_clock(CLOCK.fullmatch(normalise(answer)))
    named = {_read_clock(found) for found in CLOCK.finditer(question)}
    found = {found[0]: _read_clock(found) for found in CLOCK.finditer(text)}
    said = {clock: read for clock, read in found.items() if read not in named}
    rest = _drop_dates(CLOCK.sub(" ", text))
    unread = set(re.findall(r"\d+", CODE.sub(" ", rest))) - set(re.findall(r"\d+", question))
    if truth is None or truth in named or unread or None in said.values():
        return UNDECIDED
    # Without p.m., 8:59 may mean 20:59.
    if any(
        clock is not None and (clock[0] - truth[0]) % 12 == 0 and clock[1] == truth[1]
        for clock in said.values()
    ):
        return UNDECIDED
    if said:
        return (
            UNDECIDED
            if NEAR.search(rest) or RELATIVE.search(rest)
            else RuleFinding(OTHER_VALUE, next(iter(said)).strip())
        )
    told = TIMED.search(_drop_asked(rest, question)) or TURNING.search(rest)
    return UNDECIDED if told else RuleFinding(NO_VALUE)


def _drop_dates(text: str) -> str:
    for found in find_dates(text):
        text = text.replace(found, " ")
    return text


def _read_clock(found: re.Match[str] | None) -> tuple[int, int] | None:
    if found is None or int(found[1]) > 24 or int(found[2]) > 59:
        return None
    return int(found[1]) + (12 if found[3] == "p" and int(found[1]) < 12 else 0), int(found[2])


READERS: Mapping[str, Callable[[str, str, str], RuleFinding]] = {
    NUMBER: _find_number, DATE: _find_date, TIME: _find_time,
}  # fmt: skip
