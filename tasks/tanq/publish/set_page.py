"""Stage: write a question set's page: TANQ's Tables 3 and 4, row counts, and evidence for answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import name_beside, sum_calls
from tasks.judging.canaries import CanaryRow
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.calls import read_calls
from tasks.reports.contracts import open_contracts
from tasks.reports.figures_file import read_figures
from tasks.reports.page import DATASETS, Headline, Page, SampleQuestion, choose_samples
from tasks.reports.parts import (
    Browse,
    Facts,
    FormLink,
    PagePart,
    TableBlock,
    TextBlock,
    Yields,
    make_contracts_part,
)
from tasks.reports.plurals import count_of
from tasks.reports.report_page import Form, write_page
from tasks.reports.viewer import Filter, Viewer
from tasks.reports.yields import StageYield, derive_calls, read_yield
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.article_index import ARTICLES, IndexedArticle
from tasks.tanq.score.human_tables import make_table_form
from tasks.tanq.tables_set import ITEMS, SetStatistics, describe_means, tabulate_set
from tasks.tanq.view import ASSETS, view_questions

FORM = "to_answer.csv"
"""The CSV form for human answers to the questions, linked on the page."""
TO_ANSWER = (
    "Write a table in the “table” column, with lines of the form a|b, and your name in the “rater” column. "
    "Then put the file into data/labels, and set an evaluation's `people` in params.yaml to the path of "
    "the file."
)
COUNTED = (
    "Depending on the stage, the rows are list questions, extended questions, proofs, verdicts, tables or "
    "final questions. To see the reasons for dropped rows, choose a number in the “Dropped” column."
)
MOST_DROPPED = 50
"""Maximum number of dropped rows to list per reason."""
SUBTITLE = (
    "Each question adds relations from a knowledge graph to a list question (a question whose answer is a "
    "list). The answer is a table, and every cell has evidence in an article. Some questions also require "
    "filters, conversions, calculations or rounding."
)
LEAST_CANARIES = 0.9
"""Minimum accuracy of the verifier on test cases (0 to 1); below this, the page shows a warning."""
FEW = 30
"""Minimum number of questions.

With fewer questions, the page warns that shares by kind and skill are imprecise.
"""


def set_page(
    list_questions: Path,
    seeds: Path,
    extend: Path,
    proofs: Path,
    candidates: Path,
    verify: Path,
    tables: Path,
    rephrase: Path,
    skills: Path,
    items: Path,
    verify_canaries: Path,
    contracts: Path,
    statistics: Path,
    articles: Path,
    key: str,
    out: Path,
    metrics: Path,
) -> Counts:
    """Write the page into the folder `out`, and return the number of questions.

    Also reads the artifacts' `*.dropped` and `*.calls` files. articles: the source's folder of articles, for
    the licences. contracts: the folder with the findings. statistics: the set's `statistics.json`. Raises
    BadInput if `statistics` is not valid.
    """
    paths = (list_questions, seeds, extend, proofs, candidates, verify, tables, rephrase, skills, items)
    stages = [read_yield(path) for path in paths]
    rows = sorted(read_rows(items, TanqItem), key=lambda row: (row.kind, row.shape, row.id))
    told = read_figures(statistics, SetStatistics)
    tested = read_rows(verify_canaries, CanaryRow)
    calls = list_item_calls(rows, skills, rephrase, verify)
    beside = [path for path in (name_beside(path, "calls") for path in paths) if path.is_file()]
    viewer = Viewer(
        "question",
        "questions",
        "words in a question or in its answer",
        "Choose a question to see its answer, and the evidence for every cell.",
        (Filter("kind", "Kind"), Filter("skill", "Skill"), Filter("shape", "Shape")),
        view_questions(rows, calls),
        items,
    )
    write_page(
        out,
        Page(
            DATASETS,
            "tanq",
            key,
            f"Questions whose answers are tables: {key}",
            SUBTITLE,
            _make_headlines(rows, stages),
            list_set_warnings(rows, tested),
            samples=choose_samples([SampleQuestion(f"question={row.id}", row.question, "") for row in rows]),
            counts="questions",
        ),
        [
            PagePart("set", "The set", "The set", [TableBlock(tabulate_set(told))]),
            PagePart(
                "yields",
                "Rows after each stage",
                "Yields",
                [TextBlock(COUNTED), Yields(stages, through=False, most=MOST_DROPPED)],
            ),
            make_contracts_part(open_contracts(contracts, [path.stem for path in paths], out)),
            Browse("Questions", viewer),
            PagePart(
                "about",
                "About",
                "About",
                [
                    Facts([*_list_facts(rows, told, tested), *list_licences(rows, articles)]),
                    FormLink(FORM, "Questions to answer (CSV)", TO_ANSWER),
                ],
            ),
        ],
        assets=ASSETS,
        calls=read_calls(beside, {call for row_calls in calls.values() for call in row_calls}),
        form=Form(FORM, make_table_form(rows)),
        metrics=metrics,
    )
    return Counts(len(rows), len(rows), {})


def list_item_calls(
    items: Iterable[TanqItem], skills: Path, rephrase: Path, verify: Path
) -> dict[str, list[str]]:
    """Return the distinct ids of each item's model calls: calls for rephrasing, then calls for verdicts."""
    skilled = pq.read_table(skills, columns=["id", "question"]).to_pylist()
    questions = {row["id"]: row["question"] for row in skilled}
    worded, verified = _read_calls_by_row(rephrase), _read_calls_by_row(verify)
    return {
        item.id: list(
            dict.fromkeys(
                [
                    *worded.get(questions.get(item.id, ""), []),
                    *(call for proof in item.proofs for call in verified.get(proof.id, [])),
                ]
            )
        )
        for item in items
    }


