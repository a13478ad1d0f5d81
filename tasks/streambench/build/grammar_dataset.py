"""Stage: create a text-to-SQL dataset from GRAMMAR questions about one database."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.errors import BadInput, StageFailed
from tasks.sources.drawing import order_by_seed
from tasks.sources.sql_questions import read_create_statements
from tasks.sources.stream_dataset import OF_THE_DATABASE, DatasetHead, DatasetItem, DatasetShot, write_dataset
from tasks.streambench.entries import QuestionDatabase

COLUMNS = ("id", "group", "question", "sql", "sql_template")
ASKING = re.compile(
    r"(which|what|who|whom|whose|when|where|how|is|are|was|were|do|does|did|can|could)\b", re.I
)


@dataclass(frozen=True)
class _Asked:
    """A question from GRAMMAR. group: an id that is the same for questions with the same gold query."""

    id: str
    group: str
    question: str
    sql: str
    template: str


def grammar_dataset(entry: QuestionDatabase, key: str, out: Path) -> None:
    """Write a dataset folder in the importers' format: the questions, and the database in `files/`.

    entry.questions: Parquet with the columns id, group, question, sql and sql_template. Only one question per
    group is used, so that all gold queries are distinct. Raises StageFailed if no question is usable, and
    BadInput if the file lacks a column.
    """
    asked = _read_questions(entry.questions)
    chosen = [
        question for question in asked if not entry.first_words or _first_word(question) in entry.first_words
    ]
    by_template = _group_templates(chosen, entry.seed)
    enough = [questions for questions in by_template if entry.each is None or len(questions) >= entry.each]
    kept = enough[: entry.templates] if entry.templates is not None else enough
    rest = [questions for questions in by_template if questions not in kept]
    if entry.templates is None and entry.shots:
        # Without a limit on templates, the last templates are reserved for examples: one template per
        # example, but at most a quarter of all templates.
        held = min(entry.shots, len(kept) // 4)
        kept, rest = kept[: len(kept) - held], [*rest, *kept[len(kept) - held :]]
    items = [question for group in kept for question in group[: entry.each]]
    if not items:
        raise StageFailed(
            f"streambench.grammar_dataset: {key}: none of the {len(asked):,} questions can be used "
            f"({len(chosen):,} begin with one of first_words; {len(enough)} SQL templates have enough of "
            f"these questions); check streambench.databases.{key}"
        )
    schema = read_create_statements(entry.file)
    write_dataset(
        out,
        DatasetHead(key, "sql", f"Questions over {key}", OF_THE_DATABASE, entry.questions.name, "template"),
        [_make_item(question, key, schema) for question in sorted(items, key=lambda item: item.id)],
        [_make_shot(question) for question in _take_in_turn(rest, entry.shots)],
        {f"{key}/{key}.sqlite": entry.file},
    )


def _read_questions(path: Path) -> list[_Asked]:
    try:
        table = pq.read_table(path, columns=list(COLUMNS))
    except (OSError, pa.ArrowException, KeyError) as error:
        what = " ".join(str(error).split())[:200]
        raise BadInput(
            path, f"contains no questions: {what}", hint=f"columns: {', '.join(COLUMNS)}"
        ) from error
    rows = [_Asked(*map(str, row.values())) for row in table.select(COLUMNS).to_pylist()]
    return sorted(rows, key=lambda row: row.id)


def _group_templates(asked: Sequence[_Asked], seed: int) -> list[list[_Asked]]:
    """Return the questions of each SQL template in a seeded order, with one question per group."""
    found: defaultdict[str, dict[str, _Asked]] = defaultdict(dict)
    for question in order_by_seed(asked, seed, lambda asked_one: asked_one.id, "asked"):
        found[question.template].setdefault(question.group, question)
    ordered = order_by_seed(found.items(), seed, lambda pair: pair[0], "template")
    return [list(groups.values()) for _, groups in ordered]


def _take_in_turn(templates: Sequence[Sequence[_Asked]], count: int) -> list[_Asked]:
    """Return up to `count` questions, round-robin over templates."""
    longest = max(map(len, templates), default=0)
    turns = (
        questions[place] for place in range(longest) for questions in templates if place < len(questions)
    )
    return [question for question, _ in zip(turns, range(count), strict=False)]


def _first_word(own: _Asked) -> str:
    return own.question.split(maxsplit=1)[0].lower() if own.question.strip() else ""


def write_question(text: str) -> str:
    """Capitalise a text's first letter, and add a question mark if the text starts like a question."""
    shown = text.strip()
    end = "?" if ASKING.match(shown) and not shown.endswith((".", "?", "!")) else ""
    return f"{shown[:1].upper()}{shown[1:]}{end}"


def _make_item(own: _Asked, key: str, schema: str) -> DatasetItem:
    text = write_question(own.question)
    details = {"db_id": key, "template": own.template}
    return DatasetItem(own.id, text, text, schema, own.sql, details, f"files/{key}/{key}.sqlite")


def _make_shot(own: _Asked) -> DatasetShot:
    text = write_question(own.question)
    return DatasetShot(own.id, text, text, own.sql)
