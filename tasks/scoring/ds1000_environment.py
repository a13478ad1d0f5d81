"""Create the virtual environment for DS-1000's test programs: Python 3.11, pandas 1.5.3, numpy below 2.

`python -m tasks.scoring.ds1000_environment [PACKAGE ...]` creates the environment and also installs the named
packages. torch and tensorflow are not installed by default, because of their size.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import platformdirs

from tasks.errors import BadInput, BenchloomError

REQUIREMENTS = (
    "numpy==1.26.4",
    "pandas==1.5.3",
    "scipy==1.12.0",
    "scikit-learn==1.4.0",
    "matplotlib==3.8.4",
    "seaborn==0.13.2",
    "statsmodels==0.14.1",
)
COMMAND = "python -m tasks.scoring.ds1000_environment"
DONE = "made-by-benchloom"
"""Name of the file that marks a complete environment."""


def locate_environment() -> Path:
    """Return the environment's folder: $BENCHLOOM_DS1000 if set, otherwise a folder in the user's cache."""
    if folder := os.environ.get("BENCHLOOM_DS1000"):
        return Path(folder).expanduser().absolute()
    pins = hashlib.sha256("\n".join(REQUIREMENTS).encode()).hexdigest()[:8]
    return Path(platformdirs.user_cache_dir("benchloom", appauthor=False)) / f"ds1000-{pins}"


def find_interpreter() -> Path:
    """Return the environment's Python interpreter. Raises BadInput if the environment does not exist."""
    python = locate_environment() / "bin" / "python"
    if not python.is_file():
        raise BadInput(
            "score ds1000",
            "needs a Python environment that runs the programs",
            hint=f"to create the environment, run {COMMAND}",
        )
    return python


def make_environment(packages: tuple[str, ...] = (), python: str | None = None) -> Path:
    """Create the environment, or add packages to an existing one; return its folder.

    `python`: a Python 3.11 interpreter; by default the running interpreter, or python3.11 on the PATH. Raises
    BadInput if neither is Python 3.11, and BenchloomError if a package cannot be installed.
    """
    folder = locate_environment()
    if not (folder / DONE).is_file():
        # A folder without DONE is left from an interrupted installation, which --clear removes.
        _run([_find_python(python), "-m", "venv", "--clear", str(folder)])
    _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS, *packages])
    _run([str(folder / "bin" / "python"), "-c", "import matplotlib, numpy, pandas, scipy, seaborn, sklearn"])
    (folder / DONE).write_text("\n".join(REQUIREMENTS) + "\n")
    return folder


def _find_python(given: str | None) -> str:
    own = sys.executable if sys.version_info[:2] == (3, 11) else None
    for candidate in (given,) if given else (own, shutil.which("python3.11")):
        if candidate and _read_version(candidate) == "3.11":
            return candidate
    hint = f"run {COMMAND} --python /path/to/python3.11"
    raise BadInput("python", "pandas 1.5.3 needs Python 3.11", hint=hint)


def _read_version(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise BenchloomError(f"{' '.join(command[:4])} ...: {last}")


def main() -> None:
    """Create the environment from the command line."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Make the environment that DS-1000 runs in.")
    parser.add_argument("packages", nargs="*", help="further packages, such as torch==2.2.0")
    parser.add_argument("--python", help="an interpreter of Python 3.11")
    given = parser.parse_args()
    try:
        print(make_environment(tuple(given.packages), given.python))
    except BenchloomError as error:
        print(f"benchloom: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main()
