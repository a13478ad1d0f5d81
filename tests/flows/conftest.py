"""A small real DVC project for the runner's tests: shell commands as stages, no model."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.outcomes import Outcome
from flows.recorder import Recorder
from flows.runner import Run, run_plain
from flows.selection import order_nodes

DVC_YAML = """\
stages:
  first:
    cmd: cat raw.txt note.md > first.txt && echo ${shout} >> first.txt && echo ran >> ../first.runs
    deps: [raw.txt, note.md]
    params: [shout]
    outs: [first.txt]
  second:
    cmd: tr a-z A-Z < first.txt > second.txt && echo ran >> ../second.runs
    deps: [first.txt]
    outs: [second.txt]
  third:
    cmd: wc -c < first.txt > third.txt && echo ran >> ../third.runs
    deps: [first.txt]
    outs: [third.txt]
"""


@dataclass
class Project:
    root: Path

    def run(self, **options) -> dict[str, Outcome]:
        """Run everything plainly; return the outcomes by stage."""
        recorder = Recorder(self.root)
        run = Run(self.root, recorder, {}, open_session=lambda: None, say=lambda line: None, **options)
        try:
            run_plain(run, order_nodes(recorder.nodes), 4)
        finally:
            run.finish()
            recorder.close()
        self.errors = run.errors
        return run.outcomes

    def states(self, **options) -> dict[str, str]:
        return {name: outcome.state for name, outcome in self.run(**options).items()}

    def dvc(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *words], cwd=self.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def count_runs(self, stage: str) -> int:
        path = self.root.parent / f"{stage}.runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def read(self, name: str) -> str:
        return (self.root / name).read_text()

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    subprocess.run(["git", "init", "-q", "."], check=True)
    Repo.init(str(root)).close()
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text("shout: hey\n")
    (root / "raw.txt").write_text("some rows\n")
    (root / "note.md").write_text("a prompt\n")
    return Project(root)
