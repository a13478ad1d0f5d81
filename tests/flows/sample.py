"""A copy of the whole project for drills, replayed from the shipped ledger."""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import yaml

from benchloom.yaml_files import load_yaml, write_yaml
from tasks.artifacts.parquet import count_rows
from tasks.sources.packages import copy_packaged
from tests.flows.warm import run_benchloom
from tests.signals import hear_signals

ROOT = Path(__file__).parents[2]
CACHE = ".dvc/cache"
NOWHERE = "run.endpoints.qwen25-coder-1b5={url: 'http://127.0.0.1:9/v1', retries: 0}"
"""An endpoint with which unrecorded calls fail immediately, instead of starting the embedded model."""

COMPARED = (
    "schema",
    "sql_templates",
    "text_templates",
    "back_check",
    "second_reading",
    "fill_in",
    "unbalanced",
    "balanced",
)
"""Artifacts of a dataset that contain no paths and no times."""


@dataclass
class Sample:
    root: Path
    environment: dict[str, str] = field(init=False)
    begun: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        programs = [str(Path(sys.executable).parent), os.environ["PATH"]]
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join(programs),
            "PYTHONPATH": str(self.root),
            "BENCHLOOM_LEDGER": str(self.root / ".benchloom" / "drill.sqlite"),
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", *words]

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.root, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def benchloom(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a fork of a process that has imported the project's code."""
        return run_benchloom(words, self.root, self.root, self.environment)

    def run(self, *words: str, code: int = 0) -> str:
        """Replay the targets; return the output."""
        done = self.call("flows.cli", "run", "--replay", "--plain", *words)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    def start(self, *words: str, plain: bool = True) -> subprocess.Popen[str]:
        """Start a replay in a separate process group."""
        return self._begin("flows.cli", "run", "--replay", *(["--plain"] if plain else []), *words)

    def start_dvc(self, *words: str) -> subprocess.Popen[str]:
        """Start a DVC command in a separate process group."""
        return self._begin("dvc", *words)

    def _begin(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.command(*words),
            cwd=self.root, env=self.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True, start_new_session=True, preexec_fn=hear_signals,
        )  # fmt: skip
        self.begun.append(process)
        return process

    def end_all(self) -> None:
        """Kill processes that a failed test left running."""
        for process in self.begun:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        self.begun.clear()

    def dvc(self, *words: str) -> str:
        done = self.call("dvc", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lock(self) -> object:
        return yaml.load((self.root / "dvc.lock").read_text(), yaml.CSafeLoader)

    def artifacts(self) -> dict[str, str]:
        """Return the hash of every artifact of the graph, by path."""
        outs = [out["path"] for stage in self.lock()["stages"].values() for out in stage["outs"]]
        files = [file for out in outs for file in sorted((self.root / out).rglob("*")) or [self.root / out]]
        return {
            str(file.relative_to(self.root)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files
            if file.is_file()
        }

    def edit(self, path: str, change: Callable[[str], str]) -> None:
        file = self.root / path
        before = file.read_text()
        after = change(before)
        assert after != before
        file.write_text(after)


def make_sample(root: Path, *, built: bool = False) -> Sample:
    """Copy the files that git would commit, and the raw files of the data packages.

    built: also copy DVC's cache, if any, so that a run restores the artifacts of this checkout.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    copy_packaged(root / "data/raw/packages")
    if built and (ROOT / CACHE).is_dir():
        shutil.copytree(ROOT / CACHE, root / CACHE)
    return Sample(root)


def make_datasets(root: Path) -> Sample:
    """Copy the project without companies, variants, corpus and assessments: its two datasets."""
    sample = make_sample(root)
    params, lock = load_yaml(root / "params.yaml"), load_yaml(root / "dvc.lock")
    params |= {"companies": {}, "closed": {}, "assessments": {}}
    params["databases"] = {name: params["databases"][name] for name in ("films", "flights")}
    params["grammar"]["profiles"]["entities"] = {}
    for name in list(lock["stages"]):
        block, fanned_out, key = name.partition("@")
        if block.startswith("grammar-closed") or (fanned_out and key not in params["databases"]):
            del lock["stages"][name]
    write_yaml(root / "params.yaml", params)
    write_yaml(root / "dvc.lock", lock)
    return sample


def replay_datasets(root: Path) -> Sample:
    """Build the datasets by replay, as the undisturbed run for drills; assert that it has enough rows."""
    sample = make_datasets(root)
    sample.run("--set", NOWHERE)
    for name in ("films", "flights"):
        assert count_rows(sample.root / f"data/grammar/{name}/unbalanced.parquet") >= 300
    return sample


def wait_for(
    condition: Callable[[], bool], process: subprocess.Popen[str] | None = None, seconds: float = 1800
) -> None:
    """Wait until a condition holds; fail if the process that should fulfil the condition has ended."""
    deadline = time.monotonic() + seconds
    while not condition():
        ended = process is not None and process.poll() is not None
        assert not ended, f"ended with {process.returncode} before that: {process.communicate()[1]}"
        assert time.monotonic() < deadline, "did not happen"
        time.sleep(0.05)


def interrupt(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    """Send a signal only to a process, wait for its end, and return its output."""
    process.send_signal(number)
    return process.communicate(timeout=1800)[1]


def find_port() -> int:
    """Find a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kill_family(pid: int) -> None:
    """Kill a process and its child processes."""
    parent = psutil.Process(pid)
    for process in [*parent.children(recursive=True), parent]:
        process.kill()
