"""Processes that make calls through the whole model layer, and a server that checks the calls."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tasks.models.recording.ledger import Ledger
from tests.models.scenes import LedgerServer

ROOT = Path(__file__).parents[2]
SETTLING_S = 0.5


class Watch(LedgerServer):
    """A server that checks whether an incoming call is a repetition, and whether it is committed."""

    def __init__(self, recorded: Ledger, asking: Path | str, **options) -> None:
        super().__init__(recorded, **options)
        self._asking = Ledger(asking)
        self.asked_after_commit = self.asked_again = 0
        self._asked: set[str] = set()

    def progress(self) -> int:
        return len(self.counts.answered) + len(self.batches.batches)

    def _find(self, keys, body):
        for key in keys:
            self.asked_after_commit += self._asking.get(key) is not None
            self.asked_again += key in self._asked
            self._asked.add(key)
        return super()._find(keys, body)


def start(ledger: Path | str, url: str, calls: int, out: Path, *more: str, **environment: str):
    """Start a process that makes `calls` calls. out: the calls artifact, beside the prompts."""
    command = [sys.executable, "-m", "tests.models.worker", str(ledger), url, str(calls), str(out), *more]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        cwd=ROOT,
    )


def finish(process: subprocess.Popen) -> dict:
    """Wait for a process; return its report."""
    stdout, stderr = process.communicate(timeout=900)
    assert process.returncode == 0, stderr
    return json.loads(stdout)


def settle(server: Watch) -> None:
    """Wait until all requests of a killed process have arrived."""
    seen = -1
    while seen != server.counts.requests:
        seen = server.counts.requests
        time.sleep(SETTLING_S)
