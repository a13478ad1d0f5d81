"""Build the data of a dataset's item viewer: each question with its query, answer, siblings and calls."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.lineage.nodes import LineageNode, walk_nodes
from tasks.lineage.walk import Lineage
from tasks.reports import blocks
from tasks.reports.blocks import OFF, Block
from tasks.reports.declared import tabulate
from tasks.reports.page import SampleQuestion, order_naturally
from tasks.reports.parts import TableBlock
from tasks.reports.tables import Cell
from tasks.reports.viewer import Filter, ViewedRow, Viewer

BALANCED, GROUPS = "balanced", "groups"
SHOWN_ROWS, SHOWN_SIBLINGS = 50, 20
"""The maximum number of result rows, and of other questions in a group, that the viewer shows."""
WIDTH = 90
"""The maximum number of characters of a SQL template that a filter shows."""


@dataclass(frozen=True)
class DatasetRows:
    """The rows of a dataset.

    `questions` contains the balanced and unbalanced questions, sorted by id. `kept` contains the ids of the
    questions in the balanced set. `calls` maps the id of each SQL template and text to the ledger keys of
    its model calls.
    """

    templates: Sequence[SqlTemplate]
    texts: Mapping[str, TextTemplate]
    groups: Mapping[str, Group]
    questions: Sequence[Question]
    kept: frozenset[str]
    calls: Mapping[str, Sequence[str]]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each SQL template, from 0, by id."""
        return {template.id: place for place, template in enumerate(self.templates)}


def read_dataset(
    sql_templates: Path, second_reading: Path, fill_in: Path, unbalanced: Path, balanced: Path
) -> DatasetRows:
    """Read a dataset's rows. Raises BadInput if a row's origin does not exist."""
    lineage = Lineage(unbalanced.parent)

    def list_calls(stem: str, row_id: str) -> list[str]:
        nodes = _walk_without_template(lineage.trace_row(f"{stem}.parquet", row_id))
        return [node.reference for node in nodes if node.kind == "call"]

    templates = read_rows(sql_templates, SqlTemplate)
    texts = read_rows(second_reading, TextTemplate)
    calls = {template.id: list_calls(sql_templates.stem, template.id) for template in templates}
    calls |= {text.id: list_calls(second_reading.stem, text.id) for text in texts}
    if lineage.gaps:
        raise BadInput(unbalanced.parent, f"the lineage of the questions is incomplete: {lineage.gaps[0]}")
    kept = {question.id: question for question in read_rows(balanced, Question)}
    # Neither set contains the other, because the sets drop questions by different rules.
    every = {question.id: question for question in read_rows(unbalanced, Question)} | kept
    return DatasetRows(
        templates,
        {text.id: text for text in texts},
        {group.id: group for group in read_rows(fill_in, Group)},
        [question for _, question in sorted(every.items())],
        frozenset(kept),
        calls,
    )


def _walk_without_template(node: LineageNode) -> list[LineageNode]:
    """List a node and its ancestors, without the SQL template and the template's ancestors.

    The calls of the SQL template are listed separately.
    """
    of_template = {
        ancestor.key
        for parent in walk_nodes(node)
        if parent is not node and parent.reference.startswith("sql_templates.parquet#")
        for ancestor in walk_nodes(parent)
    }
    return [ancestor for ancestor in walk_nodes(node) if ancestor.key not in of_template]


def list_samples(rows: DatasetRows) -> list[SampleQuestion]:
    """Return the most readable balanced question of each SQL template (see `order_naturally`)."""
    found: dict[str, Question] = {}
    for kept in rows.questions:
        if kept.id in rows.kept:
            known = found.setdefault(kept.sql_template, kept)
            if order_naturally(kept.question) < order_naturally(known.question):
                found[kept.sql_template] = kept
    return [
        SampleQuestion(f"question={question.id}", question.question, question.answer)
        for template in rows.templates
        if (question := found.get(template.id)) is not None
    ]


def tabulate_templates(rows: DatasetRows) -> TableBlock:
    """Return a table of the numbers of texts, groups and balanced questions per SQL template.

    The last column links to the template's balanced questions.
    """
    texts = {
        criterion: [text.sql_template for text in rows.texts.values() if text.criterion == criterion]
        for criterion in sorted({text.criterion for text in rows.texts.values()})
    }
    columns = {
        **{f"{name} texts": _count_of(Counter(found)) for name, found in texts.items()},
        "groups": _count_of(Counter(group.sql_template for group in rows.groups.values())),
        "questions, balanced": _count_of(
            Counter(question.sql_template for question in rows.questions if question.id in rows.kept)
        ),
    }
    lines = [(template.sql, template.id) for template in rows.templates]
    links = [[*[""] * (len(columns) - 1), f"template={place}&set={BALANCED}"] for place in range(len(lines))]
    table = tabulate(("SQL with placeholders",), lines, columns)
    return TableBlock({"templates": table}, folded=False, narrows={"templates": links})


