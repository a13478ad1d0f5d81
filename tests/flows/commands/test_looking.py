"""Tests of the output of `status` and `plan`: one line per fresh entry, and reasons for stale stages."""

import json
import subprocess
import sys

import pytest

from flows.commands.plan import describe_plans, group_plans
from flows.commands.run import list_stale
from flows.commands.status import status_command
from flows.run.planner import StagePlan
from flows.run.record.recorder import Recorder
from flows.run.runner import Run
from flows.run.selection import order_nodes
from tasks.errors import BadInput

FANNED = """\
stages:
  raw:
    cmd: cp raw.txt a.txt
    deps: [raw.txt]
    outs: [a.txt]
  copy:
    foreach: ${places}
    do:
      cmd: cat a.txt > ${key}.txt
      deps: [a.txt]
      params: ["places.${key}"]
      outs: ["${key}.txt"]
"""


@pytest.fixture
def fanned(project):
    project.write("dvc.yaml", FANNED)
    project.write("params.yaml", "places: {north: 1, south: 2, west: 3}\n")
    return project


def read(capsys, *targets, **options):
    capsys.readouterr()
    assert status_command(targets, **{"as_json": False, **options}) == 0
    return capsys.readouterr().out.splitlines()


def test_a_project_that_has_not_run_says_so_in_a_line_an_entry(fanned, capsys):
    lines = read(capsys)
    assert [line.split()[:5] for line in lines[:4]] == [
        ["own", "sample", "0", "of", "1"],
        ["own", "north", "0", "of", "1"],
        ["own", "south", "0", "of", "1"],
        ["own", "west", "0", "of", "1"],
    ]
    assert all("1 never run" in line for line in lines[:4])
    assert lines[4] == "4 of 4 stages are not fresh (4 missing); to run them: benchloom run"


def test_only_what_is_not_fresh_is_listed_with_why_and_what_mends_it(fanned, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    fanned.run()
    assert read(capsys)[-1] == "All stages are fresh."
    assert len(read(capsys)) == 5
    fanned.write("params.yaml", "places: {north: 1, south: 20, west: 3}\n")
    (fanned.root / "west.txt").unlink()
    lines = read(capsys)
    listed = [line.split(maxsplit=2) for line in lines if line.startswith("  ")]
    assert listed == [
        ["copy@south", "stale", "places.south in params.yaml modified"],
        ["copy@west", "missing", "west.txt deleted"],
    ]
    assert lines[-1] == "2 of 4 stages are not fresh (1 stale, 1 missing); to run them: benchloom run"
    lines = read(capsys, "copy@south")
    assert lines[-1] == "1 of 1 stages are not fresh (1 stale); to run them: benchloom run copy@south"
    assert len([line for line in read(capsys, every=True) if line.startswith("  ")]) == 4


def test_an_entry_is_a_target_and_what_is_none_is_refused(fanned, capsys):
    listed = json.loads("\n".join(read(capsys, "south", as_json=True)))
    assert [stage_status["stage"] for stage_status in listed] == ["copy@south"]
    listed = json.loads("\n".join(read(capsys, "copy", as_json=True)))
    assert [stage_status["stage"] for stage_status in listed] == ["copy@north", "copy@south", "copy@west"]
    assert listed[0]["again"] == "benchloom run copy@north"
    with pytest.raises(BadInput, match="nowhere: is not a flow, stage, entry or artifact"):
        status_command(("nowhere",), as_json=False)
    with pytest.raises(
        BadInput, match=r"did you mean copy@west\? flows: .*; stages: copy, raw; .*lists all stages"
    ):
        status_command(("cpoy@west",), as_json=False)


def test_many_entries_that_would_run_for_one_reason_share_a_line():
    keys = [f"db{number}" for number in range(6)]
    plans = [StagePlan(f"a@{key}", (f"after b@{key}",), exact_calls=0, recorded=2) for key in keys]
    plans.append(StagePlan("a@other", ("raw.txt modified",), exact_calls=0))
    groups = group_plans(plans)
    assert [len(group) for group in groups] == [6, 1]
    assert describe_plans(groups[0])[0] == "a@ for 6 entries"
    assert describe_plans(groups[0])[2] == "12"
    assert "after b@db0; the others likewise" in describe_plans(groups[0])[-1]
    assert describe_plans(groups[1])[-1] == "raw.txt modified"
    assert [len(group) for group in group_plans(plans[:5])] == [1] * 5


def test_of_many_stages_only_those_that_may_run_are_left(fanned):
    fanned.run()
    fanned.write("params.yaml", "places: {north: 1, south: 20, west: 3}\n")
    recorder = Recorder(fanned.root)
    run = Run(fanned.root, recorder, {}, open_session=lambda: None, say=lambda line: None)
    assert list_stale(run, order_nodes(recorder.nodes)) == ["copy@south"]
    recorder.close()
    fanned.write("raw.txt", "other")
    recorder = Recorder(fanned.root)
    run = Run(fanned.root, recorder, {}, open_session=lambda: None, say=lambda line: None)
    assert list_stale(run, order_nodes(recorder.nodes)) == order_nodes(recorder.nodes)
    recorder.close()


def test_what_another_process_runs_is_running_and_what_stands_on_it_waits(fanned, capsys):
    fanned.run()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        holder = {"pid": other.pid, "cmd": "benchloom run raw"}
        held = {"write": {str(fanned.root / "a.txt"): holder}, "read": {}}
        fanned.write(".dvc/tmp/rwlock", json.dumps(held))
        capsys.readouterr()
        status_command((), as_json=True)
        told = {stage_status["stage"]: stage_status for stage_status in json.loads(capsys.readouterr().out)}
        lines = read(capsys)
        other.communicate(b"\n")
    assert {name: stage_status["state"] for name, stage_status in told.items()} == {
        "raw": "running", "copy@north": "waiting", "copy@south": "waiting", "copy@west": "waiting"
    }  # fmt: skip
    assert told["copy@north"]["why"] == [f"another run holds a.txt (PID {other.pid}: benchloom run raw)"]
    assert {stage_status["again"] for stage_status in told.values()} == {""}
    assert lines[-1] == "4 of 4 stages are not fresh (1 running, 3 waiting); to run them: benchloom run"
    assert read(capsys)[-1] == "All stages are fresh."
