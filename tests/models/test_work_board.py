"""Tests of rate and remaining time for work without model calls, with results computed by hand."""

import time

import pytest

from tasks.models.work_board import WorkBoard, WorkProgress, format_rate


def test_the_time_left_is_by_the_rate():
    """250 of 1,000 rows in 50 seconds: 5 per second, so 750 rows take 150 seconds."""
    work = WorkProgress("fill-in", 1_000, "rows", begun_at=100.0)
    work.tell(250)
    assert work.estimate_left(150.0) == 150
    assert work.describe(150.0) == "fill-in: 250 of 1,000 rows, 5.0 a second, time left about 2:30"


def test_what_does_not_count_is_timed_by_last_time():
    work = WorkProgress("pages", expected_s=100.0, begun_at=0.0)
    assert work.describe(40.0) == "pages: 0:40 so far, 1:40 last time, time left about 1:00"
    assert work.describe(140.0) == "pages: 2:20 so far, 1:40 last time"
    assert WorkProgress("new", begun_at=0.0).describe(61.0) == "new: 1:01 so far"


@pytest.mark.parametrize(
    ("rate", "text"), [(1_234.5, "1,234.5 a second"), (0.05, "3.0 a minute"), (0, "0.0 a second")]
)
def test_what_is_slow_is_counted_by_the_minute(rate, text):
    assert format_rate(rate) == text


def test_items_are_counted_as_they_are_done():
    board = WorkBoard()
    for number, _ in enumerate(board.iterate("lineage", range(4), "rows")):
        assert board.describe(3, alone=True)[0].startswith(f"lineage: {number} of 4 rows")
    assert board.describe(3, alone=True) == []


def test_work_that_has_just_begun_is_not_shown():
    board = WorkBoard()
    with board.follow(WorkProgress("old", begun_at=time.monotonic() - 60)), board.follow(WorkProgress("new")):
        assert [line.partition(":")[0] for line in board.describe(5, alone=True, least_s=5)] == ["old"]
        assert len(board.describe(5, alone=True)) == 2
