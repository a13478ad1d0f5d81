"""Tests of the night's lock: a second night names the holder, and a killed night releases the lock."""

import signal
import subprocess
import sys
import time

import pytest

from flows.nights.once import (
    UnfinishedNight,
    forget_unfinished,
    hold_lock,
    read_unfinished,
    write_unfinished,
)
from tasks.errors import LockHeld

HOLD = """
import sys, time
from pathlib import Path
from flows.nights.once import hold_lock
with hold_lock(Path(sys.argv[1])) as lock:
    lock.note("monday")
    print("held", flush=True)
    time.sleep(60)
"""


def start_holder(root):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(root)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def test_the_second_says_who_runs_and_a_killed_holder_frees_the_lock(tmp_path):
    holder = start_holder(tmp_path)
    try:
        with pytest.raises(LockHeld) as error, hold_lock(tmp_path):
            pass
        assert error.value.exit_code == 6
        assert f"the nightly run monday is running (PID {holder.pid}, since 2" in str(error.value)
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with hold_lock(tmp_path):
        pass


def test_what_a_killed_night_left_running_is_waited_for(tmp_path):
    with hold_lock(tmp_path) as lock:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        rest = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1)"], pass_fds=(lock.handle,))
        (tmp_path / ".benchloom/nightly/lock").write_text(f'{{"pid": {gone.pid}, "label": "x", "since": ""}}')
    begun = time.monotonic()
    with hold_lock(tmp_path):
        assert time.monotonic() - begun > 0.3
    assert rest.wait() == 0
    assert (tmp_path / ".benchloom/nightly/lock").exists()


def test_a_night_that_is_not_over_is_noted(tmp_path):
    assert read_unfinished(tmp_path) is None
    write_unfinished(tmp_path, UnfinishedNight("monday", "abc"))
    assert read_unfinished(tmp_path) == UnfinishedNight("monday", "abc")
    forget_unfinished(tmp_path)
    assert read_unfinished(tmp_path) is None
