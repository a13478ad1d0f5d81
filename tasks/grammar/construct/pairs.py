"""Questions out of texts and groups: each text of a SQL template filled with each group's values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tasks.artifacts.rows import Origin, make_id
from tasks.grammar.rows import Group, Question, TextTemplate


def group_texts(texts: Iterable[TextTemplate]) -> dict[str, dict[str, list[TextTemplate]]]:
    """Sort texts by SQL template and criterion; in each, by id."""
    sorted_texts: defaultdict[str, defaultdict[str, list[TextTemplate]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for text in sorted(texts, key=lambda each: each.id):
        sorted_texts[text.sql_template][text.criterion].append(text)
    return {template: dict(texts) for template, texts in sorted_texts.items()}


def pair(text: TextTemplate, group: Group) -> Question:
    """Fill a text with a group's values."""
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
        origin=(Origin("row", f"back_check#{text.id}"), Origin("row", f"fill_in#{group.id}")),
    )


def fill_text(text: str, group: Group) -> str:
    """Put a group's values where its placeholders stand. No value holds brackets, so one pass is enough."""
    for filling in group.fillings:
        text = text.replace(f"[{filling.placeholder}]", filling.value)
    return text
