"""Tests of figures for DVC: one file each, whose keys become the columns of DVC's tables."""

import csv
import json
from pathlib import Path

import pytest

from tasks.reports.metrics import (
    BAR_COLUMNS,
    POINT_COLUMNS,
    SeriesPoint,
    choose_column,
    write_bars,
    write_lines,
    write_metrics,
)
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.tables import FigureTable, Line, leave_empty, rate_cell

TABLE = FigureTable(
    "2", "Rates", ("model", "agent"), ("match rate", "words"),
    (
        Line(("big", "plan"), (rate_cell([True, False, True] * 2 + [None]), rate_cell([True]))),
        Line(("big", "plan!"), (rate_cell([False, False]), rate_cell([True]))),
        Line(("small", "plan"), (leave_empty("not run"), rate_cell([True]))),
    ),
)  # fmt: skip
PAGE = Page(
    ASSESSMENTS, "trial", "one", "One", "",
    (
        Headline("R, gaps removed", 2 / 3, interval=(0.5, 0.8)),
        Headline("module", "none"),
        Headline("items", 4),
    ),
)  # fmt: skip


def read(folder: Path) -> dict[str, object]:
    return {
        path.relative_to(folder).as_posix(): json.loads(path.read_text()) for path in folder.rglob("*.json")
    }


def test_a_figure_is_a_file_with_its_interval_and_counts(tmp_path):
    write_metrics(tmp_path / "m", PAGE, [choose_column("match rate", TABLE, "match rate")])
    assert read(tmp_path / "m") == {
        "r.json": {"value": 0.6666666667, "low": 0.5, "high": 0.8},
        "items.json": {"value": 4},
        # Wilson's interval for 4 of 6, as in the table; two items have no interval
        "match-rate/big-plan.json": {
            "value": 0.6666666667,
            "low": round(TABLE.lines[0].cells[0].interval[0], 10),
            "high": round(TABLE.lines[0].cells[0].interval[1], 10),
            "n": 6,
            "failed": 1,
        },
        "match-rate/big-plan-2.json": {"value": 0.0, "n": 2},
    }


def test_lines_are_chosen_by_parts_of_their_label():
    group = choose_column("rate", TABLE, "words", labels=(0,), where={1: "plan"})
    assert [metric.name for metric in group.metrics] == ["big", "small"]
    with pytest.raises(ValueError, match="no such column"):
        choose_column("rate", TABLE, "no such column")


def test_plots_are_tables_and_a_group_without_figures_has_none(tmp_path):
    empty = choose_column("nothing", TABLE, "match rate", where={0: "small"})
    write_bars(tmp_path / "bars", [choose_column("match rate", TABLE, "match rate"), empty])
    assert [path.name for path in (tmp_path / "bars").iterdir()] == ["match-rate.csv"]
    head, first, *_ = csv.reader((tmp_path / "bars/match-rate.csv").read_text().splitlines())
    assert tuple(head) == BAR_COLUMNS
    assert first[:2] == ["big · plan", "0.6666666667"]

    points = [SeriesPoint(1, 0.5, None, "Zero-Shot"), SeriesPoint(2, 0.25, (0.0, 0.5), "Zero-Shot")]
    write_lines(tmp_path / "lines", {"accuracy agent": points, "accuracy other": []})
    assert (tmp_path / "lines/accuracy-agent.csv").read_text().splitlines() == [
        ",".join(POINT_COLUMNS), "1,0.5,,,Zero-Shot", "2,0.25,0.0,0.5,Zero-Shot",
    ]  # fmt: skip
    assert len(list((tmp_path / "lines").iterdir())) == 1
