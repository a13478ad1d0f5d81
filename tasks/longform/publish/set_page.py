"""Stage: write the page of a question set: Table 1, the yield of every stage, and a viewer of questions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import (
    name_beside,
    sum_calls,
)
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.labels import UNREAD
from tasks.longform.tables import describe_set
from tasks.longform.view import show_items, view_questions
from tasks.reports.calls import read_calls
from tasks.reports.contracts import ContractResults, open_contracts
from tasks.reports.page import DATASETS, Headline, Page, SampleQuestion, choose_samples
from tasks.reports.parts import Browse, ContractList, PagePart, TableBlock, TextBlock, Yields, make_about_part
from tasks.reports.report_page import write_page
from tasks.reports.yields import StageYield, derive_calls, derive_dropped, read_yield

THROUGH = (
    "Every question goes through the stages in this order. If a stage drops a question, later stages do not "
    "see it. To see the reasons, choose a number in the “Dropped” column."
)
SUBTITLE = (
    "Each question needs several queries and a synthesis of their results. Each question has a synthetic "
    "database and a reference answer. Every claim in the reference answer has a query that supports it."
)


def set_page(
    control: Path,
    condense: Path,
    confirm: Path,
    conjecture: Path,
    construct: Path,
    conclude: Path,
    classify: Path,
    items: Path,
    contracts: Path,
    statistics: Path,
    key: str,
    out: Path,
    metrics: Path,
) -> Counts:
    """Write the page into the folder `out`, and return counts of questions.

    The stage also reads the `*.dropped` and `*.calls` files of the artifacts. contracts: the folder with the
    findings of the stage `contracts`. statistics: the set's `statistics.json`.
    """
    paths = (control, condense, confirm, conjecture, construct, conclude, classify)
    stages = [read_yield(path) for path in paths]
    rows = read_rows(items, LongformItem)
    answers = read_rows(conclude, Conclusion)
    shown = show_items(
        rows, read_rows(control, ControlledQuestion), read_rows(construct, SyntheticDatabase), answers
    )
    used = list_calls(paths)
    figures = json.loads(statistics.read_text(encoding="utf-8"))
    findings = open_contracts(contracts, [path.stem for path in (*paths, items)], out)
    beside = [path for path in (name_beside(path, "calls") for path in paths) if path.is_file()]
    write_page(
        out,
        Page(
            DATASETS,
            "longform",
            key,
            f"Long-form question set: {key}",
            SUBTITLE,
            _make_headlines(figures, stages),
            list_warnings(rows),
            samples=choose_samples(
                [SampleQuestion(f"question={row.id}", row.question, row.reference) for row in rows]
            ),
            counts="questions",
        ),
        [
            PagePart("set", "The set (Table 1)", "The set", [TableBlock({"1": describe_set(figures)})]),
            PagePart("yields", "Rows after each stage", "Yields", [TextBlock(THROUGH), Yields(stages)]),
            PagePart("contracts", "Contracts", "Contracts", _list_contracts(findings)),
            Browse("Questions", view_questions(rows, shown, answers, used, items)),
            make_about_part(_list_facts(rows, figures)),
        ],
        calls=read_calls(beside, {call for row in rows for call in used.get(row.id, [])}),
        metrics=metrics,
    )
    return Counts(len(rows), len(rows), {})


def _list_contracts(findings: ContractResults) -> list[TextBlock | ContractList]:
    held, checked = findings.count("held"), len(findings.findings)
    said = (
        f"{held:,} of {checked:,} contracts hold. One of the contracts requires that the query of "
        "every claim returns the same result on a database that is rebuilt from its SQL script."
    )
    return [TextBlock(said), ContractList(findings)]


def list_calls(artifacts: Iterable[Path]) -> dict[str, list[str]]:
    """Map each question id to the ids of its calls in all artifacts, without duplicates.

    All artifacts use the question's id as the row id.
    """
    calls: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for path in artifacts:
        for row in pq.read_table(path, columns=["id", "origin"]).to_pylist():
            calls[row["id"]] |= {
                origin["reference"]: None
                for origin in row["origin"]
                if origin["kind"] == "call" and origin["reference"]
            }
    return {row: list(keys) for row, keys in calls.items()}


def list_warnings(items: Sequence[LongformItem]) -> list[str]:
    """Warn about questions that no person has confirmed."""
    unread = sum(item.confirmed_by in UNREAD for item in items)
    if not unread:
        return []
    return [f"{unread} of {len(items)} questions have not been confirmed by a person."]


def _make_headlines(figures: Mapping[str, Any], stages: Sequence[StageYield]) -> list[Headline]:
    begun = stages[0].artifact.rows + len(stages[0].dropped)
    tally = sum_calls(call for stage in stages for call in stage.artifact.calls)
    dropped = sum(len(stage.dropped) for stage in stages)
    kinds = ", ".join(f"{kind['items']:,} {name}" for name, kind in figures["by_kind"].items())
    return [
        Headline(
            "questions",
            figures["items"],
            f"of {begun:,} questions at the start; {kinds}",
            Derivation("count", (Selection("items"),)),
        ),
        Headline(
            "claims",
            figures["claims"],
            "each with a query",
            Derivation("sum", (Selection("items"),), "count(claims)"),
        ),
        Headline("dropped", dropped, "listed below with their reasons", derive_dropped(stages)),
        Headline(
            "model calls",
            tally.calls,
            f"{tally.prompt_tokens + tally.completion_tokens:,} tokens",
            derive_calls(stages),
        ),
    ]


def _list_facts(items: Sequence[LongformItem], figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    databases = Counter(item.database for item in items)
    people = Counter(item.confirmed_by for item in items)
    return [
        ("Sources", ", ".join(f"{name} ({count:,})" for name, count in sorted(databases.items()))),
        ("Confirmed by", ", ".join(f"{name} ({count:,})" for name, count in sorted(people.items()))),
        ("Answers written by a model", f"{figures['written_by']['model']:,}"),
        ("Answers written by code from the rows", f"{figures['written_by']['plain']:,}"),
    ]
