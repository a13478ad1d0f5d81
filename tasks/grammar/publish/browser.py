"""The data of a dataset page's question browser: questions with their sources and model calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.lineage.nodes import LineageNode, walk_nodes
from tasks.lineage.walk import Lineage


class DatasetTemplate(NamedTuple):
    """A SQL template. calls: ledger keys. projection: the columns that it asks for."""

    id: str
    sql: str
    calls: list[str]
    projection: list[str]


class DatasetText(NamedTuple):
    """A text template. template: index of its SQL template in `DatasetBrowser.templates`."""

    id: str
    template: int
    criterion: str
    text: str
    calls: list[str]


class DatasetGroup(NamedTuple):
    """A semantic group. template: as above. fillings: (placeholder, value). answer_rows: JSON."""

    id: str
    template: int
    sql: str
    fillings: list[tuple[str, str]]
    answer: str
    answer_rows: str


class DatasetQuestion(NamedTuple):
    """A question. group, text: their indexes. balanced: 1 if it is in that set, else 0."""

    id: str
    group: int
    text: int
    question: str
    balanced: int


@dataclass(frozen=True)
class DatasetBrowser:
    """The browser's rows as pages/report.js reads them: JSON arrays that refer to each other by index."""

    templates: list[DatasetTemplate]
    texts: list[DatasetText]
    groups: list[DatasetGroup]
    questions: list[DatasetQuestion]


def make_browser(
    sql_templates: Path, second_reading: Path, fill_in: Path, unbalanced: Path, balanced: Path
) -> tuple[DatasetBrowser, set[str]]:
    """Collect the browser's rows, and the ledger keys of all calls that they come from.

    Raises BadInput if a row's origin does not exist.
    """
    lineage = Lineage(unbalanced.parent)
    keys: set[str] = set()

    def list_calls(stem: str, row_id: str) -> list[str]:
        nodes = _walk_without_template(lineage.trace_row(f"{stem}.parquet", row_id))
        found = [node.reference for node in nodes if node.kind == "call"]
        keys.update(found)
        return found

    templates = read_rows(sql_templates, SqlTemplate)
    texts = read_rows(second_reading, TextTemplate)
    groups = read_rows(fill_in, Group)
    kept = {question.id: question for question in read_rows(balanced, Question)}
    # Neither set holds the other: each drops questions by its own rule.
    every = {question.id: question for question in read_rows(unbalanced, Question)} | kept
    template_at = {template.id: number for number, template in enumerate(templates)}
    text_at = {text.id: number for number, text in enumerate(texts)}
    group_at = {group.id: number for number, group in enumerate(groups)}
    browser = DatasetBrowser(
        templates=[
            DatasetTemplate(
                template.id,
                template.sql,
                list_calls(sql_templates.stem, template.id),
                list(template.projection),
            )
            for template in templates
        ],
        texts=[
            DatasetText(
                text.id,
                template_at[text.sql_template],
                text.criterion,
                text.text,
                list_calls(second_reading.stem, text.id),
            )
            for text in texts
        ],
        groups=[
            DatasetGroup(
                group.id,
                template_at[group.sql_template],
                group.sql,
                [(filling.placeholder, filling.value) for filling in group.fillings],
                group.answer,
                group.answer_rows,
            )
            for group in groups
        ],
        questions=[
            DatasetQuestion(
                question.id,
                group_at[question.group],
                text_at[question.text_template],
                question.question,
                int(question.id in kept),
            )
            for _, question in sorted(every.items())
        ],
    )
    if lineage.gaps:
        raise BadInput(unbalanced.parent, f"a gap in the lineage: {lineage.gaps[0]}")
    return browser, keys


def _walk_without_template(node: LineageNode) -> list[LineageNode]:
    """List a node's ancestors, except those of its SQL template, whose calls are shown with the template."""
    of_template = {
        ancestor.key
        for parent in walk_nodes(node)
        if parent is not node and parent.reference.startswith("sql_templates.parquet#")
        for ancestor in walk_nodes(parent)
    }
    return [ancestor for ancestor in walk_nodes(node) if ancestor.key not in of_template]
