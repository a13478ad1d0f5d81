"""Show the dataset as a page: what was made, dropped and paid, and every question with what is behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import ArtifactFacts, name_beside, read_facts, tally_calls
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.publish.browser import make_browser
from tasks.grammar.publish.dataset_page import write_report
from tasks.grammar.publish.dataset_report import Bar, Chart, Example, Figure, Report
from tasks.grammar.publish.yields import CriterionYield, count_templates, count_yields, describe_drops
from tasks.lineage.derivation import Derivation, Selection
from tasks.reports.calls import read_calls
from tasks.reports.contracts import open_contracts

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
TEXTS = ("text_templates", "back_check")
SETS = ("unbalanced", "balanced")
FROM_THE_DATABASE = ("schema", "fill_in")


def report(
    schema: Path,
    sql_templates: Path,
    text_templates: Path,
    back_check: Path,
    fill_in: Path,
    unbalanced: Path,
    balanced: Path,
    contracts: Path,
    database: DatabaseEntry,
    out: Path,
) -> Counts:
    """Write the page's folder. What stands beside the artifacts (`*.dropped`, `*.calls`) is read too."""
    paths = (schema, sql_templates, text_templates, back_check, fill_in, unbalanced, balanced)
    facts = [read_facts(each) for each in paths]
    browser, keys = make_browser(sql_templates, back_check, fill_in, unbalanced, balanced)
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
            calls=read_calls(_list_calls(paths), keys),
            contracts=open_contracts(contracts, [path.stem for path in paths], out),
        ),
        out,
    )
    pairs = len(browser["questions"])
    return Counts(pairs, pairs, {})


def _count_figures(facts: Sequence[ArtifactFacts], balanced: Path) -> list[Figure]:
    rows = {each.name: each.rows for each in facts}
    tally = tally_calls(call for each in facts for call in each.calls)
    drops = Derivation("count", tuple(Selection(f"{each.name}.dropped") for each in facts))
    calls = tuple(Selection(f"{each.name}.calls") for each in facts if each.calls)
    return [
        Figure("question/answer pairs", rows["balanced"], "balanced", _count("balanced")),
        Figure(
            "SQL templates",
            count_templates(balanced),
            f"of {rows['sql_templates']:,} written",
            Derivation("distinct", (Selection("balanced"),), "sql_template"),
        ),
        Figure(
            "texts confirmed",
            rows["back_check"],
            f"of {rows['text_templates']:,} written",
            _count("back_check"),
        ),
        Figure("semantic groups", rows["fill_in"], "", _count("fill_in")),
        Figure(
            "rows dropped",
            sum(sum(each.dropped.values()) for each in facts),
            "each with its reason",
            drops,
        ),
        Figure(
            "model calls",
            tally.calls,
            f"{tally.prompt_tokens + tally.completion_tokens:,} tokens",
            Derivation("count", calls, once=True),
        ),
    ]


def _count(artifact: str, criterion: str | None = None) -> Derivation:
    where = {} if criterion is None else {"criterion": criterion}
    return Derivation("count", (Selection(artifact, where),))


def _tell_about(database: DatabaseEntry) -> list[tuple[str, str]]:
    return [
        ("Database", database.title or database.name),
        ("Description", database.description),
        ("Licence", database.licence),
        ("Source", database.source),
        ("Attribution", database.attribution),
    ]


def _count_each(artifacts: Sequence[str], criterion: str) -> list[Derivation]:
    return [_count(each, criterion) for each in artifacts]


def _draw_charts(yields: Sequence[CriterionYield]) -> list[Chart]:
    texts = [
        Bar(each.criterion, (each.written, each.confirmed), _count_each(TEXTS, each.criterion))
        for each in yields
    ]
    questions = [
        Bar(each.criterion, (each.unbalanced, each.balanced), _count_each(SETS, each.criterion))
        for each in yields
    ]
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


def _list_calls(paths: Sequence[Path]) -> list[Path]:
    return [beside for each in paths if (beside := name_beside(each, "calls")).is_file()]
