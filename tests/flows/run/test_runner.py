"""Tests of stopped runs, and of runs with failing resources."""

import errno
import os
import shutil
import sqlite3
import threading
import time
from contextlib import suppress

import psutil
import pytest
import yaml

from flows.commands.run import conclude
from flows.run import runner
from flows.run.failures import Interrupted, describe_error, is_disk_full
from flows.run.outcomes import StageOutcome
from flows.run.record.recorder import Recorder
from flows.run.reproduce import bring_up_lost
from flows.run.runner import Run
from flows.run.selection import order_nodes, select_failed
from flows.settings import load_params
from tasks.errors import BadInput, ModelFailed, StageFailed
from tasks.models.recording.ledger import Ledger, list_unfinished
from tests.flows.running import finish_run


def run_until(run: Run, condition) -> None:
    """Run all stages, and stop when a condition holds."""

    def watch():
        while not condition():
            time.sleep(0.02)
        run.stopping.set()

    threading.Thread(target=watch, daemon=True).start()
    finish_run(run)


def test_a_stage_that_asks_is_stopped_between_two_answers_and_pays_for_none_twice(trial):
    trial.delay_s = 0.5
    settings = load_params(trial.root)["run"]
    settings["endpoints"]["tester"]["in_flight"] = 1
    trial.set(run=settings)
    run = trial.open()
    run_until(run, lambda: len(trial.asked) == 2)
    assert isinstance(run.errors["trial-answers"], Interrupted)
    assert run.outcomes["trial-answers"].state == "skipped"
    assert list(yaml.safe_load(trial.read("dvc.lock"))["stages"]) == ["trial-words"]

    with Ledger(trial.root.parent / "ledger.sqlite") as ledger:
        noted = list_unfinished(ledger, str(trial.root), "trial")
        answered = [key for key in noted if ledger.get(key) is not None]
    assert len(answered) == len(trial.asked)  # the ledger contains all paid calls

    trial.delay_s = 0.0
    assert len(trial.asked) < 5
    assert trial.run()["trial-answers"].state == "ran"
    with Ledger(trial.root.parent / "ledger.sqlite") as ledger:
        assert list_unfinished(ledger, str(trial.root), "trial") == []
    assert len(trial.asked) == 5  # four words, with one repeated call


def test_a_command_is_ended_with_all_that_it_started(project):
    command = "sh -c 'echo $$ > ../pid; sleep 60' && echo done > first.txt"
    text = project.read("dvc.yaml")
    project.write("dvc.yaml", text.replace(text.split("\n")[2].strip(), f"cmd: {command}"))
    pid = project.root.parent / "pid"
    recorder = Recorder(project.root)
    run = Run(project.root, recorder, {}, open_session=lambda: None, say=lambda line: None)
    run_until(run, lambda: pid.exists() and pid.read_text())
    assert run.outcomes["first"].state == "skipped"
    with suppress(psutil.NoSuchProcess):  # or it is a zombie of another parent
        assert psutil.Process(int(pid.read_text())).status() == psutil.STATUS_ZOMBIE
    assert not (project.root / "dvc.lock").exists()


@pytest.mark.parametrize(
    ("command", "states", "said", "code"),
    [
        ("wc -c < first.txt > third.txt", ["ran", "ran"], "Prefect did not start 2 of 3 stages", 0),
        ("false", ["ran", "failed"], "Prefect did not start 2 of 3 stages", 1),
    ],
)
def test_what_prefect_has_lost_is_brought_up_without_it(project, command, states, said, code):
    assert project.states()["first"] == "ran"
    for stage in ("second", "third"):
        (project.root / f"{stage}.txt").unlink()
    project.write("dvc.yaml", project.read("dvc.yaml").replace("wc -c < first.txt > third.txt", command))
    shutil.rmtree(project.root / ".dvc/cache")
    lines = []
    recorder = Recorder(project.root)
    run = Run(project.root, recorder, {}, open_session=lambda: None, say=lines.append)
    run.outcomes["first"] = StageOutcome("first", "fresh")
    names = order_nodes(recorder.nodes)
    try:
        bring_up_lost(run, names, 2)
    finally:
        run.finish()
        recorder.close()
    assert [run.outcomes[name].state for name in ("second", "third")] == states
    assert said in lines[0]
    assert conclude(run, names) == code


def test_what_stands_on_a_failed_stage_is_not_lost_and_a_skipped_one_is_no_success(project):
    lines = []
    recorder = Recorder(project.root)
    run = Run(project.root, recorder, {}, open_session=lambda: None, say=lines.append)
    run.outcomes["first"] = StageOutcome("first", "failed", error="it gave way")
    names = order_nodes(recorder.nodes)
    try:
        bring_up_lost(run, names, 2)
    finally:
        run.finish()
        recorder.close()
    assert {run.outcomes[name].error for name in names[1:]} == {"waits for first"}
    assert not any("Prefect" in line for line in lines)
    assert conclude(run, names) == 1


