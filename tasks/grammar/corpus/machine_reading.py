"""The machine-reading check: whether each fact can be answered from a document alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tasks.grammar.corpus.entities import Fact
from tasks.models.ask import Answer, Ask, Unparsed

PROMPT = "machine_reading"


@dataclass(frozen=True)
class Reading:
    """What a reader made of one fact. `answer` is None where the reply did not parse."""

    fact: Fact
    answer: str | None
    found: bool
    call: str


async def check_reading(
    title: str, text: str, facts: Sequence[Fact], ask: Ask, *, row: str, sample: int = 0, at_once: int = 6
) -> list[Reading]:
    """Ask for each fact's values with nothing but the document at hand; one reading a fact, in order.

    at_once: how many questions one request holds. sample: raised to ask anew.
    """
    readings: list[Reading] = []
    for start in range(0, len(facts), at_once):
        part = facts[start : start + at_once]
        answer = await _ask_part(title, text, part, ask, row, sample)
        said = answer.value or (None,) * len(part)
        readings += [
            Reading(fact, each, each is not None and holds_fact(each, fact), answer.call)
            for fact, each in zip(part, said, strict=True)
        ]
    return readings


async def _ask_part(
    title: str, text: str, facts: Sequence[Fact], ask: Ask, row: str, sample: int
) -> Answer[tuple[str, ...]]:
    return await ask(
        PROMPT,
        {"title": title, "text": text, "facts": facts},
        role="judge",
        row=row,
        parse=lambda reply: parse_numbered(reply, len(facts)),
        grammar=write_numbered_grammar(len(facts)),
        sample=sample,
        max_tokens=48 * len(facts),
    )


def write_numbered_grammar(count: int) -> str:
    """Write a GBNF grammar for so many lines `1. answer`."""
    lines = r' "\n" '.join(f'"{number}. " line' for number in range(1, count + 1))
    return f"root ::= {lines}\nline ::= [^\\n]{{1,140}}"


def parse_numbered(text: str, count: int) -> tuple[str, ...]:
    """Read the lines `1. answer` ... of a reply, each number once and in order. Raises Unparsed."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    found = [re.fullmatch(r"(\d+)[.:)]\s*(.+)", line) for line in lines]
    numbers = [int(each.group(1)) for each in found if each]
    if numbers != list(range(1, count + 1)) or len(lines) != count:
        raise Unparsed(f"not_numbered: not the lines 1 to {count}")
    return tuple(each.group(2) for each in found if each)


def holds_fact(text: str, fact: Fact) -> bool:
    """Tell whether a text names every value of a fact."""
    return not missing_values(text, fact)


def missing_values(text: str, fact: Fact) -> list[str]:
    """List the values of a fact that a text does not name; a date may be written in words."""
    words = f" {_plain(text)} "
    return [
        value for value in fact.values if not any(f" {_plain(form)} " in words for form in list_forms(value))
    ]


def list_forms(value: str) -> list[str]:
    """List the ways in which a value may be written: 2004-09-22 is September 22, 2004 as well."""
    try:
        day = date.fromisoformat(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else None
    except ValueError:
        day = None
    if day is None:
        return [value]
    month = day.strftime("%B")
    ordinal = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 if day.day not in (11, 12, 13) else 0, "th")
    numbers, year = (str(day.day), f"{day.day}{ordinal}"), day.year
    orders = ("{month} {number} {year}", "{number} {month} {year}", "{number} of {month} {year}")
    return [value, *(each.format(month=month, number=n, year=year) for n in numbers for each in orders)]


def _plain(text: str) -> str:
    """Give a text's words without case and punctuation: 368,875,760 and 368875760 are the same."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return " ".join(re.findall(r"\w+(?:\.\d+)?", text))
