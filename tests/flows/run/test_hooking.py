"""Tests of hooks after stages and runs: the example of docs/plugs.md, invalid hooks, and MLflow."""

import json
import signal
import time
from pathlib import Path

import pytest

import flows.hooks
from flows.commands.run import bring_up_stages, make_run
from flows.hooks.mlflow import MLflow
from flows.nights.worktree import TREE
from flows.run import hooking
from flows.run.hook import Hook
from flows.run.record.recorder import Recorder
from flows.run.runner import run_plain
from flows.run.selection import order_nodes
from flows.settings import load_params
from tasks.errors import BadInput
from tests.packages import install, read_example

FIGURE = """\
  fourth:
    cmd: mkdir -p data/metrics/trial/one && cp figure.json data/metrics/trial/one/r.json
    deps: [second.txt]
    outs: [data/metrics/trial/one]
"""
HOOK = """
import time
from typing import ClassVar

from flows.run.hook import Hook


class Own(Hook):
    name = "own"
    factor: int = 1

    def end_stage(self, end):
        {at_stage}

    def end_run(self, end):
        {at_run}
"""
WORKS = "wc -c < first.txt > third.txt && echo ran >> ../third.runs"
POINTS = "[benchloom.hooks]\nown = acme_hooks:Own\n"


@pytest.fixture
def own_handlers():
    """Restore the signal handlers that a run replaces."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def figured(project, own_handlers):
    """A project with a stage that writes a figure."""
    project.write("dvc.yaml", project.read("dvc.yaml") + FIGURE)
    project.write("figure.json", '{"value": 0.5, "low": 0.25, "high": 0.75}')
    return project


def run(project, hooks="{}"):
    """Run all stages like the command; return the exit code and the output."""
    project.write("params.yaml", f"shout: hey\nrun: {{hooks: {hooks}}}\n")
    work = make_run(project.root, Recorder(project.root), load_params(project.root))
    lines = []
    work.say = lines.append
    try:
        code = bring_up_stages(work, order_nodes(work.recorder.nodes), plain=True, title="everything")
    finally:
        work.recorder.close()
    return code, lines


def put_file(tmp_path, monkeypatch, name, code):
    folder = tmp_path / "hooks"
    folder.mkdir()
    (folder / f"{name}.py").write_text(code)
    monkeypatch.setattr(hooking, "FOLDER", folder)
    monkeypatch.setattr(flows.hooks, "__path__", [str(folder), *flows.hooks.__path__])


def test_the_example_of_the_page_hears_of_every_end(figured, tmp_path, monkeypatch):
    put_file(tmp_path, monkeypatch, "log", read_example("A hook"))
    file = tmp_path / "ends.jsonl"
    assert run(figured, f"{{log: {{file: {file}}}}}")[0] == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(line["stage"] for line in lines[:-1]) == ["first", "fourth", "second", "third"]
    assert {line["state"] for line in lines[:-1]} == {"ran"}
    assert lines[-1] == {"run": "everything", "exit": 0, "usd": 0.0, "figures": {"trial/one/r": 0.5}}

    file.unlink()
    assert run(figured, f"{{log: {{file: {file}}}}}")[0] == 0
    (line,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert line["figures"] == {"trial/one/r": 0.5}, "what was up to date is told of at the end alone"


class Kept(Hook):
    """A hook that stores its arguments."""

    name = "kept"

    def end_stage(self, end):
        KEPT.append(end)

    def end_run(self, end):
        KEPT.append(end)


KEPT = []


def test_what_is_handed_over_is_what_the_stage_did(trial, own_handlers):
    KEPT.clear()
    work = trial.open()
    work.hooks = hooking.Hooks({"kept": Kept()}, work.say)
    names = order_nodes(work.recorder.nodes)
    try:
        run_plain(work, names, 4)
    finally:
        work.finish()
        work.hooks.end_run(work, names, "trial", 0, "abc")
        work.recorder.close()
    ends = {end.stage: end for end in KEPT[:-1]}
    answers, outcome = ends["trial-answers"], work.outcomes["trial-answers"]
    assert (answers.rows_in, answers.rows_out, answers.calls, answers.calls_live) == (
        outcome.rows_in, outcome.rows_out, outcome.calls, outcome.calls_live
    )  # fmt: skip
    assert answers.calls_live > 0
    assert answers.params["roles.generator.model"] == "tester"
    assert {out.path for out in answers.outputs} == set(work.recorder.nodes["trial-answers"].outs)
    assert all(len(out.md5) == 32 and out.bytes for out in answers.outputs)
    assert ends["trial-words"].dropped == dict(work.outcomes["trial-words"].dropped)
    assert (KEPT[-1].title, KEPT[-1].commit, len(KEPT[-1].stages)) == ("trial", "abc", 3)
    assert KEPT[-1].paid_tokens == sum(end.paid_tokens for end in KEPT[-1].stages) > 0


def test_a_hook_that_raises_is_told_of_once_and_the_run_is_what_it_was(figured, site):
    install(
        site, "acme-hooks", points=POINTS, code=HOOK.format(at_stage="1 / 0", at_run="raise SystemExit(3)")
    )
    code, lines = run(figured, "{own: {factor: 2}}")
    assert code == 0
    told = [line for line in lines if line.startswith("hook ")]
    assert told == [
        "hook own: raised ZeroDivisionError: division by zero at first; this run does not call the hook again"
    ]
    assert run(figured)[1] == ["4 stages: 4 up to date"]


def test_a_hook_that_ends_the_process_or_hangs_ends_nothing(figured, site, monkeypatch):
    install(
        site, "acme-hooks", points=POINTS, code=HOOK.format(at_stage="pass", at_run="raise SystemExit(3)")
    )
    code, lines = run(figured, "{own: }")
    assert (code, lines[-1]) == (
        0,
        "hook own: raised SystemExit at the end of the run; this run does not call the hook again",
    )
    hooks = hooking.Hooks({"slow": Slow()}, lines.append, patience_s=0.1)
    work = make_run(figured.root, Recorder(figured.root), load_params(figured.root))
    began = time.monotonic()
    hooks.end_run(work, [], "trial", 0, "")
    work.recorder.close()
    assert time.monotonic() - began < 2
    assert lines[-2:] == [
        "waiting for hook slow, at most 0 s; press Ctrl-C to continue without it",
        "hook slow: is still running; the run ends without it",
    ]


class Slow(Hook):
    name = "slow"

    def end_run(self, end):
        time.sleep(3)


def test_a_stage_that_fails_is_handed_over_with_its_error(figured, site):
    told = "next((s.error, s.outputs, s.rows_out) for s in end.stages if s.stage == 'third')"
    code = HOOK.format(at_stage="pass", at_run=f"raise ValueError(str({told}))")
    install(site, "acme-hooks", points=POINTS, code=code)
    figured.write(
        "dvc.yaml",
        figured.read("dvc.yaml").replace(WORKS, "exit 3"),
    )
    code, lines = run(figured, "{own: {}}")
    assert code == 1
    assert (
        "raised ValueError: ('third: `exit 3` exited with status 3', (), None) at the end of the run"
        in lines[-1]
    )


@pytest.mark.parametrize(
    ("hooks", "code", "said"),
    [
        ("{chess: {}}", "", r"hook 'chess': is not known \(known: mlflow, own\)"),
        ("{own: {factors: 2}}", "", r"line 2: run\.hooks\.own\.factors: no such key .*'factor'"),
        ("{own: {factor: many}}", "", r"run\.hooks\.own\.factor: must be a whole number"),
        ("[own]", "", r"run\.hooks: must be a mapping"),
        ("{own: {}}", "1 / 0", r"acme-hooks 1\.0, entry point own = .* benchloom\.hooks: cannot be imported"),
        ("{own: {}}", "class Own: name = 'own'", r"subclass of flows\.run\.hook\.Hook \(see docs/plugs\.md"),
        ("{mlflow: {tracking_uri: 'http://me:secret@host'}}", "", "tracking_uri: contains a password"),
    ],
)  # fmt: skip
def test_a_wrong_hook_ends_the_run_before_it_began(figured, site, hooks, code, said):
    install(site, "acme-hooks", points=POINTS, code=code or HOOK.format(at_stage="pass", at_run="pass"))
    with pytest.raises(BadInput, match=said):
        run(figured, hooks)
    assert not (figured.root / "first.txt").exists()


@pytest.mark.drill
def test_mlflow_has_parameters_figures_hashes_and_artifacts_in_its_own_store(figured, tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")
    from mlflow.tracking import MlflowClient

    monkeypatch.chdir(figured.root)
    store = f"sqlite:///{tmp_path}/mlflow.db"
    options = f"tracking_uri: '{store}', experiment: trial, artifacts: ['data/metrics/*', 'third.txt']"
    hooks = f"{{mlflow: {{{options}}}}}"
    code, lines = run(figured, hooks)
    told = [line for line in lines if not line.startswith("waiting for hook mlflow")]  # MLflow starts slowly
    assert (code, told[-1]) == (0, "4 stages: 4 ran")
    client = MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("trial")
    (logged,) = client.search_runs([experiment.experiment_id])
    assert (logged.info.run_name, logged.info.status) == ("everything", "FINISHED")
    assert logged.data.params == {"shout": "hey"}
    numbers = logged.data.metrics
    assert (numbers["trial/one/r"], numbers["trial/one/r.low"], numbers["trial/one/r.high"]) == (
        0.5,
        0.25,
        0.75,
    )
    assert numbers["run/ran"] == 4
    assert numbers["stages/first/seconds"] > 0
    assert logged.data.tags["benchloom.exit_code"] == "0"
    there = Path(client.download_artifacts(logged.info.run_id, "", str(tmp_path)))
    assert json.loads((there / "data/metrics/trial/one/r.json").read_text())["value"] == 0.5
    assert (there / "third.txt").read_text() == figured.read("third.txt")
    stages = json.loads((there / "stages.json").read_text())
    md5 = stages["third"]["outputs"][0]["md5"]
    assert f"md5: {md5}" in figured.read("dvc.lock")

    figured.write("dvc.yaml", figured.read("dvc.yaml").replace(WORKS, "exit 3"))
    assert run(figured, hooks)[0] == 1
    states = {listed_run.info.status for listed_run in client.search_runs([experiment.experiment_id])}
    assert states == {"FINISHED", "FAILED"}


def test_mlflow_that_is_not_installed_is_said_before_anything_runs(figured, monkeypatch):
    monkeypatch.setattr("flows.hooks.mlflow.find_spec", lambda name: None)
    with pytest.raises(
        BadInput, match=r"run\.hooks\.mlflow: needs mlflow.*pip install 'benchloom\[mlflow\]'"
    ):
        MLflow().prepare(figured.root)


def test_mlflow_logs_no_night_into_a_folder_that_goes(tmp_path, monkeypatch):
    monkeypatch.setattr("flows.hooks.mlflow.find_spec", lambda name: name)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    night = tmp_path / TREE
    with pytest.raises(
        BadInput, match=r"would log .* the nightly run's worktree.*tracking_uri to the URL of a server"
    ):
        MLflow().prepare(night)
    MLflow(tracking_uri="sqlite:////tmp/runs.db").prepare(night)
    MLflow().prepare(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example.org")
    MLflow().prepare(night)
