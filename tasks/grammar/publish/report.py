"""Stage: write a dataset's page: artifacts, dropped rows, model calls, and all questions with sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import (
    ArtifactStatistics,
    CallStatistics,
    CallTotals,
    group_by_prompt,
    name_beside,
    sum_calls,
)
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile
from tasks.grammar.construct.glossary import Term
from tasks.grammar.publish.authorship import describe_authorship, describe_reading, list_own
from tasks.grammar.publish.column_facts import INTRODUCTION, describe_columns
from tasks.grammar.publish.graph_layout import Layout, lay_out
from tasks.grammar.publish.view import list_samples, read_dataset, tabulate_templates, view_questions
from tasks.grammar.publish.yields import AS_WRITTEN, CriterionYield, count_distinct, count_same, count_yields
from tasks.lineage.derivation import Derivation
from tasks.lineage.figures import encode_figure
from tasks.lineage.selection import CellValue, Selection
from tasks.reports.calls import read_calls
from tasks.reports.charts import Bar, Bars
from tasks.reports.contracts import open_contracts
from tasks.reports.page import DATASETS, Headline, Page, choose_samples
from tasks.reports.parts import (
    Browse,
    Charts,
    Component,
    Facts,
    PagePart,
    PartBlock,
    TextBlock,
    Yields,
    make_about_part,
    make_contracts_part,
)
from tasks.reports.plurals import count_of
from tasks.reports.report_page import write_page
from tasks.reports.yields import StageYield, read_yield

EXAMPLES = 12
"""The maximum number of dropped rows that the page shows per reason."""
SUBTITLE = (
    "Question/answer pairs grounded in a relational database. The questions in a group have the same "
    "meaning but different wording. Each answer is the result of the query shown with it."
)
TEXTS = ("text_templates", "back_check")
SECOND = "second_reading"
SETS = ("unbalanced", "balanced")
FROM_THE_DATABASE = ("columns", "schema", "fill_in")
"""The artifacts that stages read from the database. The graph has edges from the database to these
artifacts."""


@dataclass(frozen=True)
class MadeGraph:
    """The data of pages/made.html.

    `stages` contains the numbers of rows and dropped rows, by artifact. For `prompts`, see `group_by_prompt`.
    """

    stages: Mapping[str, StageYield]
    layout: Layout
    explanations: Mapping[str, str]
    prompts: Sequence[tuple[str, CallStatistics, CallTotals]]


def report(
    glossary: Path,
    columns: Path,
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
    """Write the page's folder from the artifacts and their `*.dropped` and `*.calls` files.

    `settings` contains the settings of the second reading, by dotted name.
    """
    paths = (
        *list_own(glossary), *list_own(columns), schema, *list_own(own_templates), sql_templates,
        text_templates, back_check, second_reading, fill_in, unbalanced, balanced,
    )  # fmt: skip
    stages = {path.stem: read_yield(path) for path in paths}
    artifacts = [stage.artifact for stage in stages.values()]
    reading = describe_reading(settings)
    wording = describe_authorship(database)
    rows = read_dataset(sql_templates, second_reading, fill_in, unbalanced, balanced)
    charts = _draw_yields(
        count_yields(text_templates, back_check, second_reading, unbalanced, balanced),
        wording.confirmed,
        read=reading.done,
    )
    explanations = {**wording.explanations, second_reading.stem: reading.explanation}
    terms = read_rows(glossary, Term)
    page = Page(
        section=DATASETS,
        flow="grammar",
        name=database.name,
        title=f"Questions about {database.title or database.name}",
        subtitle=SUBTITLE,
        headlines=_make_headlines(artifacts, second_reading, balanced, read=reading.done),
        samples=choose_samples(list_samples(rows)),
        counts="question/answer pairs",
    )
    made = MadeGraph(
        stages, lay_out_artifacts(database.name, artifacts), explanations, group_by_prompt(artifacts)
    )
    write_page(
        out,
        page,
        [
            PagePart(
                "made", "How the dataset was made", "How the dataset was made", [Component("made.html", made)]
            ),
            PagePart("glossary", "Glossary", "Glossary", _show_terms(database.name, terms) if terms else []),
            PagePart("columns", "Columns", "Columns", _show_columns(database.name, columns, schema)),
            PagePart("yields", "Yields", "Yields", [Charts(charts)]),
            PagePart(
                "drops",
                "Dropped rows, by reason",
                "Drops",
                [Yields(list(stages.values()), through=False, most=EXAMPLES)],
            ),
            make_contracts_part(open_contracts(contracts, list(stages), out)),
            PagePart("templates", "SQL templates", "Templates", [tabulate_templates(rows)]),
            Browse("Questions", view_questions(rows, balanced)),
            make_about_part(_describe_database(database, artifacts)),
        ],
        calls=read_calls(_list_calls(paths), {key for keys in rows.calls.values() for key in keys}),
        figures=list_dataset_figures(charts, artifacts),
        tables={},
        metrics=metrics,
        package="tasks.grammar",
    )
    return Counts(len(rows.questions), len(rows.questions), {})


def lay_out_artifacts(database: str, artifacts: Sequence[ArtifactStatistics]) -> Layout:
    """Return the layout of the artifact graph, which starts at the database and follows the rows' origins."""
    from_rows = [(source, artifact.name) for artifact in artifacts for source in artifact.sources]
    feeds = [(database, name) for name in FROM_THE_DATABASE]
    return lay_out([database, *(artifact.name for artifact in artifacts)], [*from_rows, *feeds])


