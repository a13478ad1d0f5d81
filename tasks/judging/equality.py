"""Recognise responses that equal the reference answer as text, number, date or list, without a judge.

These rules can only decide that a response is right, not that it is wrong. A response that consists only of
the answer cannot hide other content.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from tasks.judging.quoting import UNSEEN

EXACT, NUMBER, DATE, LIST = "exact", "number", "date", "list"
ARTICLES = re.compile(r"^(?:the|an|a) ")
AROUND = " \t\r\n\"'“”„«»\u2018\u2019`*_.!;:,"
"""Characters that may surround an answer without being part of it."""
BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
QUANTITY = re.compile(r"([-+\u2212]?)[$€£¥]?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?: ?(%)| ([a-z]+(?: [a-z]+)?))?")
ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
NUMBERS = {word: n for n, word in enumerate(ONES)} | {word: 10 * (n + 2) for n, word in enumerate(TENS)}
_TENS, _ONES = "|".join(TENS), "|".join(ONES[1:10])
SPELLED = re.compile(rf"\b(?:(?:{_TENS})(?:[- ](?:{_ONES}))?|{'|'.join(reversed(ONES))})\b")
MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep oct nov dec"
)
_MONTH = rf"(?:{'|'.join(MONTHS.split())})\.?"
DAYS = (
    re.compile(rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? \d{{4}}\b"),
    re.compile(rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b"),
    re.compile(r"\b\d{4}[-/]\d{2}[-/]\d{2}\b"),
)
ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\b(?:of|the)\b|[,.]")
DATES = (
    "%Y-%m-%d",
    "%Y-%m-%d 00:00:00",  # a day that a database stores as a timestamp
    "%Y/%m/%d",
    "%d %B %Y",
    "%d %b %Y",
    "%B %d %Y",
    "%b %d %Y",
    "%Y %B %d",
)


def is_empty(text: str) -> bool:
    """Return whether a text consists only of white space and invisible characters."""
    return not UNSEEN.sub("", text).strip()


def find_equality(answer: str, response: str, question: str = "") -> str:
    """Return the rule by which a response equals the reference answer; empty if no rule applies.

    - `exact`: the same text, apart from case, character width, an article, and surrounding punctuation.
    - `number`: the same value, without a unit or with a unit that the question or the answer names. If the
      response has at least two decimal places, the answer is rounded to the same number of places.
    - `date`: the same date, written with the year first or with the name of the month.
    - `list`: exactly the same items, in any order. Items of the answer are separated by semicolons.
    """
    wanted, given = normalise(answer), normalise(response)
    if not wanted or not given:
        return ""
    if wanted == given:
        return EXACT
    if are_same_number(wanted, given, normalise(question)):
        return NUMBER
    day = read_date(wanted)
    if day is not None and day == read_date(given):
        return DATE
    return LIST if are_same_list(answer, response) else ""


def are_same_list(answer: str, response: str) -> bool:
    """Return whether a response lists the items of the answer, separated by lines, semicolons or commas."""
    wanted = sorted(normalise(item) for item in answer.split(";"))
    if len(wanted) < 2 or not all(wanted):
        return False
    for mark in ("\n", ";", ","):
        items = [BULLET.sub("", item) for item in response.strip().split(mark)]
        if mark != "\n" and len(items) > 1:
            items[-1] = re.sub(r"^\s*and\s+", "", items[-1])
        if sorted(normalise(item) for item in items) == wanted:
            return True
        if mark != "\n" and len(items) == len(wanted) - 1:
            *most, last = items
            if sorted(map(normalise, [*most, *re.split(r"\s+and\s+", last, maxsplit=1)])) == wanted:
                return True
    return False


def holds_answer(answer: str, response: str) -> bool:
    """Return whether a response contains the reference answer as text, number or date.

    The response may also deny the answer or name other answers, so the result does not prove that the
    response is right.
    """
    wanted = normalise(answer)
    return bool(wanted) and take_out(wanted, normalise(response)) is not None


def take_out(wanted: str, given: str) -> str | None:
    """Remove a normalised answer from a normalised text; return None if the text lacks the answer."""
    number, day = QUANTITY.fullmatch(wanted), read_date(wanted)
    if number is not None:
        value, text = read_number(number), write_numbers(given)
        rest = QUANTITY.sub(
            lambda found: _leave_unit(found) if read_number(found) == value else found[0], text
        )
        return None if value is None or rest == text else rest
    text = given
    if day is not None:
        for found in find_dates(given):
            text = text.replace(found, " ") if read_date(found) == day else text
    rest = re.sub(rf"(?<!\w)(?<!\w[-.,]){re.escape(wanted)}(?!\w|[-.,]\w)", " ", text)
    return None if rest == given else rest


def _leave_unit(found: re.Match[str]) -> str:
    return f" {found[4] or found[5] or ''}"


def find_dates(text: str) -> list[str]:
    """List the parts of a normalised text that look like a date with a year."""
    return [found[0] for pattern in DAYS for found in pattern.finditer(text)]


def write_numbers(text: str) -> str:
    """Replace number words up to 99 with digits."""
    return SPELLED.sub(_write_number, text)


def _write_number(found: re.Match[str]) -> str:
    tens, _, ones = found[0].replace("-", " ").partition(" ")
    return str(NUMBERS[tens] + (NUMBERS[ones] if ones else 0))


def normalise(text: str) -> str:
    """Normalise case, character width and white space; remove an article and surrounding punctuation."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(AROUND)
    return ARTICLES.sub("", folded)


def are_same_number(wanted: str, given: str, question: str) -> bool:
    """Return whether two normalised texts are the same number, with compatible units."""
    here, there = QUANTITY.fullmatch(wanted), QUANTITY.fullmatch(given)
    if here is None or there is None:
        return False
    words = re.findall(r"[a-z]+", f"{question} {wanted}".replace("%", " percent "))
    named = {word.removesuffix("s") for word in words}
    unit = (there[5] or ("percent" if there[4] else "")).split()
    if any(word.removesuffix("s") not in named for word in unit):
        return False
    value, said = read_number(here), read_number(there)
    places = len(there[3] or ".") - 1
    if value is None or said is None:
        return False
    return value == said or (places >= 2 and round(value, places) == said)


def read_number(found: re.Match[str]) -> Decimal | None:
    """Return the number in a match of `QUANTITY`, or None if it has more digits than a decimal can store."""
    sign = "-" if found[1] in ("-", "\u2212") else ""
    try:
        return Decimal(f"{sign}{found[2].replace(',', '')}{found[3] or ''}")
    except InvalidOperation:
        return None


def read_date(text: str) -> date | None:
    """Parse a normalised text as a date; return None if no date format matches.

    Formats in which day and month could be swapped are not supported.
    """
    plain = " ".join(ORDINAL.sub(" ", text).split())
    for form in DATES:
        try:
            return datetime.strptime(plain, form).date()  # noqa: DTZ007 (a day has no time zone)
        except ValueError:
            continue
    return None
