"""Tests that a stream depends only on its own datasets, whose files one stage lists."""

from pathlib import Path

import pytest
import yaml

from flows.graph import DeclaredGraph
from flows.streambench import RAW
from tasks.artifacts.rows import Origin
from tasks.errors import BadInput
from tasks.sources.stream_dataset import digest_file
from tasks.streambench.build.datasets import datasets
from tasks.streambench.entries import Stream
from tests.flows.conftest import make_folder
from tests.flows.running import copy_code, finish_run, list_states, open_run
from tests.streambench.test_build import write

ROOT = Path(__file__).parents[2]
LAST = ["streambench-sequence@{}", "streambench-shots@{}"]


def test_all_files_of_the_datasets_are_listed_with_their_checksums(tmp_path):
    write(tmp_path, 3)
    write(tmp_path, 3, "two")
    rows = datasets(tmp_path, Stream(datasets=("one", "two"))).rows
    assert [(row.dataset, row.path) for row in rows] == [
        (name, path)
        for name in ("one", "two")
        for path in ("dataset.json", "files/x/y.txt", "items.jsonl", "shots.jsonl", "skipped.jsonl")
    ]
    assert rows[1].sha256 == digest_file(tmp_path / "one/files/x/y.txt")
    assert rows[1].origin == (Origin("file", f"{RAW}/one/files/x/y.txt"),)
    with pytest.raises(BadInput, match="dataset none: does not exist"):
        datasets(tmp_path, Stream(datasets=("none",)))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project with two streams: one with two datasets, and one with a third dataset."""
    root = make_folder(tmp_path / "project")
    monkeypatch.chdir(root)
    copy_code(root, monkeypatch)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    streams = {"both": {"datasets": ["one", "two"]}, "third": {"datasets": ["three"]}}
    params["streambench"] |= {"databases": {}, "streams": streams, "evaluations": {}, "overviews": {}}
    (root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    blocks = DeclaredGraph(ROOT).make_blocks(params)
    own = {name: block for name, block in blocks.items() if name.startswith("streambench-")}
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": own}, sort_keys=False))
    for name in ("one", "two", "three"):
        write(root / RAW, 6, name)
    return root


def run(root):
    """Run both streams; return each stage's final state."""
    wanted = [name.format(stream) for name in LAST for stream in ("both", "third")]
    return list_states(finish_run(open_run(root), wanted))


def list_run(states):
    return {name.removeprefix("streambench-") for name, state in states.items() if state != "fresh"}


def test_another_import_makes_no_stream_stale_and_a_changed_dataset_its_own_alone(root):
    stages = ("datasets", "items", "sequence", "shots")
    assert list_run(run(root)) == {f"{stage}@{stream}" for stage in stages for stream in ("both", "third")}
    write(root / RAW, 9, "four")
    # The files are listed again with the same result, so no downstream stage runs.
    assert list_run(run(root)) == {"datasets@both", "datasets@third"}
    write(root / RAW, 9, "two")
    assert list_run(run(root)) == {"datasets@both", "datasets@third", *(f"{stage}@both" for stage in stages)}


def test_no_stage_but_the_list_depends_on_all_datasets():
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    blocks = DeclaredGraph(ROOT).make_blocks(params)
    reading = {name for name, block in blocks.items() if RAW in block.get("do", block)["deps"]}
    assert reading == {"streambench-datasets"}
