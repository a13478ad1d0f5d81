"""Tests that hand-written files at output paths are backed up and reported, unlike files of a run."""

import pytest

from flows.run.record.recorder import Recorder
from flows.run.runner import Run, run_plain
from flows.run.selection import order_nodes

KEPT = ".benchloom/kept/second.txt"


@pytest.fixture
def run(project):
    def run():
        said = []
        recorder = Recorder(project.root)
        run = Run(project.root, recorder, {}, open_session=lambda: None, say=said.append)
        run_plain(run, order_nodes(recorder.nodes), 1)
        run.finish()
        recorder.close()
        return [line for line in said if "kept" in line]

    return run


def change(project, old, new):
    text = project.read("dvc.yaml")
    assert old in text
    project.write("dvc.yaml", text.replace(old, new))


def test_a_file_where_nothing_has_run_yet_is_kept(project, run):
    project.write("second.txt", "mine")
    assert run() == [f"second.txt: was not written by a run of second; the file is kept as {KEPT}"]
    assert project.read(KEPT) == "mine"
    assert project.read("second.txt") == "SOME ROWS\nA PROMPT\nHEY\n"


def test_a_file_in_the_place_of_an_artifact_is_kept_each_time(project, run):
    run()
    for text in ("mine", "mine too"):
        (project.root / "second.txt").unlink()
        project.write("second.txt", text)
        assert len(run()) == 1
    assert project.read(KEPT) == "mine"
    assert project.read(f"{KEPT}.1") == "mine too"
    assert project.read("second.txt") == "SOME ROWS\nA PROMPT\nHEY\n"


def test_what_runs_wrote_makes_room_without_a_word(project, run):
    run()
    project.write("raw.txt", "other rows\n")
    assert run() == []
    project.write("raw.txt", "some rows\n")
    assert run() == []
    (project.root / "dvc.lock").unlink()  # simulate a run killed before it wrote dvc.lock
    assert run() == []
    assert not (project.root / ".benchloom/kept").exists()


def test_what_a_run_left_that_did_not_end_makes_room_without_a_word(project, run):
    project.write(
        "dvc.yaml",
        project.read("dvc.yaml").replace(
            "tr a-z A-Z < first.txt > second.txt", "echo half > second.txt && false"
        ),
    )
    run()
    assert project.read("second.txt") == "half\n"
    change(project, "echo half > second.txt && false", "cp first.txt second.txt")
    assert run() == []
    assert not (project.root / ".benchloom/unfinished/second").exists()


def test_a_folder_is_kept_whole(project, run):
    change(project, "outs: [third.txt]", "outs: [third]")
    change(project, "wc -c < first.txt > third.txt", "mkdir third && cp first.txt third")
    (project.root / "third").mkdir()
    project.write("third/mine.txt", "mine")
    assert len(run()) == 1
    assert project.read(".benchloom/kept/third/mine.txt") == "mine"
    assert not (project.root / "third/mine.txt").exists()
