"""Show the dataset as a page: what was made, dropped and paid, and every question with what is behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tasks.artifacts.facts import ArtifactFacts, name_beside, read_facts, tally_calls
from tasks.artifacts.lineage import Lineage, Node, walk_nodes
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.rows import Group, Question, SqlTemplate, TextTemplate
from tasks.grammar.yields import CriterionYield, count_templates, count_yields, describe_drops
from tasks.reports.page import Bar, Chart, Example, Figure, Report, write_report

TOLD_OF_A_CALL = (
    "stage", "role", "model", "prompt", "prompt_digest", "attempt", "messages", "decoding", "text",
    "prompt_tokens", "completion_tokens", "parsed", "problem",
)  # fmt: skip
EXAMPLES = 12
"""How many dropped rows are shown of each reason."""
EXPLAIN = {
    "schema": "The database's columns with types and keys, by reflection: no cell is read.",
    "sql_templates": "Queries with [table.column] where values go, written by a model over joined tables.",
    "text_templates": "Every query put in words by a model, once per linguistic criterion and sample.",
    "back_check": "The texts that a model, shown several queries, matched to the right one.",
    "fill_in": "Semantic groups: a filled query and its answer, all combinations by one query per template.",
    "unbalanced": "Texts paired with the groups of their query, as each criterion's rule has it.",
    "balanced": "Equally many questions per semantic group and criterion.",
}
SUBTITLE = (
    "Question/answer pairs grounded in a relational database: each group asks the same thing in other words, "
    "and each answer is the result of the query beside it."
)
FROM_THE_DATABASE = ("schema", "fill_in")


def report(
    schema: Path,
    sql_templates: Path,
    text_templates: Path,
    back_check: Path,
    fill_in: Path,
    unbalanced: Path,
    balanced: Path,
    database: DatabaseEntry,
    out: Path,
) -> Counts:
    """Write the page's folder. What stands beside the artifacts (`*.dropped`, `*.calls`) is read too."""
    paths = (schema, sql_templates, text_templates, back_check, fill_in, unbalanced, balanced)
    facts = [read_facts(each) for each in paths]
    browser, keys = _make_browser(sql_templates, back_check, fill_in, unbalanced, balanced)
    yields = count_yields(text_templates, back_check, unbalanced, balanced)
    title = database.title or database.name
    write_report(
        Report(
            flow="grammar",
            name=database.name,
            title=f"Questions over {title}",
            subtitle=SUBTITLE,
            about=_tell_about(database),
            figures=_count_figures(facts, balanced),
            artifacts=facts,
            explain=EXPLAIN,
            feeds=[(database.name, name) for name in FROM_THE_DATABASE],
            charts=_draw_charts(yields),
            examples=_choose_examples(paths),
            browser=browser,
            calls=_read_calls(paths, keys),
        ),
        out,
    )
    pairs = len(browser["questions"])
    return Counts(pairs, pairs, {})


def _make_browser(
    sql_templates: Path, back_check: Path, fill_in: Path, unbalanced: Path, balanced: Path
) -> tuple[dict[str, Any], set[str]]:
    """Gather the browser's rows, which point at each other by number (see pages/browser.js)."""
    lineage = Lineage(unbalanced.parent)
    keys: set[str] = set()

    def list_calls(stem: str, row_id: str) -> list[str]:
        nodes = _walk_own(lineage.trace(stem, row_id))
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
    return browser, keys


def _walk_own(node: Node) -> list[Node]:
    """Walk a text's own calls, not those of the SQL template that it words: they are shown apart."""
    below = {
        (each.kind, each.reference)
        for parent in walk_nodes(node)
        if parent is not node and parent.reference.startswith("sql_templates#")
        for each in walk_nodes(parent)
    }
    return [each for each in walk_nodes(node) if (each.kind, each.reference) not in below]


def _read_calls(paths: Sequence[Path], keys: set[str]) -> dict[str, Any]:
    calls = {}
    for path in paths:
        beside = name_beside(path, "calls")
        if beside.is_file():
            for record in pq.read_table(beside, columns=["id", *TOLD_OF_A_CALL]).to_pylist():
                if record["id"] in keys:
                    calls[record.pop("id")] = {**record, "messages": json.loads(record["messages"])}
    return dict(sorted(calls.items()))


def _count_figures(facts: Sequence[ArtifactFacts], balanced: Path) -> list[Figure]:
    rows = {each.name: each.rows for each in facts}
    tally = tally_calls(call for each in facts for call in each.calls)
    return [
        Figure("question/answer pairs", rows["balanced"], "balanced"),
        Figure("SQL templates", count_templates(balanced), f"of {rows['sql_templates']:,} written"),
        Figure("texts confirmed", rows["back_check"], f"of {rows['text_templates']:,} written"),
        Figure("semantic groups", rows["fill_in"]),
        Figure("rows dropped", sum(sum(each.dropped.values()) for each in facts), "each with its reason"),
        Figure("model calls", tally.calls, f"{tally.prompt_tokens + tally.completion_tokens:,} tokens"),
    ]


def _tell_about(database: DatabaseEntry) -> list[tuple[str, str]]:
    return [
        ("Database", database.title or database.name),
        ("Description", database.description),
        ("Licence", database.licence),
        ("Source", database.source),
        ("Attribution", database.attribution),
    ]


def _draw_charts(yields: Sequence[CriterionYield]) -> list[Chart]:
    texts = [Bar(each.criterion, (each.written, each.confirmed)) for each in yields]
    questions = [Bar(each.criterion, (each.unbalanced, each.balanced)) for each in yields]
    rates = ", ".join(f"{each.criterion} {each.rate:.0%}" for each in yields if each.rate is not None)
    return [
        Chart(
            "Texts per criterion", f"confirmed by the back-check: {rates}", ("written", "confirmed"), texts
        ),
        Chart("Questions per criterion", "before and after balancing", ("unbalanced", "balanced"), questions),
    ]


def _choose_examples(paths: Sequence[Path]) -> Mapping[tuple[str, str], Sequence[Example]]:
    examples: dict[tuple[str, str], list[Example]] = {}
    for each in describe_drops(paths):
        chosen = examples.setdefault((each["artifact"], each["reason"]), [])
        if len(chosen) < EXAMPLES:
            chosen.append(Example(each["id"], each["detail"]))
    return examples
