"""Tests that dvc.lock contains only hashes of the code, parameters and data that a stage ran with."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from flows.run.record.recorder import Recorder
from tasks.errors import ChangedWhileRunning
from tests.flows.conftest import TRIAL_PARAMS, make_folder
from tests.flows.sample import ROOT

DVC_YAML = """\
stages:
  sources-words:
    cmd: benchloom stage sources.words
    deps: [source.txt, tasks/sources/words.py]
    params: [sources.words]
    outs: [data/words.parquet, data/words.dropped.parquet]
"""
MODULE = "tasks/sources/words.py"
STAGE = "sources-words"
PARAMS = "sources: {words: {letters: 4}}\ndatabases: {}\n"
RUN = """\
import sys
from pathlib import Path

from flows.commands.run import make_run
from flows.run.record.recorder import Recorder
from flows.run.runner import run_plain
from flows.settings import load_params

root = Path.cwd()
params = load_params(root)
run = make_run(root, Recorder(root), params)
run_plain(run, list(run.recorder.nodes), 1)
run.finish()
sys.exit(1 if run.errors else 0)
"""
"""A script like `benchloom run --plain`, for a project whose stage no flow declares."""
EDIT = """\
from pathlib import Path


def edit(name: str, old: str, new: str, back: bool = False) -> None:
    import os

    path = Path(name)
    text, status = path.read_text(), path.stat()
    assert old in text
    path.write_text(text.replace(old, new))
    if back:
        path.write_text(text)
    elif name.endswith(".py"):
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


"""
"""An edit that keeps an old modification time, like `mv` or `rsync` of an older file."""


@dataclass
class OwnCode:
    """A project with its own code for one stage."""

    root: Path

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": programs, "PYTHONPATH": str(self.root)}
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def run(self, before: str = "") -> subprocess.CompletedProcess[str]:
        return self.call("-c", before + RUN)

    def repro(self) -> subprocess.CompletedProcess[str]:
        return self.call("-m", "dvc", "repro")

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def edit_within(self, path: str, old: str, new: str, **options: bool) -> None:
        """Make the stage edit a file while it runs, like another person."""
        call = f"edit({path!r}, {old!r}, {new!r}, **{options})"
        self.edit(MODULE, "from dataclasses", f"{EDIT}from dataclasses")
        self.edit(MODULE, "    found =", f"    {call}\n    found =")

    def is_recorded(self) -> bool:
        lock = self.root / "dvc.lock"
        return lock.exists() and STAGE in yaml.safe_load(lock.read_text())["stages"]


@pytest.fixture
def own(tmp_path) -> OwnCode:
    root = make_folder(tmp_path / "own")
    for package in ("flows", "tasks"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/flows/trial/words.py", root / MODULE)
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text(PARAMS)
    (root / "source.txt").write_text("an oddity apple pear plum")
    return OwnCode(root)


def test_a_module_that_changed_after_its_import_is_not_recorded_though_its_time_is_older(own):
    own.edit(MODULE, "from dataclasses", f"{EDIT}from dataclasses")
    done = own.run(
        "import flows\n"
        "from tasks.sources.words import edit\n"
        f"edit({MODULE!r}, '>= params.letters', '> params.letters')\n"
    )
    assert done.returncode == 1
    assert f"{STAGE}: {MODULE} changed while running; run it again" in done.stderr
    assert not own.is_recorded()
    assert own.run().returncode == 0
    assert own.is_recorded()


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("params.yaml", "letters: 4", "letters: 5"),
        pytest.param(MODULE, ">= params.letters", "> params.letters", marks=pytest.mark.drill),
        pytest.param("source.txt", "apple", "a melon", marks=pytest.mark.drill),
    ],
)
def test_what_is_edited_while_dvc_repro_runs_a_stage_is_not_recorded(own, path, old, new):
    own.edit_within(path, old, new)
    done = own.repro()
    assert done.returncode != 0
    assert f"benchloom: {STAGE}: {path} changed while running; run it again" in done.stderr
    assert not own.is_recorded()


@pytest.mark.drill
@pytest.mark.parametrize("command", ["run", "repro"])
def test_a_module_that_is_edited_and_put_back_while_its_stage_runs_is_not_recorded(own, command):
    own.edit_within(MODULE, ">= params.letters", "> params.letters", back=True)
    done = getattr(own, command)()
    assert done.returncode != 0
    assert f"{MODULE} changed while running" in done.stderr
    assert not own.is_recorded()


def test_code_of_the_same_size_and_second_is_not_taken_from_pythons_cache(tmp_path):
    for name in ("flows/__init__.py", "flows/loaded_code.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/__init__.py").touch()
    told = []
    for value in (1, 2):
        (tmp_path / "tasks/one.py").write_text(f"VALUE = {value}\n")
        os.utime(tmp_path / "tasks/one.py", ns=(0, 1_700_000_000_000_000_000 + value))
        for before in ("", "import flows; "):  # Python's own import writes cached bytecode
            code = f"{before}from tasks.one import VALUE; print(VALUE)"
            told.append(subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env={}).strip())
    assert told == [b"1", b"1", b"1", b"2"]


def test_parameters_edited_before_a_stage_begins_are_not_recorded_as_those_it_ran_with(trial, monkeypatch):
    from tests.flows.trial import answers as module

    plain = module.answers

    async def edit(words, ask):
        trial.set(trial={**TRIAL_PARAMS["trial"], "page": {"title": "Other", "look": {"wide": True}}})
        return await plain(words, ask)

    edit.__annotations__, edit.__module__ = plain.__annotations__, plain.__module__
    monkeypatch.setattr(module, "answers", edit)
    outcomes = trial.run()
    assert (outcomes["trial-answers"].state, outcomes["trial-page"].state) == ("ran", "failed")
    assert str(trial.errors["trial-page"]) == (
        "trial-page: params.yaml: trial.page changed while running; run it again"
    )
    monkeypatch.setattr(module, "answers", plain)
    assert trial.run()["trial-page"].state == "ran"
    assert "Other" in trial.read("data/trial/page/page.txt")


def test_what_is_edited_while_outputs_come_back_from_the_run_cache_is_not_recorded(project):
    project.states()
    project.write("first.txt", "spoilt")
    recorder = Recorder(project.root)
    before = project.read("dvc.lock")
    found = recorder.restore("first")
    project.write("raw.txt", "other rows\n")
    with pytest.raises(ChangedWhileRunning, match=r"first: raw\.txt changed while running"):
        recorder.adopt("first", found)
    recorder.flush()
    recorder.close()
    assert project.read("dvc.lock") == before
    assert "first" in project.dvc("status")
