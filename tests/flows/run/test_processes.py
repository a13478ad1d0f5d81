"""Tests that stages without model calls run in separate processes."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from flows.run.engine import stage_work
from flows.run.engine.processes import Processes
from flows.run.engine.stage_work import StageRun, begin_stage, refuse_ask
from flows.run.failures import Interrupted
from flows.run.node import Node
from tasks.errors import BadInput, CallMissing, ChangedWhileRunning, StageFailed
from tests.flows.run import other_process

ROOT = Path(__file__).parents[3]
NODE = Node("trial-words", "trial.words", "", ("source.txt",), ("words.parquet",), ())


@pytest.fixture
def pool():
    processes = Processes(1, threading.Event())
    yield processes
    processes.close()


def test_a_stage_runs_elsewhere_and_the_process_is_used_again(pool):
    first, second = (pool.call("trial-words", other_process.tell_process) for _ in range(2))
    assert first.rows_out == second.rows_out != os.getpid()
    assert first.dropped == {"ignores_interrupts": 1}


def test_what_a_stage_raises_there_is_raised_here(pool):
    with pytest.raises(BadInput, match=r"^params.yaml, line 3: is odd \(make it even\)$"):
        pool.call("trial-words", other_process.refuse)


def test_a_process_that_is_killed_costs_its_own_stage_alone(pool):
    with pytest.raises(StageFailed, match="trial-words: its process was killed"):
        pool.call("trial-words", other_process.be_killed)
    assert pool.call("trial-words", other_process.tell_process).rows_out != os.getpid()


def test_no_stage_is_begun_in_a_run_that_was_stopped():
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(Interrupted):
        Processes(1, stopping).call("trial-words", other_process.tell_process)


def test_a_process_ends_with_a_run_that_is_killed(tmp_path):
    script = f"""
import threading
from pathlib import Path
from flows.run.engine import processes
from tests.flows.run import other_process
processes.Processes(1, threading.Event()).call("trial", other_process.sleep_long, {str(tmp_path)!r})
"""
    parent = subprocess.Popen([sys.executable, "-c", script])
    told = tmp_path / "pid"
    wait_until(lambda: told.exists() and told.read_text())
    child = psutil.Process(int(told.read_text()))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_script_that_is_not_guarded_is_not_run_again(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(f"""
import sys, threading
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from flows.run.engine import processes
from tests.flows.run import other_process
print("begun", flush=True)
print(processes.Processes(1, threading.Event()).call("trial", other_process.tell_process).rows_in)
""")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["begun", "1"], done.stderr


def wait_until(is_so):
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "error", [ChangedWhileRunning("a-stage", "a.py"), CallMissing("s", "r", "p", "k" * 64)]
)
def test_our_errors_come_through_as_they_are(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.exit_code) == (type(error), str(error), error.exit_code)


class Words:
    """A fake module of a stage, as `find_function` returns it."""

    def __init__(self, error=None):
        self.error = error

    def call(self):
        if self.error:
            raise self.error


@pytest.fixture
def bound(monkeypatch):
    def bind_to(words):
        monkeypatch.setattr("flows.run.binding.bind", lambda *_, **__: words)

    return bind_to


def test_an_error_that_is_not_ours_keeps_its_kind_in_the_line(bound, tmp_path):
    bound(Words(ValueError("odd")))
    with pytest.raises(StageFailed, match=r"^ValueError: odd$"):
        begin_stage(StageRun(NODE, {}, tmp_path, {}))


def test_a_full_disk_is_said_although_its_error_stays_behind(bound, tmp_path):
    error = StageFailed("the artifact could not be written")
    error.__cause__ = OSError(28, "No space left on device")
    bound(Words(error))
    with pytest.raises(StageFailed, match=r"^the disk is full; make room .*\(the artifact could not"):
        begin_stage(StageRun(NODE, {}, tmp_path, {}))


def test_code_that_is_not_what_the_run_knows_proves_nothing(bound, tmp_path, monkeypatch):
    bound(Words())
    monkeypatch.setattr(stage_work, "is_loaded_otherwise", lambda path, digest: digest == "old")
    begin_stage(StageRun(NODE, {}, tmp_path, {"tasks/trial/words.py": "new"}))
    with pytest.raises(ChangedWhileRunning, match=r"tasks/trial/words\.py changed while running"):
        begin_stage(StageRun(NODE, {}, tmp_path, {"tasks/trial/words.py": "old"}))


def test_a_stage_without_a_place_for_its_calls_may_not_ask(tmp_path):
    with pytest.raises(
        StageFailed, match=r"trial-words: calls a model, but has no output `\.calls\.parquet`"
    ):
        refuse_ask("trial-words", tmp_path, "")
