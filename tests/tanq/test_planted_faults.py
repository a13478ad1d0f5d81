"""Tests that planted failures and faults of a scripted model are counted exactly in the figures."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import write_rows
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.build.tanq_item import ItemThing, TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.labels import AgentFault, FailureKind
from tasks.tanq.publish.evaluation_figures import evaluation_figures
from tasks.tanq.score.scores import scores
from tasks.tanq.solve.predictions import predictions
from tasks.tanq.solve.table_options import PredictionLimits
from tests.tanq.scored_items import HEAD, PERFECT, make_item
from tests.tanq.table_items import ScriptedTables

Rows = Sequence[Sequence[str]]
_, RUVAY, SKARHOLM, OVERMERE = PERFECT
TARN = ("Tarn", "Tarnby", "90", "Skarsk", "1901")
NESS = ("Ness", "Nessby", "77", "Skarsk", "1900")
MIRK = ("Mirk", "Mirkby", "70", "Mirkish", "1800")
SETTINGS = {"tanq.sets.s.source": "isles", "tanq.sources.isles.articles": "data/raw/wikipedia/isles"}
ARTICLES = {"Isles": "Ruvay, Skarholm and Overmere are islands.", "Half": "Ruvay and Skarholm are islands."}


def put(row: tuple[str, ...], column: int, text: str) -> tuple[str, ...]:
    return (*row[:column], text, *row[column + 1 :])


FAILING: Mapping[str, Rows | None] = {
    "missing_relation": [row[:4] for row in PERFECT],
    "no_header": PERFECT[1:],
    "filter_ignored": (*PERFECT, TARN),
    "unrequested_relation": [(*row, "x") for row in PERFECT],
    "missing_entity": PERFECT[:3],
    "not_a_table": None,
    "partial_cell": (HEAD, put(RUVAY, 3, "Ruvish"), SKARHOLM, OVERMERE),
    "wrong_cell": (HEAD, put(RUVAY, 1, "Skar"), SKARHOLM, OVERMERE),
}
FAULTY: Mapping[str, Rows] = {
    "search_ended": PERFECT[:3],
    "malformed_table": (*PERFECT, HEAD),
    "attributes_missing": (HEAD, RUVAY, put(SKARHOLM, 2, "unknown"), OVERMERE),
    "one_condition": (*PERFECT, NESS),
    "intermediates_listed": (*PERFECT, MIRK),
    "filter_ignored": (*PERFECT, TARN),
}
KINDS = {"one_condition": "intersection", "intermediates_listed": "composition"}


def write_bars(rows: Rows) -> str:
    return "\n".join("|".join(row) for row in rows)


def write_markdown(rows: Rows) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(["Here it is:", "```markdown", lines[0], "|---" * len(rows[0]) + "|", *lines[1:], "```"])


def write_drawn(rows: Rows) -> str:
    rule = "+--" * len(rows[0]) + "+"
    return "\n".join([rule, *(f"| {' | '.join(row)} |\n{rule}" for row in rows), "That is all."])


FORMS: tuple[Callable[[Rows], str], ...] = (write_bars, write_markdown, write_drawn)


def plant(kinds: Mapping[str, Rows | None]) -> list[tuple[TanqItem, str]]:
    """Return items with replies: the first kind is planted once, the second twice ...; three are correct."""
    planted = [kind for number, kind in enumerate(kinds, 1) for _ in range(number)] + ["none"] * 3
    found = []
    for number, kind in enumerate(planted):
        rows = kinds.get(kind, PERFECT)
        more = {"near": (ItemThing("n", "Ness", ""),), "intermediates": (ItemThing("m", "The Mirk", ""),)}
        item = make_item(
            f"i{number:02}",
            filtered=True,
            kind=KINDS.get(kind, "simple"),
            question=f"Which of {kind}-{number}?",
            **more,
        )
        found.append((item, "I do not know it." if rows is None else FORMS[number % 3](rows)))
    return found


def count(planted: list[tuple[TanqItem, str]], folder: Path, setting: str, ask: ScriptedTables) -> Any:
    """Run predictions, scores and figures; return the tables."""
    items = [item for item, _ in planted]
    entry = TableEvaluation(set="s", settings=(setting,), shots=(0,))  # type: ignore[arg-type]
    made = asyncio.run(predictions(items, folder, entry, PredictionLimits(), SETTINGS, ask))  # type: ignore[arg-type]
    rows = list(made.rows)
    assert not any(row.failed for row in rows)
    out = folder / "figures.json"
    evaluation_figures(items, rows, list(scores(items, rows).rows), [], [], [], [], [], entry, "e", {}, out)
    return json.loads(out.read_text())["tables"]


def read_counts(
    table: Any, column: int, kinds: Iterable[FailureKind | AgentFault]
) -> dict[str, tuple[int, int]]:
    """Return kind -> (number of replies of this kind, number of replies)."""
    told = {kind: line["cells"][column] for kind, line in zip(kinds, table["lines"], strict=True)}
    return {kind: (round(cell["value"] * cell["n"]), cell["n"]) for kind, cell in told.items() if cell["n"]}


def test_each_kind_of_failure_is_counted_exactly(tmp_path: Path) -> None:
    planted = plant(FAILING)
    replies = {item.question: reply for item, reply in planted}
    ask = ScriptedTables(lambda _, text: replies[re.findall("Question: (.*)", text)[-1]])
    counted = read_counts(count(planted, tmp_path, "closed", ask)["11"], 0, FailureKind)
    assert counted == {kind: (number, len(planted)) for number, kind in enumerate(FAILING, 1)}
    assert set(counted) == {*FailureKind} - {"other_hallucination"}


def write_isles(folder: Path) -> None:
    rows = [PartRow(title, 0, "text", "", "", (), text, None, None, None) for title, text in ARTICLES.items()]
    write_rows(
        folder / "articles.parquet",
        ArticleRow,
        [ArticleRow(row.article, None, 1, (), 1, "", "") for row in rows],
    )
    write_rows(folder / "parts.parquet", PartRow, rows)


def test_each_fault_of_the_open_agent_is_counted_exactly(tmp_path: Path) -> None:
    planted = plant(FAULTY)
    replies = {item.question: reply for item, reply in planted}
    write_isles(tmp_path / "isles")

    def reply(prompt: str, text: str) -> str:
        if prompt == "open_table":
            return replies[re.findall("Question: (.*)", text)[-1]]
        if prompt == "open_main":
            task = f"SubTask: {re.findall('Question: (.*)', text)[-1]}"
            return f"Thought: next\n{'TABLE' if task in text else task}"
        if "<<<" in text:
            return "Found: Ruvay, Skarholm and Overmere"
        return f"Thought: look\nGetIntro: {'Half' if 'search_ended' in text else 'isles'}"

    table = count(planted, tmp_path, "open", ScriptedTables(reply))["faults"]
    wanted = {kind: number for number, kind in enumerate(FAULTY, 1)}
    assert read_counts(table, 0, AgentFault) == {
        kind: (number, len(planted)) for kind, number in wanted.items()
    }
    able = {kind: wanted[kind] if kind in KINDS else len(planted) for kind in wanted}
    assert read_counts(table, 1, AgentFault) == {
        kind: (number, able[kind]) for kind, number in wanted.items()
    }
    assert list(wanted) == list(AgentFault)
