"""Stage: people's ratings of the answers, 0..5 by the judge's rubric (E1), from a file that anybody wrote."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import BadInput
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.rows import Answer, Question, Rating

COLUMNS = ("item", "rater", "rating")
WHOLE = re.compile(r"[0-5](\.0+)?", re.ASCII)
LONGEST = 200
"""Characters of an item's or rater's name."""

Line = tuple[int, Mapping[str, object]]


def ratings(questions: list[Question], answers: list[Answer], entry: Assessment) -> Drafts[Rating]:
    """Match ratings with answers. What cannot be used is dropped with its line and the reason.

    item: an answer's id; or, where a single system answered, the id or own name of a question.
    """
    items = name_items(questions, answers)
    kept: dict[str, Rating] = {}
    dropped: list[Dropped] = []
    for line, record in read_records(entry.ratings):
        item, rater, rating = (_show(record.get(column)) for column in COLUMNS)
        problem = ""
        if not rater or not item or len(rater) > LONGEST or len(item) > LONGEST:
            problem = "no_name"
        elif item not in items:
            problem = "unknown_item"
        elif not WHOLE.fullmatch(rating):
            problem = "no_rating"
        else:
            answer = items[item]
            row_id = make_id(answer, rater)
            if row_id in kept:
                problem = "rated_twice"
            else:
                origin = (Origin("row", f"answers#{answer}"),)
                kept[row_id] = Rating(row_id, answer, rater, int(rating[0]), origin)
        if problem:
            what = f"line {line}: {item[:LONGEST]}, {rater[:LONGEST]}, {rating[:LONGEST]}"
            dropped.append(Dropped(make_id("rating", line), problem, what))
    return Drafts(list(kept.values()), dropped)


def name_items(questions: Sequence[Question], answers: Sequence[Answer]) -> dict[str, str]:
    """Say which names stand for which answer; a name that several answers share stands for none."""
    keys = {each.id: each.key for each in questions}
    owners: dict[str, set[str]] = {}
    for answer in answers:
        for name in (answer.id, answer.question, keys.get(answer.question, answer.id)):
            owners.setdefault(name, set()).add(answer.id)
    return {name: next(iter(ids)) for name, ids in owners.items() if len(ids) == 1}


def read_records(path: Path) -> Iterator[Line]:
    """Read CSV (by its header) or JSON Lines: line number and record. Raises BadInput."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(path, f"cannot be read as UTF-8 text: {error}") from error
    if "\0" in text:
        raise BadInput(path, "holds NUL bytes: it is no text")
    return _read_json(path, text) if path.suffix in (".jsonl", ".json") else _read_csv(path, text)


def _read_json(path: Path, text: str) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(path, f"is no JSON: {str(error)[:80]}", line=number) from error
        if not isinstance(record, dict):
            raise BadInput(path, "is no JSON object", line=number)
        yield number, record


def _read_csv(path: Path, text: str) -> Iterator[Line]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        missing = [each for each in COLUMNS if each not in (reader.fieldnames or ())]
        if missing:
            found = ", ".join(map(str, reader.fieldnames or ())) or "none"
            raise BadInput(path, f"has no column {missing[0]!r} (there: {found:.80})", line=1)
        for record in reader:
            yield reader.line_num, record
    except csv.Error as error:
        raise BadInput(path, f"is no CSV: {error}", line=reader.line_num) from error


def _show(value: object) -> str:
    """Give a cell as text; true and false are no numbers."""
    return "" if value is None or isinstance(value, bool | list | dict) else str(value).strip()
