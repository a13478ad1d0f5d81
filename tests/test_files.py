"""Tests of draft files: a reader never sees an incomplete file, and drafts of killed writers are removed."""

import os
import subprocess

import pytest

from tasks.files import remove_leftovers, write_beside, write_text


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_file_keeps_its_old_text_where_the_new_one_fails(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail():
        with write_beside(path) as draft:
            draft.write_text("half of the n")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


def test_the_draft_of_a_killed_process_goes_when_the_file_is_written_again(tmp_path, dead):
    (tmp_path / f".dvc.lock.{dead}").write_text("half")
    (tmp_path / f".dvc.lock.{os.getppid()}").write_text("another run at work")
    (tmp_path / f".other.{dead}").write_text("not this file's")
    write_text(tmp_path / "dvc.lock", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f".dvc.lock.{os.getppid()}", f".other.{dead}", "dvc.lock"]
    )


def test_a_folder_of_a_killed_process_goes_with_what_is_in_it(tmp_path, dead):
    for pid in (dead, os.getpid()):
        (tmp_path / f"spool-{pid}-x").mkdir()
        (tmp_path / f"spool-{pid}-x" / "run").write_text("rows")
    (tmp_path / "spool-mine").mkdir()
    remove_leftovers(tmp_path, "spool-")
    assert {path.name for path in tmp_path.iterdir()} == {f"spool-{os.getpid()}-x", "spool-mine"}
