"""Stage: write a dataset's page: artifacts, drops, model calls, and every question with its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import ArtifactStatistics, name_beside, read_statistics, sum_calls
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.glossary import Term
from tasks.grammar.publish.authorship import AUTHORSHIP, list_own
from tasks.grammar.publish.browser import DatasetBrowser, make_browser
from tasks.grammar.publish.dataset_content import Bar, Chart, DatasetContent, Example
from tasks.grammar.publish.dataset_record import list_dataset_figures
from tasks.grammar.publish.readings import describe_reading
from tasks.grammar.publish.yields import CriterionYield, count_distinct, count_yields, list_drops
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.calls import read_calls
from tasks.reports.contracts import open_contracts
from tasks.reports.folder import BrowsedRows, write_page
from tasks.reports.frame import open_templates
from tasks.reports.page import DATASETS, Headline, Page, SampleQuestion, choose_samples

PAGES = Path(__file__).parents[1] / "pages"
EXAMPLES = 12
"""Maximum number of dropped rows that are shown for each reason."""
SUBTITLE = (
    "Question/answer pairs grounded in a relational database: each group asks the same thing in other words, "
    "and each answer is the result of the query beside it."
)
TEXTS = ("text_templates", "back_check")
SECOND = "second_reading"
SETS = ("unbalanced", "balanced")
FROM_THE_DATABASE = ("schema", "fill_in")


def report(
    glossary: Path,
    schema: Path,
    own_templates: Path,
    sql_templates: Path,
    text_templates: Path,
    back_check: Path,
    second_reading: Path,
    fill_in: Path,
    unbalanced: Path,
    balanced: Path,
    contracts: Path,
    database: DatabaseEntry,
    settings: Mapping[str, object],
    out: Path,
    metrics: Path,
) -> Counts:
    """Write the page's folder; the artifacts' `*.dropped` and `*.calls` files are read too.

    settings: of the second reading, dotted name -> value.
    """
    paths = (
        *list_own(glossary), schema, *list_own(own_templates), sql_templates, text_templates, back_check,
        second_reading, fill_in, unbalanced, balanced,
    )  # fmt: skip
    artifacts = [read_statistics(path) for path in paths]
    reading = describe_reading(settings)
    browser, call_keys = make_browser(sql_templates, second_reading, fill_in, unbalanced, balanced)
    page = Page(
        section=DATASETS,
        flow="grammar",
        name=database.name,
        title=f"Questions over {database.title or database.name}",
        subtitle=SUBTITLE,
        headlines=_make_headlines(artifacts, balanced, read=reading.done),
        samples=choose_samples(_list_samples(browser)),
    )
    wording = AUTHORSHIP[database.templates]
    content = DatasetContent(
        about=_describe_database(database),
        artifacts=artifacts,
        explanations={**wording.explanations, second_reading.stem: reading.explanation},
        feeds=[(database.name, name) for name in FROM_THE_DATABASE],
        charts=_make_charts(
            count_yields(text_templates, back_check, second_reading, unbalanced, balanced),
            wording.confirmed,
            read=reading.done,
        ),
        examples=_choose_examples(paths),
        contracts=open_contracts(contracts, [path.stem for path in paths], out),
        terms=read_rows(glossary, Term),
    )
    write_page(
        out,
        page,
        open_templates("tasks.grammar").get_template("report.html"),
        content,
        assets=[PAGES / "report.js"],
        rows=BrowsedRows("questions", browser, balanced),
        calls=read_calls(_list_calls(paths), call_keys),
        figures=list_dataset_figures(content),
        metrics=metrics,
    )
    pairs = len(browser.questions)
    return Counts(pairs, pairs, {})


def _list_samples(browser: DatasetBrowser) -> list[SampleQuestion]:
    """List a question of the balanced set of every SQL template."""
    by_template = {
        browser.texts[question.text].template: question for question in browser.questions if question.balanced
    }
    return [
        SampleQuestion(
            f"question={by_template[place].id}",
            by_template[place].question,
            browser.groups[by_template[place].group].answer,
        )
        for place in sorted(by_template)
    ]


def _make_headlines(artifacts: Sequence[ArtifactStatistics], balanced: Path, *, read: bool) -> list[Headline]:
    rows = {artifact.name: artifact.rows for artifact in artifacts}
    tally = sum_calls(call for artifact in artifacts for call in artifact.calls)
    drops = Derivation("count", tuple(Selection(f"{artifact.name}.dropped") for artifact in artifacts))
    calls = tuple(Selection(f"{artifact.name}.calls") for artifact in artifacts if artifact.calls)
    again = Headline(
        "texts read the same a second time",
        rows[SECOND],
        f"of {rows['back_check']:,} confirmed",
        _count_rows(SECOND),
    )
    return [
        Headline("question/answer pairs", rows["balanced"], "balanced", _count_rows("balanced")),
        Headline(
            "distinct texts",
            count_distinct(balanced, "text_template"),
            "with slots; the pairs fill them in",
            Derivation("distinct", (Selection("balanced"),), "text_template"),
        ),
        Headline(
            "SQL templates",
            count_distinct(balanced, "sql_template"),
            f"of {rows['sql_templates']:,} written",
            Derivation("distinct", (Selection("balanced"),), "sql_template"),
        ),
        Headline(
            "texts confirmed",
            rows["back_check"],
            f"of {rows['text_templates']:,} written" + ("" if read else "; not read a second time"),
            _count_rows("back_check"),
        ),
        *([again] if read else []),
        Headline("semantic groups", rows["fill_in"], "", _count_rows("fill_in")),
        Headline(
            "rows dropped",
            sum(sum(artifact.dropped.values()) for artifact in artifacts),
            "each with its reason",
            drops,
        ),
        Headline(
            "model calls",
            tally.calls,
            f"{tally.prompt_tokens + tally.completion_tokens:,} tokens",
            Derivation("count", calls, once=True),
        ),
    ]


def _count_rows(artifact: str, criterion: str | None = None) -> Derivation:
    where = {} if criterion is None else {"criterion": criterion}
    return Derivation("count", (Selection(artifact, where),))


def _describe_database(database: DatabaseEntry) -> list[tuple[str, str]]:
    return [
        ("Database", database.title or database.name),
        ("Description", database.description),
        ("Licence", database.licence),
        ("Source", database.source),
        ("Attribution", database.attribution),
    ]


def _make_charts(yields: Sequence[CriterionYield], confirmed: str, *, read: bool) -> list[Chart]:
    def make_bar(criterion: str, counts: Sequence[int], artifacts: Sequence[str]) -> Bar:
        return Bar(criterion, counts, [_count_rows(artifact, criterion) for artifact in artifacts])

    steps = (*TEXTS, SECOND) if read else TEXTS
    texts = [
        make_bar(own.criterion, (own.written, own.confirmed, own.read)[: len(steps)], steps) for own in yields
    ]
    questions = [make_bar(own.criterion, (own.unbalanced, own.balanced), SETS) for own in yields]
    rates = ", ".join(f"{own.criterion} {own.rate:.0%}" for own in yields if own.rate is not None)
    return [
        Chart(
            "Texts per criterion",
            f"{confirmed}: {rates}",
            ("written", "confirmed", "read the same")[: len(steps)],
            texts,
        ),
        Chart("Questions per criterion", "before and after balancing", ("unbalanced", "balanced"), questions),
    ]


def _choose_examples(paths: Sequence[Path]) -> Mapping[tuple[str, str], Sequence[Example]]:
    examples: dict[tuple[str, str], list[Example]] = {}
    for drop in list_drops(paths):
        chosen = examples.setdefault((drop.artifact, drop.reason), [])
        if len(chosen) < EXAMPLES:
            chosen.append(Example(drop.id, drop.detail))
    return examples


def _list_calls(paths: Sequence[Path]) -> list[Path]:
    return [beside for path in paths if (beside := name_beside(path, "calls")).is_file()]
