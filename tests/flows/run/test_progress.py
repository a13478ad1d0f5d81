import sys
import threading

from flows.run.progress import Reporter, say_line
from tasks.models.progress import Progress


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
