"""Tests of the runner against DVC: after a run of one, the other has no stale stages."""

import errno
import json
import os
import subprocess
import sys
import threading
import time

import pytest
import yaml
import zc.lockfile
from dvc.repo import Repo

from flows.run.record.dvc_boundary import hold_repo, translate_errors
from flows.run.record.recorder import Recorder
from tasks.errors import ChangedWhileRunning, LockHeld, StageFailed

UP_TO_DATE = "Data and pipelines are up to date."


def test_after_our_run_dvc_has_nothing_to_do(project):
    assert project.states() == {"first": "ran", "second": "ran", "third": "ran"}
    assert UP_TO_DATE in project.dvc("status")
    assert "didn't change, skipping" in project.dvc("repro")
    assert project.count_runs("first") == 1


def test_after_dvc_repro_we_have_nothing_to_do_and_the_locks_agree(project):
    project.dvc("repro")
    theirs = yaml.safe_load(project.read("dvc.lock"))
    assert project.states() == {"first": "fresh", "second": "fresh", "third": "fresh"}
    project.write("raw.txt", "other\n")
    project.states()
    project.write("raw.txt", "some rows\n")
    (project.root / "dvc.lock").unlink()
    project.states()
    assert yaml.safe_load(project.read("dvc.lock")) == theirs


@pytest.mark.parametrize(
    ("file", "text"),
    [("raw.txt", "other rows\n"), ("note.md", "another prompt\n"), ("params.yaml", "shout: hi\n")],
)
def test_a_change_makes_stale_what_depends_on_it_and_the_run_cache_brings_it_back(project, file, text):
    project.states()
    before, original = project.read("first.txt"), project.read(file)
    project.write(file, text)
    assert project.states()["first"] == "ran"
    changed = project.read("first.txt")
    assert changed != before
    project.write(file, original)
    assert project.states()["first"] == "restored"
    assert project.read("first.txt") == before
    assert project.count_runs("first") == 2
    assert UP_TO_DATE in project.dvc("status")


def test_a_comment_in_the_parameters_makes_nothing_stale(project):
    project.states()
    line = "# yaml-language-server: $schema=params.schema.json"
    project.write("params.yaml", f"{line}\n{project.read('params.yaml')}")
    assert set(project.states().values()) == {"fresh"}
    assert UP_TO_DATE in project.dvc("status")


def test_a_dependency_that_is_new_to_a_stage_is_recorded_as_dvc_records_it(project):
    project.states()
    project.write("more.md", "more\n")
    project.write(
        "dvc.yaml", project.read("dvc.yaml").replace("[raw.txt, note.md]", "[raw.txt, note.md, more.md]")
    )
    project.states()
    ours = yaml.safe_load(project.read("dvc.lock"))
    project.dvc("repro", "--force", "--no-run-cache")
    assert yaml.safe_load(project.read("dvc.lock")) == ours
    assert all(item["hash"] == "md5" for item in ours["stages"]["first"]["deps"])


def test_a_restored_stage_has_its_own_bytes_not_the_last_ones(project):
    """`save_deps` before `restore` would keep the existing outputs."""
    outputs = {}
    for rows in ("one", "two", "three"):
        project.write("raw.txt", rows)
        project.states()
        outputs[rows] = project.read("second.txt")
    for rows in ("two", "one", "three", "one"):
        project.write("raw.txt", rows)
        assert set(project.states().values()) == {"restored"}
        assert project.read("second.txt") == outputs[rows]


@pytest.mark.parametrize("part", [0, 0.3, 0.6, 0.9])
def test_what_a_killed_process_left_in_the_run_cache_is_passed_over(project, part):
    """DVC first writes an entry under another name, and reads the newest file as an entry."""
    project.states()
    entries = [path for path in (project.root / ".dvc/cache/runs").rglob("*") if path.is_file()]
    assert len(entries) == 3
    for entry in entries:
        text = entry.read_text()
        lines = text.splitlines()
        hashed = [n for n, line in enumerate(lines) if line.strip().startswith("md5:")]
        cut = "\n".join([*lines[: hashed[-1]], "    md5:"]) if part == 0.9 else text[: int(len(text) * part)]
        (entry.parent / ".Er5m_2z-N4PK4f5-4g9kVw.tmp").write_text(cut)
    for name in ("first.txt", "second.txt", "third.txt", "dvc.lock"):
        (project.root / name).unlink()
    assert set(project.states().values()) == {"restored"}


