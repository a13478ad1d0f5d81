import sys
import threading

from flows.run.progress import SAID, Reporter, say_line
from tasks.models.sending.progress import Progress
from tasks.models.stream_board import BOARD


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
