"""Read the accepted answers of an item, and classify each answer as text, number or boolean."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tasks.scoring.items import BadItem, describe_type, load_json
from tasks.systems.own_items import take_text

NUMBER = re.compile(r"[-\u2212]?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?")
"""Matches a number. Digits such as `007` do not match, because codes and telephone numbers are text."""
YES, NO = frozenset({"yes", "true"}), frozenset({"no", "false"})
MOST = 1000
"""Maximum number of accepted answers of one item."""
MOST_DIGITS = 30
"""Maximum number of digits of a number; a longer number is compared as text."""


class AnswerKind(StrEnum):
    """The method of comparing a response with an accepted answer: as text, by value, or as yes or no."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"


@dataclass(frozen=True)
class AcceptedAnswer:
    """An answer that counts as correct. text: the text that judges see and that pages show."""

    text: str
    kind: AnswerKind


def read_accepted(value: Any) -> tuple[AcceptedAnswer, ...]:
    """Read the accepted answers from a row's cell. Raises BadItem for an invalid cell.

    The cell contains a text, a number, a boolean, a list (also as JSON text), or an object. An object has its
    answers in `text`, as in SQuAD, or in `value` and `aliases`, as in TriviaQA.
    """
    members = list_members(value)
    if not members:
        raise BadItem("answer is an empty list")
    if len(members) > MOST:
        raise BadItem(f"answer has {len(members)} elements; at most {MOST} are allowed")
    return tuple(dict.fromkeys(map(make_answer, members)))


def list_members(value: Any) -> list[Any]:
    """List the accepted answers of a row's cell as JSON values. Raises BadItem for an invalid cell."""
    value = read_list(value)
    if isinstance(value, dict):
        if "text" in value:
            value = value["text"]
        elif "value" in value:
            aliases = value.get("aliases")
            value = [value["value"], *(aliases if isinstance(aliases, list) else [])]
        else:
            raise BadItem("answer is an object without `text` or `value`")
    return value if isinstance(value, list) else [value]


def read_list(value: Any) -> Any:
    """Parse a text that is a JSON list, as in CSV files; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            return load_json(value.encode())
    return value


def make_answer(value: Any) -> AcceptedAnswer:
    """Make an accepted answer from a text, a number or a boolean. Raises BadItem for any other value."""
    if isinstance(value, bool):
        return AcceptedAnswer("true" if value else "false", AnswerKind.BOOLEAN)
    if isinstance(value, float):
        value = write_float(value)
    text = take_text({"answer": value}, "answer") if not isinstance(value, list | dict) else ""
    if not text:
        raise BadItem(f"an element of answer is {describe_type(value)}; expected text, a number or a boolean")
    return AcceptedAnswer(text, guess_kind(text))


def write_float(value: float) -> str:
    """Write a number in decimal notation, without an exponent; a whole number has no decimal places."""
    # Via `repr`, because Decimal(0.1) has all 55 digits of the binary fraction.
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def guess_kind(text: str) -> AnswerKind:
    """Return the kind of an accepted answer, determined from its text."""
    if text.lower() in YES | NO:
        return AnswerKind.BOOLEAN
    digits = sum(sign.isdigit() for sign in text)
    return AnswerKind.NUMBER if NUMBER.fullmatch(text) and digits <= MOST_DIGITS else AnswerKind.TEXT
