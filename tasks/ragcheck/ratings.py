"""Stage: read people's ratings of the answers (E1) from a user's file, on the judge's scale of 0 to 5."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.judging.human_files import FormLine, read_lines, write_form
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.entries import Assessment, RatingScale
from tasks.ragcheck.questions import ReferenceQuestion

COLUMNS = ("item", "rater", "rating")
WHOLE = re.compile(r"[0-5](\.0+)?", re.ASCII)
"""Matches a rating on the judge's rubric, a whole number from 0 to 5."""
NUMBER = re.compile(r"-?\d{1,6}(\.\d{1,6})?", re.ASCII)
"""Matches a rating on the scale that an entry defines."""
DIGITS = 9
"""Number of decimal places of a mapped rating."""
LONGEST = 200
"""Maximum number of characters of an item's or rater's name."""
HINT = "expected the columns item, rater and rating; see docs/ragcheck.md"
FORM = ("item", "system", "question", "reference", "response", "rating", "rater")


@dataclass(frozen=True)
class Rating:
    """Row of the stage `ratings`: a person's rating of an answer, 0 to 5; 0 means "not sure"."""

    id: str
    answer: str
    rater: str
    rating: float
    origin: tuple[Origin, ...]


def ratings(
    questions: list[ReferenceQuestion], answers: list[SystemAnswer], entry: Assessment
) -> Drafts[Rating]:
    """Assign the ratings in a file to answers; drop unusable lines with the line number and the reason.

    The file's column `item` contains an answer's id, or a question's id or key. For a question, the column
    `system` must name the system if there are several systems. `entry.scale` converts other scales.
    Raises BadInput if the file cannot be read.
    """
    items_of = {
        system: name_items(questions, [answer for answer in answers if system in ("", answer.system)])
        for system in ("", *entry.systems)
    }
    kept: dict[str, Rating] = {}
    dropped: list[Dropped] = []
    for line in read_lines(entry.ratings, COLUMNS, HINT):
        if line.record is None:
            dropped.append(_drop(line, "unreadable", line.problem))
            continue
        item, rater, rating = (_show(line.record.get(column)) for column in COLUMNS)
        problem = ""
        items = items_of.get(_show(line.record.get("system")), {})
        value = read_rating(rating, entry.scale)
        if not rater and not rating:
            continue  # a line of the form that is not filled in
        if not rater or not item or len(rater) > LONGEST or len(item) > LONGEST:
            problem = "no_name"
        elif item not in items:
            problem = "unknown_item"
        elif value is None:
            problem = "no_rating"
        else:
            answer = items[item]
            row_id = make_id(answer, rater)
            if row_id in kept:
                problem = "rated_twice"
            else:
                origin = (Origin("row", f"answers#{answer}"),)
                kept[row_id] = Rating(row_id, answer, rater, value, origin)
        if problem:
            cells = f"{item[:LONGEST]}, {rater[:LONGEST]}, {rating[:LONGEST]}"
            dropped.append(_drop(line, problem, cells))
    return Drafts(list(kept.values()), dropped)


def read_rating(text: str, scale: RatingScale | None) -> float | None:
    """Parse a rating: a whole number from 0 to 5, or a number on `scale`, converted; None if invalid."""
    if scale is None:
        return float(text[0]) if WHOLE.fullmatch(text) else None
    if not NUMBER.fullmatch(text) or not scale.low <= float(text) <= scale.high:
        return None
    return round(scale.map(float(text)), DIGITS)


def name_items(questions: Sequence[ReferenceQuestion], answers: Sequence[SystemAnswer]) -> dict[str, str]:
    """Map item names (answer id, question id, question key) to answer ids; omit ambiguous names."""
    keys = {question.id: question.key for question in questions}
    owners: dict[str, set[str]] = {}
    for answer in answers:
        for name in (answer.id, answer.question, keys.get(answer.question, answer.id)):
            owners.setdefault(name, set()).add(answer.id)
    return {name: next(iter(ids)) for name, ids in owners.items() if len(ids) == 1}


def make_form(questions: Sequence[ReferenceQuestion], answers: Sequence[SystemAnswer]) -> str:
    """Write the CSV form for raters: every answer, without the judges' grades.

    Lines are sorted by id. The ids are hashes, so the first hundred lines are a random sample.
    """
    question_of = {question.id: question for question in questions}
    return write_form(
        FORM,
        [
            (answer.id, answer.system, question.question, question.reference, answer.text, "", "")
            for answer in sorted(answers, key=lambda answer: answer.id)
            if answer.text is not None and (question := question_of.get(answer.question)) is not None
        ],
    )


def _drop(line: FormLine, reason: str, detail: str) -> Dropped:
    return Dropped(make_id("rating", line.number), reason, f"line {line.number}: {detail}")


def _show(value: object) -> str:
    """Convert a cell to text; booleans, lists and objects, which are not ratings, become empty text."""
    return "" if value is None or isinstance(value, bool | list | dict) else str(value).strip()
