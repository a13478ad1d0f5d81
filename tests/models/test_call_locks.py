import subprocess
import sys

from tasks.models.call_locks import Claims

KEY, OTHER = "ab" * 32, "cd" * 32
HOLD = (
    "import sys, time; from pathlib import Path; from tasks.models.call_locks import Claims;"
    "claims = Claims(Path(sys.argv[1])); print(claims.take(sys.argv[2]), flush=True); time.sleep(600)"
)


def test_what_another_process_claims_is_free_again_once_it_is_killed(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "claims", KEY], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "True\n"
        ours = Claims(tmp_path / "claims")
        assert not ours.take(KEY)
        assert ours.take(OTHER)
    finally:
        holder.kill()
        holder.wait()
    assert ours.take(KEY)


def test_what_is_released_may_be_taken(tmp_path):
    ours = Claims(tmp_path / "claims")
    assert ours.take(KEY)
    assert ours.take(KEY)  # it is ours already
    ours.release(KEY)
    ours.release(OTHER)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "claims", KEY], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "True\n"
    finally:
        holder.kill()
        holder.wait()
