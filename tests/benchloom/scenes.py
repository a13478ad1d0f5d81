"""The command as a user calls it: the launcher in a process of its own, with no code of ours on the path."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAUNCH = "import sys; sys.path.append({!r}); from benchloom.launcher import main; main()"


def call(
    folder: Path, *words: str, launcher: Path = ROOT, path: str = ""
) -> subprocess.CompletedProcess[str]:
    """Call the launcher of a checkout in a folder. path: PYTHONPATH, here without this checkout."""
    return subprocess.run(
        [sys.executable, "-P", "-c", LAUNCH.format(str(launcher)), *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def git(folder: Path, *words: str, code: int = 0) -> str:
    """Call git as a user with a name; return what it said."""
    user = ["-c", "user.name=A user", "-c", "user.email=user@host"]
    done = subprocess.run(["git", *user, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.strip()
