import subprocess
import sys

from tasks.models.recording.sqlite_store import FileLocks

KEY, OTHER = "ab" * 32, "cd" * 32
HOLD = (
    "import sys, time; from pathlib import Path; from tasks.models.recording.sqlite_store import FileLocks;"
    "locks = FileLocks(Path(sys.argv[1])); print(locks.acquire(sys.argv[2]), flush=True); time.sleep(600)"
)


def test_what_another_process_claims_is_free_again_once_it_is_killed(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "locks", KEY], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "True\n"
        ours = FileLocks(tmp_path / "locks")
        assert not ours.acquire(KEY)
        assert ours.acquire(OTHER)
    finally:
        holder.kill()
        holder.wait()
    assert ours.acquire(KEY)


def test_what_is_released_may_be_taken(tmp_path):
    ours = FileLocks(tmp_path / "locks")
    assert ours.acquire(KEY)
    assert ours.acquire(KEY)  # this process already holds the lock
    ours.release(KEY)
    ours.release(OTHER)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "locks", KEY], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "True\n"
    finally:
        holder.kill()
        holder.wait()