def test_a_stage_that_comes_up_at_another_try_is_no_error(project):
    recorder = Recorder(project.root)
    run = Run(project.root, recorder, {}, open_session=lambda: None, say=lambda line: None)
    run.errors["first"] = ModelFailed("first", "the endpoint did not answer")
    try:
        assert run.bring_up("first").state == "ran"
    finally:
        run.finish()
        recorder.close()
    assert run.errors == {}


def test_the_lock_file_is_written_while_the_run_goes_on(project):
    recorder = Recorder(project.root)
    lock = project.root / "dvc.lock"
    run = Run(project.root, recorder, {}, open_session=lambda: None, say=lambda line: None)
    with recorder.keep_flushing(every_s=0.05):
        run.bring_up("first")
        deadline = time.monotonic() + 20
        while not lock.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert list(yaml.safe_load(lock.read_text())["stages"]) == ["first"]
        run.bring_up("second")
    assert list(yaml.safe_load(lock.read_text())["stages"]) == ["first", "second"]
    recorder.close()


def test_a_stage_that_fails_is_a_failure_even_where_that_cannot_be_noted(project, monkeypatch):
    def fail(root, outcome):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(runner, "save_outcome", fail)
    project.write("dvc.yaml", project.read("dvc.yaml").replace("tr a-z A-Z < first.txt", "false"))
    states = project.states()
    assert states == {"first": "ran", "second": "failed", "third": "ran"}
    assert isinstance(project.errors["second"], StageFailed)


def test_a_record_that_cannot_be_written_is_said_and_made_good_by_the_run_cache(project):
    draft = project.root / f".dvc.lock.{os.getpid()}"
    draft.mkdir()  # blocks the draft file beside dvc.lock
    with pytest.raises(StageFailed, match=r"dvc.lock cannot be written"):
        project.states()
    draft.rmdir()
    assert set(project.states().values()) == {"restored"}
    assert project.count_runs("first") == 1


def test_only_what_failed_is_run_again_with_what_waited_for_it(project):
    project.write("dvc.yaml", project.read("dvc.yaml").replace("cat raw.txt note.md", "cat nothing.txt"))
    assert project.states() == {"first": "failed", "second": "skipped", "third": "skipped"}
    recorder = Recorder(project.root)
    names = order_nodes(recorder.nodes)
    assert select_failed(project.root, recorder.nodes, names) == ["first", "second", "third"]

    project.write("dvc.yaml", project.read("dvc.yaml").replace("cat nothing.txt", "cat raw.txt note.md"))
    project.states()
    assert select_failed(project.root, recorder.nodes, names) == []

    project.write("dvc.yaml", project.read("dvc.yaml").replace("wc -c < first.txt", "false"))
    project.states()
    assert select_failed(project.root, recorder.nodes, names) == ["first", "third"]
    recorder.close()


def test_a_lock_file_that_was_cut_short_is_named_with_what_to_do(project):
    recorder = Recorder(project.root)
    (project.root / ".dvc" / "tmp" / "rwlock").write_text('{"read": {')
    with pytest.raises(BadInput, match=r"rwlock: is truncated.*delete this file"), recorder.hold("first"):
        pass
    recorder.close()


def test_a_lock_file_that_is_cut_short_while_paths_are_held_leaves_none_of_them_held(project):
    recorder = Recorder(project.root)
    file = project.root / ".dvc" / "tmp" / "rwlock"
    with recorder.locks.hold(["/a"], []):
        with recorder.locks.hold(["/b"], ["/c"]):
            file.write_text('{"read": {')
        assert len(recorder.locks.groups) == 1
    assert recorder.locks.groups == []
    recorder.close()


def test_dvc_too_leaves_its_lock_file_whole_on_a_full_disk(project, monkeypatch):
    recorder = Recorder(project.root)
    file = project.root / ".dvc" / "tmp" / "rwlock"
    with recorder.hold("first"):
        before = file.read_text()

        def write_half(content, file):
            file.write('{"read": {')
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("dvc.rwlock.json.dump", write_half)
        with pytest.raises(OSError, match="No space left"), recorder.repo.lock:
            recorder.graph.find_stage("first").changed_outs()
        monkeypatch.undo()
        assert file.read_text() == before
    recorder.close()


def test_a_full_disk_is_known_however_it_is_wrapped():
    full = OSError(errno.ENOSPC, "No space left on device", "data/a.parquet")
    wrapped = StageFailed("a: cannot be saved")
    wrapped.__cause__ = full
    assert is_disk_full(full)
    assert is_disk_full(wrapped)
    assert not is_disk_full(OSError(errno.ENOENT, "No such file"))
    assert describe_error(full).startswith("the disk is full; make room and run the same command again")


def test_a_database_that_cannot_grow_is_a_full_disk(tmp_path):
    connection = sqlite3.connect(tmp_path / "small.sqlite")
    connection.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.executescript("CREATE TABLE a (b); INSERT INTO a VALUES (randomblob(100000));")
    assert is_disk_full(caught.value)
    assert not is_disk_full(sqlite3.ProgrammingError("Cannot operate on a closed database."))