def test_a_draft_that_a_killed_run_left_is_gone_where_its_stage_runs_or_comes_back(project):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    draft = project.root / f".first.txt.{ended.pid}"
    draft.write_text("half")
    assert project.states()["first"] == "ran"
    assert not draft.exists()
    project.write("first.txt", "other")
    draft.write_text("half")
    (project.root / "first.txt").unlink()
    assert project.states()["first"] == "restored"
    assert not draft.exists()


def test_what_a_change_leaves_alone_is_not_run(project):
    project.states()
    project.write("note.md", "a prompt\n\n")
    os.utime(project.root / "raw.txt")
    assert project.states() == {"first": "ran", "second": "ran", "third": "ran"}
    project.write("second.txt", "spoilt")
    assert project.states() == {"first": "fresh", "second": "restored", "third": "fresh"}


def test_a_dependency_edited_while_its_stage_runs_fails_it_and_records_nothing(project):
    command = "cp raw.txt first.txt && sleep 0.2 && echo changed > raw.txt"
    text = project.read("dvc.yaml")
    project.write("dvc.yaml", text.replace(text.split("\n")[2].strip(), f"cmd: {command}"))
    states = project.states()
    assert states == {"first": "failed", "second": "skipped", "third": "skipped"}
    error = project.errors["first"]
    assert isinstance(error, ChangedWhileRunning)
    assert "raw.txt changed while running" in str(error)
    assert not (project.root / "dvc.lock").exists()
    assert "first" in project.dvc("status")


def test_a_dependency_that_goes_away_is_named(project):
    recorder = Recorder(project.root)
    with recorder.hold("first"):
        assert not recorder.restore("first")
        (project.root / "raw.txt").unlink()
        with pytest.raises(StageFailed, match=r"^first: .*raw\.txt"):
            recorder.begin("first")
    gone = pytest.raises(
        StageFailed, match=r"^first: raw\.txt was deleted while it was being read; restore it"
    )
    with gone, translate_errors(project.root, "first"):
        (project.root / "raw.txt").read_text()


def test_a_failed_stage_stops_what_depends_on_it_and_nothing_else(project):
    project.write("dvc.yaml", project.read("dvc.yaml").replace("tr a-z A-Z < first.txt", "false"))
    states = project.states()
    assert states == {"first": "ran", "second": "failed", "third": "ran"}
    assert isinstance(project.errors["second"], StageFailed)
    project.write("dvc.yaml", project.read("dvc.yaml").replace("false >", "cat first.txt >"))
    assert project.states() == {"first": "fresh", "second": "ran", "third": "fresh"}


def test_replay_refuses_other_bytes_than_the_lock_holds(project):
    project.write("dvc.yaml", project.read("dvc.yaml").replace("wc -c < first.txt >", "cat ../dice >"))
    (project.root.parent / "dice").write_text("1")
    project.states()
    (project.root.parent / "dice").write_text("2")
    (project.root / "third.txt").unlink()
    for path in (project.root / ".dvc" / "cache").rglob("*"):
        if path.is_file() and path.read_bytes() == b"1":
            path.chmod(0o644)
            path.unlink()
    assert project.states(replay=True)["third"] == "failed"
    assert "third.txt does not match the checksum in dvc.lock" in str(project.errors["third"])


