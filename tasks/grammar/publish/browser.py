"""The question browser's data: every question with what it was made from, and the calls behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.grammar.rows import Group, Question, SqlTemplate, TextTemplate
from tasks.lineage.nodes import LineageNode, walk_nodes
from tasks.lineage.walk import Lineage


def make_browser(
    sql_templates: Path, back_check: Path, fill_in: Path, unbalanced: Path, balanced: Path
) -> tuple[dict[str, Any], set[str]]:
    """Gather the browser's rows, which point at each other by number (see report.js)."""
    lineage = Lineage(unbalanced.parent)
    keys: set[str] = set()

    def list_calls(stem: str, row_id: str) -> list[str]:
        nodes = _walk_own(lineage.trace_row(f"{stem}.parquet", row_id))
        found = [each.reference for each in nodes if each.kind == "call"]
        keys.update(found)
        return found

    templates = read_rows(sql_templates, SqlTemplate)
    texts = read_rows(back_check, TextTemplate)
    groups = read_rows(fill_in, Group)
    kept = {each.id: each for each in read_rows(balanced, Question)}
    # Neither set holds the other: each drops questions by its own rule.
    wide = {each.id: each for each in read_rows(unbalanced, Question)}
    template_at = {each.id: place for place, each in enumerate(templates)}
    text_at = {each.id: place for place, each in enumerate(texts)}
    group_at = {each.id: place for place, each in enumerate(groups)}
    browser = {
        "templates": [
            [each.id, each.sql, list_calls(sql_templates.stem, each.id), list(each.projection)]
            for each in templates
        ],
        "texts": [
            [
                each.id,
                template_at[each.sql_template],
                each.criterion,
                each.text,
                list_calls(back_check.stem, each.id),
            ]
            for each in texts
        ],
        "groups": [
            [
                each.id,
                template_at[each.sql_template],
                each.sql,
                [[filling.placeholder, filling.value] for filling in each.fillings],
                each.answer,
                each.answer_rows,
            ]
            for each in groups
        ],
        "questions": [
            [each.id, group_at[each.group], text_at[each.text_template], each.question, int(each.id in kept)]
            for _, each in sorted({**wide, **kept}.items())
        ],
    }
    if lineage.gaps:
        raise BadInput(unbalanced.parent, f"a gap in the lineage: {lineage.gaps[0]}")
    return browser, keys


def _walk_own(node: LineageNode) -> list[LineageNode]:
    """Walk a text's own calls, not those of the SQL template that it words: they are shown apart."""
    below = {
        (each.kind, each.reference)
        for parent in walk_nodes(node)
        if parent is not node and parent.reference.startswith("sql_templates.parquet#")
        for each in walk_nodes(parent)
    }
    return [each for each in walk_nodes(node) if (each.kind, each.reference) not in below]
