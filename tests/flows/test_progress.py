import threading

from flows.progress import Reporter
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
