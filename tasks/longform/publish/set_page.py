"""Stage: the page of a question set: Table 1, the yield of every stage, and a viewer of every question."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from tasks.longform.build.confirm import UNREAD
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.publish.shown_items import ShownItem, show_items
from tasks.longform.publish.table_set import describe_set
from tasks.reports.calls import read_calls
from tasks.reports.contracts import ContractResults, open_contracts
from tasks.reports.figure_cells import FigureTable
from tasks.reports.folder import BrowsedRows, write_page
from tasks.reports.frame import PAGES_FOLDER, open_templates
from tasks.reports.page import DATASETS, Headline, Page, SampleQuestion, choose_samples
from tasks.reports.yields import StageYield, derive_calls, derive_dropped, read_yield

PAGES = Path(__file__).parents[1] / "pages"
ASSETS = ("longform.css", "items.js", "set.js")
SUBTITLE = (
    "Questions that need several queries and a synthesis, each with a database made for it and a reference "
    "answer whose every claim has the query that bears it out."
)


@dataclass(frozen=True)
class SetContent:
    """What the page shows below its head. about: name and text of each fact."""

    table: FigureTable
    stages: Sequence[StageYield]
    contracts: ContractResults
    about: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ListedQuestion:
    """A question in the viewer. calls: ledger keys of all stages, in their order."""

    id: str
    calls: list[str]


@dataclass(frozen=True)
class QuestionBrowser:
    """The viewer's data, as pages/set.js reads it. items: by id."""

    items: Mapping[str, ShownItem]
    rows: list[ListedQuestion]


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
    """Write the page into the folder `out`; the artifacts' `*.dropped` and `*.calls` files are read too.

    contracts: the folder of their findings; statistics: the set's `statistics.json`. The counts are of
    questions.
    """
    paths = (control, condense, confirm, conjecture, construct, conclude, classify)
    stages = [read_yield(path) for path in paths]
    rows = read_rows(items, LongformItem)
    shown = show_items(
        rows,
        read_rows(control, ControlledQuestion),
        read_rows(construct, SyntheticDatabase),
        read_rows(conclude, Conclusion),
    )
    used = list_calls(paths)
    figures = json.loads(statistics.read_text(encoding="utf-8"))
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
        ),
        open_templates("tasks.longform").get_template("set.html"),
        SetContent(
            describe_set(figures),
            stages,
            open_contracts(contracts, [path.stem for path in (*paths, items)], out),
            _list_facts(rows, figures),
        ),
        assets=[PAGES_FOLDER / "tables.css", *(PAGES / asset for asset in ASSETS)],
        rows=BrowsedRows(
            "rows",
            QuestionBrowser(
                shown,
                [
                    ListedQuestion(row.id, used.get(row.id, []))
                    for row in sorted(rows, key=lambda row: (row.database, row.kind, row.id))
                ],
            ),
            items,
        ),
        tables={"1": describe_set(figures)},
        calls=read_calls(beside, {call for row in rows for call in used.get(row.id, [])}),
        metrics=metrics,
    )
    return Counts(len(rows), len(rows), {})


def list_calls(artifacts: Iterable[Path]) -> dict[str, list[str]]:
    """List the calls behind every question, whose rows have one id in all artifacts; each call once."""
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
    """Warn of questions that no person has passed."""
    unread = sum(item.confirmed_by in UNREAD for item in items)
    if not unread:
        return []
    return [f"{unread} of {len(items)} questions were confirmed by no person."]


def _make_headlines(figures: Mapping[str, Any], stages: Sequence[StageYield]) -> list[Headline]:
    begun = stages[0].artifact.rows + len(stages[0].dropped)
    tally = sum_calls(call for stage in stages for call in stage.artifact.calls)
    dropped = sum(len(stage.dropped) for stage in stages)
    kinds = ", ".join(f"{kind['items']:,} {name}" for name, kind in figures["by_kind"].items())
    return [
        Headline(
            "questions",
            figures["items"],
            f"of {begun:,} begun; {kinds}",
            Derivation("count", (Selection("items"),)),
        ),
        Headline(
            "claims",
            figures["claims"],
            "each with its query",
            Derivation("sum", (Selection("items"),), "count(claims)"),
        ),
        Headline("dropped", dropped, "each with its reason", derive_dropped(stages)),
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
        ("Answers worded by a model", f"{figures['written_by']['model']:,}"),
        ("Answers that state the rows plainly", f"{figures['written_by']['plain']:,}"),
    ]
