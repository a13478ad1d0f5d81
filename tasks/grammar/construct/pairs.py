"""Make questions from text templates and semantic groups that share a SQL template."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tasks.artifacts.rows import Origin, make_id
from tasks.databases.rendering import write_said
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.measures import COMPARE
from tasks.grammar.construct.queries import comparison_of
from tasks.grammar.construct.text_templates import TextTemplate

Item = TypeVar("Item")


@dataclass(frozen=True)
class Question:
    """A question with its answer. All questions of a group have the same answer."""

    id: str
    group: str
    criterion: str
    question: str
    answer: str
    sql: str
    sql_template: str
    text_template: str
    answer_rows: str
    origin: tuple[Origin, ...]


def group_texts(texts: Iterable[TextTemplate]) -> dict[str, dict[str, list[TextTemplate]]]:
    """Group texts by SQL template and then by criterion. The texts of a criterion are sorted by id."""
    grouped: defaultdict[str, defaultdict[str, list[TextTemplate]]] = defaultdict(lambda: defaultdict(list))
    for text in sorted(texts, key=lambda template: template.id):
        grouped[text.sql_template][text.criterion].append(text)
    return {template: dict(by_criterion) for template, by_criterion in grouped.items()}


def make_question(text: TextTemplate, group: Group) -> Question:
    """Make a question from a text and a group's values and answer."""
    return Question(
        id=make_id("question", text.id, group.id),
        group=group.id,
        criterion=text.criterion,
        question=fill_text(text.text, group),
        answer=group.answer,
        sql=group.sql,
        sql_template=group.sql_template,
        text_template=text.id,
        answer_rows=group.answer_rows,
        origin=(Origin("row", f"second_reading#{text.id}"), Origin("row", f"fill_in#{group.id}")),
    )


def fill_text(text: str, group: Group) -> str:
    """Replace a text's placeholders with a group's values; dates and large bounds are formatted for reading.

    One pass is enough, because no value contains brackets.
    """
    for filling in group.fillings:
        text = text.replace(
            f"[{filling.placeholder}]", write_filling(filling.placeholder, filling.value, filling.kind)
        )
    return text


def write_filling(placeholder: str, value: str, kind: str = "") -> str:
    """Format a placeholder's value for a sentence, such as the date 23 March 1978, or the bound 5,000,000."""
    return write_said(value, kind, grouped=comparison_of(placeholder) in COMPARE)


def take_turns(items: Sequence[Item], kind: Callable[[Item], object]) -> list[Item]:
    """Reorder items so that their kinds alternate; items of the same kind stay in order."""
    counts: Counter[object] = Counter()
    turns = []
    for item in items:
        turns.append(counts[kind(item)])
        counts[kind(item)] += 1
    return [item for _, item in sorted(zip(turns, items, strict=True), key=lambda pair: pair[0])]
