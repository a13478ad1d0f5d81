"""Tests of a stream's contracts and page: violations are named, and content is shown."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tasks.artifacts.contracts import RowRule
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, Dropped, Origin, make_id
from tasks.errors import ContractBroken
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import Stream
from tasks.streambench.publish.contracts import ROWS, contracts, declare_stream, read_stream
from tasks.streambench.publish.stream_page import stream_page
from tests.reports.figure_folders import place_figures
from tests.streambench.made_evaluation import EVIL, make_items
from tests.streambench.test_evaluation_page import read_data

SEEDS = (42, 7)
ENTRY = Stream(datasets=("films", "flights"), seeds=SEEDS, shots=2)
LOST = Dropped("q99", "no_gold", f"its query does not run {EVIL}", (Origin("file", "films/items.jsonl"),))
Rows = dict[str, list[Any]]
Spoil = Callable[[Rows], None]


def make_rows() -> Rows:
    items = make_items()
    places = []
    for seed in SEEDS:
        order = list(items)
        Random(seed).shuffle(order)
        places += [make_place(seed, position, item.id) for position, item in enumerate(order, 1)]
    origin = (Origin("file", "films/shots.jsonl"),)
    shots = [
        StreamShot(f"shot{place}", "films", place, f"Which {place}? {EVIL}", "", "SELECT 1", origin)
        for place in (0, 1)
    ]
    return {"items": items, "sequence": places, "shots": shots}


def make_place(seed: int, position: int, item: str) -> SequencePlace:
    return SequencePlace(
        make_id("place", "sample", seed, position), seed, position, item, (Origin("row", f"items#{item}"),)
    )


def write(folder: Path, rows: Rows) -> dict[str, Path]:
    folder.mkdir()
    paths = {name: folder / f"{name}.parquet" for name in ROWS}
    for name, path in paths.items():
        write_rows(path, ROWS[name], rows[name])
    return paths


def check(folder: Path, rows: Rows) -> Counts:
    paths = write(folder / "sample", rows)
    dropped = folder / "sample/items.dropped.parquet"
    write_rows(dropped, Dropped, [LOST])
    shots_dropped = folder / "sample/shots.dropped.parquet"
    write_rows(shots_dropped, Dropped, [])
    return contracts(
        **paths,
        items_dropped=dropped,
        shots_dropped=shots_dropped,
        entry=ENTRY,
        out=folder / "sample/contracts",
    )


def find_problems(folder: Path, rows: Rows) -> list[str]:
    """Apply the rules of a stream to its rows, without Great Expectations."""
    paths = write(folder / "sample", rows)
    none = RowRule("origins", "", (), lambda record: "")
    rules = declare_stream(paths, read_stream(paths, "sample", ENTRY), none)
    return [
        problem
        for name, path in paths.items()
        for rule in rules[path]
        if isinstance(rule, RowRule)
        for row in rows[name]
        if (problem := rule.check({column: getattr(row, column) for column in rule.columns}))
    ]


def change(name: str, at: int = 0, **values: Any) -> Spoil:
    def spoil(rows: Rows) -> None:
        rows[name][at] = replace(rows[name][at], **values)

    return spoil


def lose_a_place(rows: Rows) -> None:
    del rows["sequence"][3]


def repeat_an_item(rows: Rows) -> None:
    rows["sequence"][1] = make_place(42, 2, rows["sequence"][0].item)


def move_beyond(rows: Rows) -> None:
    rows["sequence"][0] = make_place(42, 41, rows["sequence"][0].item)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (change("items", dataset="boats"), "boats is not a dataset of the stream"),
        (change("items", 1, kind="toolbench"), "the kind is toolbench, but the first item has the kind sql"),
        (change("items", key="q77"), "its id should be"),
        (change("items", gold=" "), "it has no gold"),
        (change("items", details="[]"), "the details are not a JSON object"),
        (change("items", file="../secret.sqlite"), "../secret.sqlite is outside the folder"),
        (change("items", file="/etc/passwd"), "/etc/passwd is outside the folder"),
        (change("sequence", item="nothing"), "unknown item nothing"),
        (change("sequence", seed=3), "3 is not a seed of the stream"),
        (lose_a_place, "seed 42 has 39 positions for 40 items"),
        (repeat_an_item, "seed 42 has position 1 twice, or the item at this position twice"),
        (move_beyond, "position 41 is not between 1 and 40"),
        (change("sequence", id="0123456789abcdef"), "its id should be"),
        (change("shots", answer=""), "the example has no text or no answer"),
        (change("shots", place=2), "its place is 2; expected less than 2"),
        (change("shots", dataset="boats"), "boats is not a dataset of the stream"),
    ],
)
def test_what_does_not_hold_is_said(tmp_path: Path, spoil: Spoil, problem: str) -> None:
    rows = make_rows()
    spoil(rows)
    assert any(problem in found for found in find_problems(tmp_path, rows))


def test_a_broken_contract_ends_the_stage(tmp_path: Path) -> None:
    rows = make_rows()
    assert find_problems(tmp_path, rows) == []
    change("items", gold=" ")(rows)
    (tmp_path / "broken").mkdir()
    with pytest.raises(ContractBroken, match=r"breaks askable in 1 of 40 rows: .*it has no gold"):
        check(tmp_path / "broken", rows)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rows = tmp_path_factory.mktemp("stream"), make_rows()
    assert check(folder, rows).rows_in > 100
    rows["shots"][1] = replace(rows["shots"][1], text=rows["items"][0].text)
    out = folder / "page"
    found = stream_page(
        rows["items"],
        [LOST],
        rows["sequence"],
        rows["shots"],
        folder / "sample/contracts",
        Stream(datasets=("films", "flights"), order="released", reading="released"),
        "sample",
        out,
        **place_figures(out, "metrics"),
    )
    assert found == Counts(40, 40, {})
    return out


def test_items_stand_in_the_order_of_the_first_seed_with_all_their_places(page: Path) -> None:
    shown = read_data(page / "rows.js")["rows"]
    places = {row_id: blocks[-2][1] for row_id, _, _, _, blocks in shown}
    assert [first for first, _ in places.values()] == [f"seed 7: {position}" for position in range(1, 41)]
    wanted = {
        place.item: f"seed 42: {place.position}" for place in make_rows()["sequence"] if place.seed == 42
    }
    assert {row_id: second for row_id, (_, second) in places.items()} == wanted
    assert {kind for _, _, (_, kind), _, _ in shown} == {"films", "flights"}


def test_the_page_shows_counts_orders_examples_and_drops(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    record = json.loads((page / "report.json").read_text(encoding="utf-8"))
    assert [(figure["label"], figure["value"]) for figure in record["figures"]] == [
        ("items", 40), ("datasets", 2), ("orders", 2), ("examples", 2),
    ]  # fmt: skip
    assert "1 item could not be used (1 no gold)" in " ".join(record["warnings"])
    assert "1 example with the same text as an item" in " ".join(record["warnings"])
    assert "seed 42" in html
    assert EVIL not in html
    assert "its query does not run" in html