def _show_terms(database: str, terms: Sequence[Term]) -> list[PartBlock]:
    by = {"proposed": "proposed by a model", "comment": "the database's comment"}
    return [
        TextBlock(
            "Questions use these words for tables and columns whose names are unclear. Words that a model "
            f"proposed are marked. To replace these words, set databases.{database}.glossary in params.yaml."
        ),
        Facts([(term.id, f"{term.words} ({by.get(term.source, 'written by a person')})") for term in terms]),
    ]


def _show_columns(database: str, columns: Path, schema: Path) -> list[PartBlock]:
    facts = describe_columns(list(read_rows(columns, ColumnProfile)), list(read_rows(schema, Column)))
    return [TextBlock(INTRODUCTION.format(database=database)), Facts(facts)] if facts else []


def _make_headlines(
    artifacts: Sequence[ArtifactStatistics], second_reading: Path, balanced: Path, *, read: bool
) -> list[Headline]:
    rows = {artifact.name: artifact.rows for artifact in artifacts}
    tally = sum_calls(call for artifact in artifacts for call in artifact.calls)
    drops = Derivation("count", tuple(Selection(f"{artifact.name}.dropped") for artifact in artifacts))
    calls = tuple(Selection(f"{artifact.name}.calls") for artifact in artifacts if artifact.calls)
    again = Headline(
        "texts confirmed by the second reading",
        count_same(second_reading),
        f"of {rows['back_check']:,} confirmed by the back-check",
        _count_rows(SECOND),
    )
    return [
        Headline("question/answer pairs", rows["balanced"], "balanced", _count_rows("balanced")),
        Headline(
            "distinct texts",
            count_distinct(balanced, "text_template"),
            "with placeholders, before values are filled in",
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
            f"of {rows['text_templates']:,} written" + ("" if read else "; second reading turned off"),
            _count_rows("back_check"),
        ),
        *([again] if read else []),
        Headline("semantic groups", rows["fill_in"], "", _count_rows("fill_in")),
        Headline(
            "rows dropped",
            sum(sum(artifact.dropped.values()) for artifact in artifacts),
            "listed below with their reasons",
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
    where: dict[str, CellValue | tuple[CellValue, ...]] = (
        {} if criterion is None else {"criterion": criterion}
    )
    if artifact == SECOND:
        where["reading"] = AS_WRITTEN
    return Derivation("count", (Selection(artifact, where),))


def _describe_database(
    database: DatabaseEntry, artifacts: Sequence[ArtifactStatistics]
) -> list[tuple[str, str]]:
    total = sum_calls(call for artifact in artifacts for call in artifact.calls)
    paid = (
        f"{count_of(total.calls, 'call')}, {total.prompt_tokens:,} input tokens, "
        f"{total.completion_tokens:,} output tokens"
        + (f" (estimated for {count_of(total.estimated, 'call')})" if total.estimated else "")
    )
    return [
        ("Database", database.title or database.name),
        ("Description", database.description),
        ("Licence", database.licence),
        ("Source", database.source),
        ("Attribution", database.attribution),
        ("Model calls in total", paid),
    ]


def _draw_yields(yields: Sequence[CriterionYield], confirmed: str, *, read: bool) -> list[Bars]:
    def make_bar(criterion: str, counts: Sequence[int], artifacts: Sequence[str]) -> Bar:
        return Bar(criterion, counts, [_count_rows(artifact, criterion) for artifact in artifacts])

    steps = (*TEXTS, SECOND) if read else TEXTS
    names = ("written", "confirmed", "confirmed by the second reading")[: len(steps)]
    texts = [
        make_bar(found.criterion, (found.written, found.confirmed, found.read)[: len(steps)], steps)
        for found in yields
    ]
    questions = [make_bar(found.criterion, (found.unbalanced, found.balanced), SETS) for found in yields]
    rates = ", ".join(f"{found.criterion} {found.rate:.0%}" for found in yields if found.rate is not None)
    return [
        Bars(
            "Texts per criterion",
            names,
            texts,
            f"share of texts that are {confirmed}: {rates}",
            dict.fromkeys(names[1:], "s1"),
            "/charts/0/bars",
        ),
        Bars(
            "Questions per criterion",
            SETS,
            questions,
            "in the sets before and after balancing",
            {SETS[1]: "s1"},
            "/charts/1/bars",
        ),
    ]


def _list_calls(paths: Sequence[Path]) -> list[Path]:
    return [beside for path in paths if (beside := name_beside(path, "calls")).is_file()]


def list_dataset_figures(
    charts: Sequence[Bars], artifacts: Sequence[ArtifactStatistics]
) -> dict[str, object]:
    """Return the sections that a dataset adds to report.json: charts, artifacts and calls."""
    with_calls = [artifact.name for artifact in artifacts if artifact.calls]
    total = sum_calls(call for artifact in artifacts for call in artifact.calls)
    return {
        "charts": [
            {"title": chart.title, "bars": [_describe_bar(chart.steps, bar) for bar in chart.bars]}
            for chart in charts
        ],
        "artifacts": [_describe_artifact(artifact) for artifact in artifacts],
        "calls": _describe_calls(total, with_calls),
    }


def _describe_bar(steps: Sequence[str], bar: Bar) -> dict[str, object]:
    return {
        "label": bar.label,
        "counts": [
            {"step": step, **encode_figure(count, derivation)}
            for step, count, derivation in zip(steps, bar.counts, bar.derivations, strict=True)
        ],
    }


def _describe_artifact(artifact: ArtifactStatistics) -> dict[str, object]:
    dropped = f"{artifact.name}.dropped"
    return {
        "name": artifact.name,
        "rows": encode_figure(artifact.rows, Derivation("count", (Selection(artifact.name),))),
        "dropped": [
            {
                "reason": reason,
                **encode_figure(count, Derivation("count", (Selection(dropped, {"reason": reason}),))),
            }
            for reason, count in artifact.dropped.items()
        ],
        **({"calls": _describe_calls(sum_calls(artifact.calls), [artifact.name])} if artifact.calls else {}),
    }


def _describe_calls(tally: CallTotals, artifacts: Sequence[str]) -> dict[str, object]:
    """Encode the numbers of calls and tokens. A call that several artifacts use counts once."""

    def derive(
        value: int, measure: str, column: str = "", where: Mapping[str, bool] | None = None
    ) -> dict[str, object]:
        rows = tuple(Selection(f"{name}.calls", dict(where or {})) for name in artifacts)
        return encode_figure(value, Derivation(measure, rows, column, once=True))

    return {
        "calls": derive(tally.calls, "count"),
        "unparsed": derive(tally.unparsed, "count", where={"parsed": False}),
        "prompt_tokens": derive(tally.prompt_tokens, "sum", "prompt_tokens"),
        "completion_tokens": derive(tally.completion_tokens, "sum", "completion_tokens"),
        "estimated": derive(tally.estimated, "count", where={"estimated": True}),
    }
