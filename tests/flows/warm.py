"""Run `benchloom` commands as forks of one process that has imported the code already.

Each command is still a process with its own folder, environment, output and exit code. Only the imports,
which take most of its time, happen once for all commands of a test module.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

IMPORTED = (
    "flows.cli",
    "flows.commands.compare",
    "flows.commands.evaluate",
    "flows.commands.run",
    "tasks.grammar.assess.evaluation",
    "tasks.models.sending.systems",
    "tasks.reports.own_evaluation",
)
SERVER = """
import importlib, json, os, sys

for name in sys.argv[1:]:
    importlib.import_module(name)
replies = os.fdopen(os.dup(1), "w")
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    child = os.fork()
    if not child:
        replies.close()
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        for number, (path, flags) in enumerate(request["files"]):
            file = os.open(path, flags)
            os.dup2(file, number)
            os.close(file)
        sys.argv = ["benchloom", *request["words"]]
        from flows.cli import main

        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=replies, flush=True)
"""


_servers: dict[Path, "_Server"] = {}


def run_benchloom(
    words: Sequence[str], code: Path, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its exit code and output.

    code: the folder of the project whose code runs; folder: where the command runs.
    """
    found = _servers.get(code)
    if found is None or found.stamps != _stamp(code):
        if found is not None:
            found.close()
        found = _servers[code] = _Server(code, environment)
    return found.run(words, folder, environment)


def close_all() -> None:
    """End the processes with imported code."""
    while _servers:
        _servers.popitem()[1].close()


class _Server:
    """A process that has imported a project's code."""

    def __init__(self, code: Path, environment: Mapping[str, str]) -> None:
        self.stamps = _stamp(code)
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, *IMPORTED],
            cwd=code, env={**environment, "PYTHONPATH": str(code)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        with TemporaryDirectory() as made:
            out, err = Path(made, "out"), Path(made, "err")
            request = {
                "words": words,
                "environment": dict(environment),
                "folder": str(folder),
                "files": [
                    (os.devnull, os.O_RDONLY),
                    (str(out), os.O_WRONLY | os.O_CREAT),
                    (str(err), os.O_WRONLY | os.O_CREAT),
                ],
            }
            print(json.dumps(request), file=self._process.stdin, flush=True)
            code = self._process.stdout.readline()
            assert code, "the process that runs the commands has ended"
            return subprocess.CompletedProcess(words, int(code), out.read_text(), err.read_text())

    def close(self) -> None:
        self._process.communicate()


def _stamp(code: Path) -> dict[Path, int]:
    """Return module -> modification time, for the modules of a project."""
    folders = [code / name for name in ("benchloom", "flows", "tasks")]
    return {file: file.stat().st_mtime_ns for folder in folders for file in folder.rglob("*.py")}
