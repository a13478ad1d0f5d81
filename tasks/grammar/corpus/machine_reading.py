"""Check whether a reader model finds each fact in a document."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tasks.databases.rendering import write_said
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.plain_patterns import name_none
from tasks.models.ask import Answer, Ask, Unparsed

PROMPT = "machine_reading"


@dataclass(frozen=True)
class Reading:
    """The result of a search for a fact in a document.

    If a rule checked the fact, `answer` is the checked sentence and `call` is None. Otherwise, `answer` is
    the reader's answer; None if the reply did not parse.
    """

    fact: ProfileFact
    answer: str | None
    found: bool
    call: str | None


async def check_reading(
    title: str,
    text: str,
    facts: Sequence[ProfileFact],
    ask: Ask,
    *,
    row: str,
    sample: int = 0,
    at_once: int = 6,
) -> list[Reading]:
    """Ask the reader for each fact's values, given only the document; return one `Reading` per fact.

    `at_once` is the maximum number of questions per request. To repeat the request, pass another number as
    `sample`.
    """
    readings: list[Reading] = []
    for start in range(0, len(facts), at_once):
        batch = facts[start : start + at_once]
        answer = await _ask_values(title, text, batch, ask, row, sample)
        values = answer.value or (None,) * len(batch)
        readings += [
            Reading(fact, value, value is not None and names_fact(value, fact), answer.call)
            for fact, value in zip(batch, values, strict=True)
        ]
    return readings


async def _ask_values(
    title: str, text: str, facts: Sequence[ProfileFact], ask: Ask, row: str, sample: int
) -> Answer[tuple[str, ...]]:
    return await ask(
        PROMPT,
        {"title": title, "text": text, "facts": facts},
        role="reader",
        row=row,
        parse=lambda reply: parse_numbered(reply, len(facts)),
        grammar=write_numbered_grammar(len(facts)),
        sample=sample,
        max_tokens=48 * len(facts),
    )


def write_numbered_grammar(count: int) -> str:
    """Write a GBNF grammar for `count` lines of the form `1. answer`."""
    lines = r' "\n" '.join(f'"{number}. " line' for number in range(1, count + 1))
    return f"root ::= {lines}\nline ::= [^\\n]{{1,140}}"


def parse_numbered(text: str, count: int) -> tuple[str, ...]:
    """Return the answers in a reply with `count` lines of the form `1. answer`. Raises Unparsed."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    found = [re.fullmatch(r"(\d+)[.:)]\s*(.+)", line) for line in lines]
    numbers = [int(match.group(1)) for match in found if match]
    if numbers != list(range(1, count + 1)) or len(lines) != count:
        raise Unparsed(f"not_numbered: expected lines numbered 1 to {count}")
    return tuple(match.group(2) for match in found if match)


def names_fact(text: str, fact: ProfileFact) -> bool:
    """Return whether a text contains every value of a fact."""
    return not missing_values(text, fact)


def missing_values(text: str, fact: ProfileFact) -> list[str]:
    """List the values of a fact that a text does not contain.

    The text may write a date with the month's name, and a count of 0 as `no awards`.
    """
    words = f" {_normalise(text)} "
    if (none := name_none(fact)) and f" {_normalise(none)} " in words:
        return []
    return [
        value
        for value in fact.values
        if not any(f" {_normalise(form)} " in words for form in list_forms(value))
    ]


def list_forms(value: str) -> list[str]:
    """List the spellings of a value, such as 2004-09-22 and September 22 2004."""
    try:
        day = date.fromisoformat(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else None
    except ValueError:
        day = None
    if day is None:
        return list(dict.fromkeys([value, write_said(value, "moment")]))
    month = day.strftime("%B")
    ordinal = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 if day.day not in (11, 12, 13) else 0, "th")
    numbers, year = (str(day.day), f"{day.day}{ordinal}"), day.year
    orders = ("{month} {number} {year}", "{number} {month} {year}", "{number} of {month} {year}")
    return [value, *(order.format(month=month, number=n, year=year) for n in numbers for order in orders)]


def _normalise(text: str) -> str:
    """Return a text in lower case without punctuation and without commas in numbers (1,250 becomes 1250)."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return " ".join(re.findall(r"\w+(?:\.\d+)?", text))