def _count_of(counts: Mapping[str, int]) -> Callable[[str], Cell]:
    return lambda template: Cell(counts.get(template, 0), 0, 0, None, "")


def view_questions(rows: DatasetRows, artifact: Path) -> Viewer:
    """Build the viewer of all questions. `artifact` is the balanced set."""
    members: defaultdict[str, list[Question]] = defaultdict(list)
    for question in rows.questions:
        members[question.group].append(question)
    # The keys are short, because every row contains two keys.
    groups = {group: f"g{place}" for place, group in enumerate(rows.groups)}
    texts = {text: f"t{place}" for place, text in enumerate(rows.texts)}
    return Viewer(
        noun="question",
        nouns="questions",
        placeholder="words in a question, its answer or its SQL",
        empty="Choose a question to see its SQL, its answer, its model calls and the other questions of its "
        "group.",
        filters=(
            Filter("set", "Set", ((BALANCED, BALANCED),), BALANCED),
            Filter("criterion", "Criterion"),
            Filter(
                "template",
                "SQL template",
                [(str(place), _shorten(template.sql)) for place, template in enumerate(rows.templates)],
            ),
        ),
        rows=[_view_question(question, rows, (groups, texts)) for question in rows.questions],
        artifact=artifact,
        shared={texts[text.id]: _show_text(text, rows) for text in rows.texts.values()},
        # There are about as many groups as questions, so their file is loaded when the user opens a group.
        files={
            GROUPS: {
                groups[group.id]: _show_group(group, rows, members[group.id])
                for group in rows.groups.values()
            }
        },
    )


def _shorten(sql: str) -> str:
    return sql if len(sql) <= WIDTH else f"{sql[: WIDTH - 1]}…"


def _view_question(
    question: Question, rows: DatasetRows, keys: tuple[Mapping[str, str], Mapping[str, str]]
) -> ViewedRow:
    groups, texts = keys
    is_kept = question.id in rows.kept
    outside = [] if is_kept else [("not in the balanced set", OFF)]
    return ViewedRow(
        id=question.id,
        title=question.question,
        values=(BALANCED if is_kept else "", question.criterion, str(rows.places[question.sql_template])),
        tags=[(question.criterion, ""), *outside, (question.answer, "answer")],
        blocks=[
            blocks.title("Question", (question.criterion, "")),
            blocks.stored(GROUPS, groups[question.group]),
            blocks.shared(texts[question.text_template]),
        ],
        traced=() if is_kept else (("unbalanced", question.id),),
        find=f"{question.answer}\n{question.sql}",
        also=[question.group],
    )


def _show_group(group: Group, rows: DatasetRows, members: Sequence[Question]) -> list[Block]:
    template = rows.templates[rows.places[group.sql_template]]
    result = json.loads(group.answer_rows)
    width = len(result[0]) if result else 0
    columns = template.projection if width == len(template.projection) else [""] * width
    return [
        blocks.heading("Answer"),
        blocks.text(group.answer, "reply"),
        blocks.heading("Query"),
        blocks.code(group.sql, sql=True),
        blocks.heading("Query result"),
        blocks.table(columns, result[:SHOWN_ROWS], total=len(result)),
        blocks.heading(f"Other phrasings of the question ({max(0, len(members) - 1)})"),
        # The viewer omits the open question, so the list contains one more.
        blocks.rows(member.id for member in members[: SHOWN_SIBLINGS + 1]),
        blocks.ids(group=group.id),
    ]


def _show_text(text: TextTemplate, rows: DatasetRows) -> list[Block]:
    template = rows.templates[rows.places[text.sql_template]]
    return [
        blocks.heading("Made from"),
        blocks.code(text.text, slots=True),
        blocks.code(template.sql, sql=True, slots=True),
        blocks.calls("Model calls for the wording", rows.calls[text.id]),
        blocks.calls("Model calls for the SQL template", rows.calls[template.id]),
        blocks.ids(text=text.id, **{"SQL template": template.id}),
    ]