def test_another_process_that_holds_a_path_is_named(project):
    recorder, other = Recorder(project.root), Recorder(project.root)
    rwlock = project.root / ".dvc" / "tmp" / "rwlock"
    rwlock.write_text(
        json.dumps(
            {
                "write": {str(project.root / "first.txt"): {"pid": os.getppid(), "cmd": "another run"}},
                "read": {},
            }
        )
    )
    with pytest.raises(LockHeld, match="another run"), recorder.hold("first"):
        pass
    rwlock.unlink()
    with other.hold("third"):
        pass


def test_two_stages_that_read_one_path_hold_it_until_the_last_is_done(project):
    recorder = Recorder(project.root)
    rwlock = project.root / ".dvc" / "tmp" / "rwlock"
    second_is_done = threading.Event()

    def hold_second():
        with recorder.hold("second"):
            second_is_done.wait(5)

    thread = threading.Thread(target=hold_second)
    thread.start()
    time.sleep(0.2)
    with recorder.hold("third"):
        second_is_done.set()
        thread.join()
        assert "first.txt" in rwlock.read_text()
    assert "first.txt" not in rwlock.read_text()


def test_the_lock_file_is_sorted_whatever_the_order_of_completion(project):
    project.states()
    assert list(yaml.safe_load(project.read("dvc.lock"))["stages"]) == ["first", "second", "third"]


def test_what_another_process_holds_is_named_in_one_line_of_ours(project):
    project.states()
    recorder = Recorder(project.root)
    begun = recorder.begin("first")
    rwlock = project.root / ".dvc" / "tmp" / "rwlock"
    holder = {"pid": os.getppid(), "cmd": "dvc repro first"}
    rwlock.write_text(json.dumps({"write": {str(project.root / "first.txt"): holder}, "read": {}}))
    line = f"first: another run holds first.txt (PID {os.getppid()}: dvc repro first); run the same"
    for touch in (
        lambda: recorder.explain("first", patience_s=0),
        lambda: recorder.finish("first", begun),
        lambda: recorder.adopt("first", begun.hashes),
        lambda: recorder.restore("first"),
    ):
        with pytest.raises(LockHeld) as caught:
            touch()
        assert str(caught.value).startswith(line)
        assert "\n" not in str(caught.value)


def test_a_path_that_is_free_again_soon_is_waited_for(project):
    recorder = Recorder(project.root)
    rwlock = project.root / ".dvc" / "tmp" / "rwlock"
    holder = {"pid": os.getppid(), "cmd": "another run"}
    rwlock.write_text(json.dumps({"write": {str(project.root / "first.txt"): holder}, "read": {}}))
    timer = threading.Timer(1.0, lambda: rwlock.write_text("{}"))
    timer.start()
    with recorder.hold("first"):
        assert timer.finished.is_set()
    timer.join()


def test_the_process_with_the_repository_lock_is_named(project):
    code = (
        "import sys, time; from dvc.repo import Repo; r = Repo(sys.argv[1]); r.lock.lock(); "
        "print('locked', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(project.root)], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"locked\n"
        with (
            pytest.raises(LockHeld, match=rf"another run holds DVC's lock on .* \(PID {other.pid}: "),
            hold_repo(Repo(str(project.root)), patience_s=0),
        ):
            pass
    finally:
        other.kill()
        other.communicate()


def test_a_lock_that_could_not_be_written_on_a_full_disk_is_not_held_by_ourselves(project, monkeypatch):
    repo, kept = Repo(str(project.root)), []
    room = zc.lockfile.LockFile._on_lock

    def fail(lock):
        raise OSError(errno.ENOSPC, "No space left on device")

    for touch in (hold_repo(repo), translate_errors(project.root, "first")):
        monkeypatch.setattr(zc.lockfile.LockFile, "_on_lock", fail)
        try:
            with touch:
                repo.lock.lock()
        except OSError as error:
            kept.append(error)  # like a run, which stores errors
        monkeypatch.setattr(zc.lockfile.LockFile, "_on_lock", room)
        with hold_repo(repo, patience_s=0):
            pass
    assert [error.errno for error in kept] == [errno.ENOSPC] * 2
