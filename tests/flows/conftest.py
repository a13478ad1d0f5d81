"""Small DVC projects for tests of the runner: one with shell commands, one with stages that call a model."""

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from dvc.repo import Repo

from flows.run.outcomes import StageOutcome
from flows.run.record.recorder import Recorder
from flows.run.runner import Run, run_plain
from flows.run.selection import order_nodes
from flows.settings import load_params
from tests.flows.running import finish_run, open_run
from tests.flows.sample import ROOT, make_sample
from tests.flows.trial import answers, page, words
from tests.models.scenes import answering, say

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

    def run(self, **options) -> dict[str, StageOutcome]:
        """Run all stages without Prefect; return the outcomes by stage."""
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


def make_folder(root: Path) -> Path:
    """Create a folder with git and DVC repositories."""
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    Repo.init(str(root)).close()
    return root


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    root = make_folder(tmp_path / "project")
    monkeypatch.chdir(root)
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text("shout: hey\n")
    (root / "raw.txt").write_text("some rows\n")
    (root / "note.md").write_text("a prompt\n")
    return Project(root)


TRIAL_YAML = """\
stages:
  trial-words:
    cmd: benchloom stage trial.words
    deps: [source.txt]
    params: [trial.words]
    outs: [data/trial/words.parquet, data/trial/words.dropped.parquet]
  trial-answers:
    cmd: benchloom stage trial.answers
    deps: [data/trial/words.parquet]
    params: [roles.generator]
    outs: [data/trial/answers.parquet, data/trial/answers.dropped.parquet, data/trial/answers.calls.parquet]
  trial-page:
    cmd: benchloom stage trial.page
    deps: [data/trial/answers.parquet]
    params: [trial.page]
    outs: [data/trial/page]
"""
TRIAL_PARAMS = {
    "trial": {"words": {"letters": 4}, "page": {"title": "Words", "look": {"wide": True}}},
    "roles": {
        "generator": {"model": "tester", "temperature": 0.0, "top_p": 1.0, "max_tokens": 10, "attempts": 2}
    },
    "models": {},
    "databases": {},
}


@dataclass
class Trial(Project):
    """A project with the trial flow, and the requests to its endpoint on loopback."""

    asked: list[str] = field(default_factory=list)
    delay_s: float = 0.0
    """The endpoint's delay before each answer."""
    tail: str = ""
    """The text that the endpoint appends to every answer."""

    def open(self, **options) -> Run:
        """Open a run of the project like the command line."""
        return open_run(self.root, **options)

    def run(self, **options) -> dict[str, StageOutcome]:
        run = finish_run(self.open(**options), workers=4)
        self.errors = run.errors
        return run.outcomes

    def set(self, **sections) -> None:
        params = load_params(self.root)
        self.write("params.yaml", yaml.safe_dump({**params, **sections}))

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        question = body["messages"][-1]["content"].strip()
        self.asked.append(question)
        await asyncio.sleep(self.delay_s)
        text = "Nonsense" if "odd" in question else f"It is {question.split()[-1]}{self.tail}"
        return say(text, prompt_tokens=20, completion_tokens=5)


@pytest.fixture
def trial(tmp_path, monkeypatch) -> Iterator[Trial]:
    for module in (words, answers, page):
        name = module.__name__.rpartition(".")[2]
        monkeypatch.setitem(sys.modules, f"tasks.trial.{name}", module)
    root = make_folder(tmp_path / "trial")
    monkeypatch.chdir(root)
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    trial = Trial(root)
    trial.write("dvc.yaml", TRIAL_YAML)
    trial.write("source.txt", "an oddity apple pear plum")
    with answering(trial.answer) as url:
        endpoint = {"url": url, "retries": 0}
        price = {"input_usd_per_million": 100, "output_usd_per_million": 1000}
        run = {"workers": 2, "endpoints": {"tester": endpoint}, "prices": {"tester": price}}
        trial.write("params.yaml", yaml.safe_dump({**TRIAL_PARAMS, "run": run}))
        yield trial


def is_replayed(root):
    """Return whether a project contains the artifacts, reports and code that its dvc.lock records."""
    try:
        stages = yaml.load((root / "dvc.lock").read_text(), yaml.CSafeLoader)["stages"].values()
        files = {
            record["path"]: record["md5"] for stage in stages for record in (*stage["outs"], *stage["deps"])
        }
        return all(
            hashlib.md5((root / path).read_bytes()).hexdigest() == md5
            for path, md5 in files.items()
            if not md5.endswith(".dir")
        )
    except OSError:
        return False


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """This project if its sample has been replayed, otherwise a copy that is replayed and committed here."""
    if is_replayed(ROOT):
        return ROOT
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    sample.run()
    for command in (
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "the sample"],
    ):
        subprocess.run(["git", "-C", str(sample.root), *command], check=True)
    return sample.root