def _read_calls_by_row(artifact: Path) -> Mapping[str, list[str]]:
    calls: defaultdict[str, list[str]] = defaultdict(list)
    for row in pq.read_table(artifact, columns=["id", "origin"]).to_pylist():
        calls[row["id"]] += [origin["reference"] for origin in row["origin"] if origin["kind"] == "call"]
    return calls


def list_set_warnings(items: Collection[TanqItem], canaries: Sequence[CanaryRow]) -> list[str]:
    """List warnings: few questions, cells without a proof, low accuracy of the verifier on test cases."""
    warnings = []
    if len(items) < FEW:
        warnings.append(
            f"With only {count_of(len(items), 'question')}, shares by kind and skill are imprecise."
        )
    bare = sum(count_bare(item) for item in items)
    if bare:
        warnings.append(f"Filled cells without a proof: {bare}.")
    agreed = [row.agreed for row in canaries if row.agreed is not None]
    if agreed and sum(agreed) / len(agreed) < LEAST_CANARIES:
        share = f"{sum(agreed)} of {len(agreed)}"
        warnings.append(
            f"The verifier, which checks the evidence, labelled only {share} test cases correctly."
        )
    return warnings


def count_bare(item: TanqItem) -> int:
    """Count an item's filled cells for which no fact has a proof."""
    proven = {proof.fact for proof in item.proofs}
    return sum(bool(cell.values) and proven.isdisjoint(cell.facts) for row in item.rows for cell in row.cells)


def _make_headlines(items: Sequence[TanqItem], stages: Sequence[StageYield]) -> list[Headline]:
    kinds = Counter(item.kind for item in items)
    filled = sum(bool(cell.values) for item in items for row in item.rows for cell in row.cells)
    tally = sum_calls(call for stage in stages for call in stage.artifact.calls)
    numbers = tuple(sorted({len(item.skills) for item in items if item.skills}))
    skilled = Derivation("count", (Selection("items", {"count(skills)": numbers}),))
    return [
        Headline(
            "questions",
            len(items),
            ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())),
            Derivation("count", (ITEMS,)),
        ),
        Headline(
            "shapes",
            len({item.shape for item in items}),
            "combinations of kind, noun, relations and skills",
            Derivation("distinct", (ITEMS,), "shape"),
        ),
        Headline(
            "cells",
            filled,
            f"with {sum(len(item.proofs) for item in items):,} proofs",
            Derivation("filled cells", (ITEMS,)),
        ),
        Headline("questions with a skill", sum(bool(item.skills) for item in items), "", skilled),
        Headline(
            "model calls",
            tally.calls,
            f"{tally.prompt_tokens + tally.completion_tokens:,} tokens",
            derive_calls(stages),
        ),
    ]


def list_licences(items: Sequence[TanqItem], articles: Path) -> list[tuple[str, str]]:
    """Return the licences and attributions of the proofs' texts, with the number of articles for each."""
    used = {proof.article for item in items for proof in item.proofs}
    counts = Counter(
        (row.licence, row.attribution)
        for row in read_rows(articles / ARTICLES, IndexedArticle)
        if row.article in used
    )
    return [
        (
            "Evidence licence",
            f"{licence or 'unknown'}: {said or 'no attribution'} ({count_of(count, 'article')})",
        )
        for (licence, said), count in sorted(counts.items())
    ]


def _list_facts(
    items: Sequence[TanqItem], told: SetStatistics, canaries: Sequence[CanaryRow]
) -> list[tuple[str, str]]:
    sources = Counter(item.source for item in items)
    agreed = [row.agreed for row in canaries if row.agreed is not None]
    return [
        *describe_means(told),
        ("Sources", ", ".join(f"{name} ({count:,})" for name, count in sorted(sources.items()))),
        ("Verifier on test cases", f"{sum(agreed):,} of {len(agreed):,} correct" if agreed else ""),
    ]
