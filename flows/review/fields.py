"""Validate the fields that people fill in: names, decisions, ratings, texts, notes and times."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta

from flows.review.items import ReviewedArtifact, ReviewItem
from flows.review.store import format_time, parse_time
from tasks.judging.decisions import CHOICES, EDIT, Decision
from tasks.judging.human_files import ESCAPE, FORMULA
from tasks.scoring.items import BadItem, describe_type

MAX_NAME, MAX_NOTE, MAX_TEXT = 60, 2_000, 200_000
"""Maximum length of names, notes and texts, in characters."""
AHEAD = timedelta(days=1)
"""How far in the future a decision's time may be, to allow for wrong clocks and time zones."""


def make_decision(
    artifact: ReviewedArtifact,
    item: ReviewItem,
    fields: Mapping[str, object],
    edited: Mapping[str, str],
    now: datetime,
) -> Decision:
    """Make a decision from the fields `reviewer`, `decision`, `rating`, `note` and `at`.

    `edited`: new texts by column. An empty `at` stays empty; a rating without a decision is allowed. Raises
    BadItem for an invalid field.
    """
    choice = read_text(fields, "decision").strip().lower()
    if choice and choice not in CHOICES:
        raise BadItem(f"decision is {choice[:40]!r}; expected one of {', '.join(CHOICES)}")
    if edited and choice != EDIT:
        raise BadItem(f"has edited text, but the decision is {choice or 'empty'}, not edit")
    changed = {name: text for name, text in edited.items() if text != item.texts[name]}
    if choice == EDIT and not changed:
        what = "is unchanged" if edited else "is empty"
        raise BadItem(f"decision is edit, but the edited text {what}")
    return Decision(
        item.id,
        artifact.path,
        read_name(fields),
        read_time(fields, now),
        choice,  # type: ignore[arg-type] # one of CHOICES, or empty
        item.seen,
        changed,
        read_rating(fields),
        read_text(fields, "note", MAX_NOTE).strip(),
    )


def read_text(fields: Mapping[str, object], name: str, most: int = MAX_TEXT) -> str:
    """Return a field's text with Unix line endings; "" if the field is missing or null.

    Raises BadItem if the field is not text.
    """
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadItem(f"{name} is {describe_type(value)}; expected text")
    if len(value) > most:
        raise BadItem(f"{name} is longer than {most:,} characters")
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    # Surrogates (Cs) cannot be written as UTF-8.
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        raise BadItem(f"{name} contains a control character")
    return text


def read_name(fields: Mapping[str, object]) -> str:
    """Return the reviewer's name with whitespace and accents normalised.

    Raises BadItem for a name that is missing or too long, or that contains unprintable characters.
    """
    name = " ".join(unicodedata.normalize("NFC", read_text(fields, "reviewer")).split())
    if not name:
        raise BadItem("has no reviewer (fill in the column `reviewer`, or give --reviewer)")
    if len(name) > MAX_NAME or not name.isprintable() or name.startswith(FORMULA):
        raise BadItem(
            f"reviewer is {name[:MAX_NAME]!r}; expected a name of at most {MAX_NAME} printable characters"
        )
    return name


def read_rating(fields: Mapping[str, object]) -> int | None:
    """Return a rating from 1 to 5, given as a number or as text; None if the field is empty.

    Raises BadItem for any other value.
    """
    value = fields.get("rating")
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    digit = value.strip() if isinstance(value, str) else str(value)
    if isinstance(value, bool | float) or digit not in {"1", "2", "3", "4", "5"}:
        raise BadItem(f"rating is {digit[:40]!r}; expected a whole number from 1 to 5")
    return int(digit)


def read_time(fields: Mapping[str, object], now: datetime) -> str:
    """Return a time in the format of decisions; "" if the field is empty.

    Raises BadItem for an invalid time, or a time in the future.
    """
    text = read_text(fields, "at").strip()
    if not text:
        return ""
    try:
        moment = parse_time(text)
        if moment > now + AHEAD:
            raise BadItem(f"`at` is {text[:40]!r}; the time must not be in the future")
        return format_time(moment)
    except (ValueError, OverflowError) as error:
        raise BadItem(f"`at` is {text[:40]!r}; expected a time such as 2031-11-23T14:05") from error


def read_cell(fields: Mapping[str, object], name: str) -> str:
    """Return the text of a CSV cell. Raises BadItem for an unescaped formula."""
    text = read_text(fields, name).strip()
    if text.startswith(ESCAPE) and text.removeprefix(ESCAPE).startswith(FORMULA):
        return text.removeprefix(ESCAPE)
    if text.startswith(FORMULA) and not _is_number(text):
        raise BadItem(
            f"{name} begins with {text[0]!r}, like a spreadsheet formula; put an apostrophe in front of it"
        )
    return text


def _is_number(text: str) -> bool:
    return text[0] in "+-" and text[1:].replace(".", "", 1).replace(",", "").isdecimal()
