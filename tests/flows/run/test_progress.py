import sys
import threading
from types import SimpleNamespace

import pytest

from flows.run import progress
from flows.run.progress import IDLE, SAID, SHARED, Reporter, report_progress, say_line
from tasks.models import work_board
from tasks.models.sending.progress import Progress
from tasks.models.stream_board import BOARD
from tasks.models.work_board import WORK, WorkProgress


@pytest.fixture(autouse=True)
def progress_is_on(monkeypatch):
    monkeypatch.delenv("BENCHLOOM_PROGRESS", raising=False)


def test_a_line_is_said_while_calls_wait_and_none_when_nothing_does():
    looks = iter([Progress(0, 0, 0, 0.0, 0.0, 0), Progress(3, 0, 5, 2.0, 0.01, 30)])
    said, over = [], threading.Event()

    def look():
        progress = next(looks, None)
        if progress is None:
            over.set()
            return Progress(8, 0, 0, 2.0, 0.02, 80)
        return progress

    reporter = Reporter(look, said.append, pause_s=0.01)
    assert over.wait(5)
    reporter.stop()
    assert len(said) == 1
    assert "3 answered, 5 waiting" in said[0]


def test_a_line_and_its_end_are_one_piece_so_that_threads_do_not_mix(monkeypatch):
    pieces = []

    class Screen:
        def write(self, text):
            pieces.append(text)

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stderr", Screen())
    say_line("one stage ran")
    assert pieces == ["one stage ran\n"]


def report(say, terminal, before=lambda: None):
    """Report three times while two streams run. before: called before each report."""
    over = threading.Event()
    looks = iter([Progress(0, 0, 0, 0.0, 0.0, 0)] * 3)

    def look():
        before()
        if (progress := next(looks, None)) is None:
            over.set()
            return Progress(0, 0, 0, 0.0, 0.0, 0)
        return progress

    with BOARD.follow({"zero_shot|agent|42": 4, "mem_prompt|agent|42": 4}) as lines:
        lines["zero_shot|agent|42"].tell(True)
        reporter = Reporter(look, say, pause_s=0.01, terminal=terminal)
        assert over.wait(5)
        reporter.stop()


def test_streams_stand_below_each_other_and_a_terminal_is_drawn_over():
    said = []
    report(said.append, terminal=True)
    assert len(said) >= 3
    first = said[0].split("\n")
    assert first[0].startswith("streams: 0 of 2 done, step 1 of 8, time left ")
    assert [line.split()[0] for line in first[1:]] == ["mem_prompt|agent|42", "zero_shot|agent|42"]
    assert "1/4" in first[2]
    assert all(text.startswith("\x1b[3A\x1b[J") for text in said[1:3])


def test_what_another_has_said_is_not_drawn_over():
    said = []

    def say(text):
        said.append(text)
        SAID.count += 1

    def say_elsewhere():
        if len(said) == 1:
            SAID.count += 1

    report(say, terminal=True, before=say_elsewhere)
    assert [text.startswith("\x1b") for text in said[:3]] == [False, False, True]


def test_a_log_has_no_codes_of_a_terminal():
    said = []
    report(said.append, terminal=False)
    assert "\x1b" not in "".join(said)


def test_a_log_has_a_line_every_ten_seconds(monkeypatch):
    """Simulate ten minutes with output redirected to a file; only the reporter waits on this clock."""
    now, said = [1_000.0], []

    class Clock:
        def wait(self, seconds):
            now[0] += seconds
            return now[0] >= 1_000 + 600

        def set(self):
            pass

    monkeypatch.setattr(progress, "threading", SimpleNamespace(Event=Clock, Thread=threading.Thread))
    monkeypatch.setattr(work_board.time, "monotonic", lambda: now[0])
    with WORK.follow(WorkProgress("grammar-contracts@films", 600, "rows", begun_at=1_000.0)) as work:

        def look():
            work.done = round((now[0] - 1_000) / 2)  # one row per two seconds
            return IDLE

        reporter = Reporter(look, said.append, terminal=False)
        reporter.stop()
    assert len(said) == 600 / 10 - 1
    assert said[0] == "grammar-contracts@films: 5 of 600 rows, 0.5 a second, time left about 19:50"
    assert said[-1].startswith(
        "grammar-contracts@films: 295 of 600 rows, 0.5 a second, time left about 10:10"
    )


def test_the_calls_of_a_session_come_before_other_work_and_a_command_is_shown_alone_if_at_all():
    with WORK.follow(WorkProgress("benchloom run", quiet=True)):
        assert [line.split(":")[0] for line in WORK.describe(5, alone=True)] == ["benchloom run"]
        assert WORK.describe(5, alone=False) == []
        with WORK.follow(WorkProgress("grammar-contracts@films", expected_s=90.0)):
            lines = WORK.describe(5, alone=True)
    assert len(lines) == 1
    assert lines[0].startswith("grammar-contracts@films: 0:00 so far, 1:30 last time, time left about 1:")


def test_one_reporter_serves_all_that_want_one():
    with report_progress():
        first = SHARED.reporter
        with report_progress(lambda: Progress(3, 0, 5, 2.0, 0.01, 30)):
            assert SHARED.reporter is first
            assert SHARED.look().waiting == 5
        assert SHARED.look() == IDLE
    assert SHARED.reporter is None


def test_a_stage_without_calls_is_shown_while_it_runs_with_its_last_time(trial, monkeypatch):
    """Simulate a redirected run, with a reporter that waits 20 ms."""
    trial.run()
    trial.write("source.txt", "quince olive fig")
    run, said, looked = trial.open(), [], threading.Event()
    plain = run.recorder.begin

    def begin(name):
        if name == "trial-words":
            assert looked.wait(10)
        return plain(name)

    monkeypatch.setattr(run.recorder, "begin", begin)

    def say(text):
        said.append(text)
        looked.set()

    reporter = Reporter(lambda: IDLE, say, pause_s=0.02, terminal=False)
    run.bring_up("trial-words")
    reporter.stop()
    run.finish()
    run.recorder.close()
    assert said[0].startswith("trial-words: 0:00 so far")
