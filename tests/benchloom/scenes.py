"""Helpers that call the launcher like a user: in a separate process, without this checkout on the path."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchloom.tree import list_tree

ROOT = Path(__file__).parents[2]
BUILD = "from setuptools import build_meta; print(build_meta.build_wheel({!r}))"
LAUNCHER = sorted((ROOT / "benchloom").glob("*.py"))
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
    """Call git with a configured user name; return its output."""
    user = ["-c", "user.name=A user", "-c", "user.email=user@host"]
    done = subprocess.run(["git", *user, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.strip()


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder; return its path."""
    source = copy_source(folder / "source")
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(str(folder))],
        cwd=source, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shutil.rmtree(source)
    return folder / done.stdout.splitlines()[-1]


def copy_source(folder: Path) -> Path:
    """Copy the sources of a wheel, with leftover files of an earlier build and of a run."""
    more = ("setup.py", "README.md", "LICENSE", *(f"benchloom/{path.name}" for path in LAUNCHER))
    for path in [*list_tree(ROOT), *map(Path, more)]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    for left in ("build/lib/tasks/left.py", "tasks/__pycache__/files.cpython-311.pyc"):
        (folder / left).parent.mkdir(parents=True)
        (folder / left).write_text("")
    return folder
