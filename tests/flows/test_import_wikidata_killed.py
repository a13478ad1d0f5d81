"""Tests of a killed `benchloom import wikidata`: no incomplete file, same bytes on the next import."""

import bz2
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time as clock
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.sources.importers.wikidata import Wikidata
from tasks.sources.wikidata.shards import plan_parts
from tests.flows.conftest import make_folder
from tests.flows.sample import ROOT
from tests.shared_data import SHARED, needs
from tests.sources.wikidata.scenes import entity, statement, text, write_dump

FILES = ("about.json", "claims.parquet", "entities.parquet", "skipped.jsonl")
FOLDER = Path("data/raw/wikidata/main")
STRIDE = 12
"""Numbers of file operations at which an import is killed."""


@pytest.fixture
def project(tmp_path):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text("{}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    return root


def start(root, *words):
    """Start a command in a separate process group."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, words)],
        cwd=root, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


def run(root, *words, code=0):
    process = start(root, *words)
    said, errors = process.communicate()
    assert process.returncode == code, errors
    return said, errors


def read_files(folder):
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


@needs("wikidata")
@pytest.mark.drill
@pytest.mark.timeout(300)
def test_an_import_that_is_killed_at_its_file_operations_leaves_whole_files_and_is_done_again(project):
    before = write_dump(project.parent / "before.json", entity("Q7"), b"{")
    dump = SHARED / "wikidata/sample_wikidata_items.json.bz2"
    run(project, "tests.flows.killed_import", 0, before)
    old = read_files(project / FOLDER)
    assert sorted(old) == list(FILES)
    fresh = Path(shutil.copytree(project, project.parent / "fresh"))
    count = int(run(fresh, "tests.flows.killed_import", 0, dump)[0])
    new = read_files(fresh / FOLDER)
    assert count > 3 * STRIDE
    for moment in (*range(1, count - 1, STRIDE), count - 1):
        # Remove parts of an earlier import, which would leave this import less to do.
        shutil.rmtree(project / FOLDER / ".parts", ignore_errors=True)
        run(project, "tests.flows.killed_import", moment, dump, code=-signal.SIGKILL)
        left = read_files(project / FOLDER)
        assert sorted(left) == list(FILES)
        assert {name for name in FILES if left[name] not in (old[name], new[name])} == set()
    run(project, "tests.flows.killed_import", 0, dump)
    assert read_files(project / FOLDER) == new
    assert sorted(file.name for file in (project / FOLDER).iterdir()) == list(FILES)


def write_streams(path, streams=4, size=420):
    """Write a dump of several bzip2 streams, one per part, with texts that compress badly."""
    draws = random.Random(7)
    packed = []
    for number in range(streams):
        lines = []
        for place in range(size):
            name = f"Q{number * size + place + 1}"
            claims = [statement(text("P1", draws.randbytes(180).hex()), at, name) for at in range(20)]
            lines.append(json.dumps(entity(name, *claims)).encode() + b",\n")
        packed.append(bz2.compress(b"".join([b"[\n", *lines] if not number else lines)))
    path.write_bytes(b"".join([*packed, bz2.compress(b"]\n")]))
    return path


def count_parts(folder):
    return sum(not part.name.startswith(".") for part in folder.glob(".parts/*"))


def has_half(folder, pattern):
    """Return whether a non-empty draft file exists."""
    for file in folder.glob(pattern):
        with suppress(OSError):
            if file.stat().st_size:
                return True
    return False


MOMENTS = {
    "the first part is read": lambda folder: has_half(folder, ".parts/.*/*"),
    "another part is read": lambda folder: count_parts(folder) >= 1 and has_half(folder, ".parts/.*/*"),
    "the parts are joined": lambda folder: has_half(folder, ".claims.parquet.*"),
}


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_a_command_whose_processes_are_killed_goes_on_from_its_last_part(project):
    dump = write_streams(project.parent / "dump.json.bz2")
    command = ("flows.cli", "import", "wikidata", dump, "--workers", "2")
    total = len(plan_parts([dump], Wikidata().make_selection()))
    assert total >= 3
    fresh = Path(shutil.copytree(project, project.parent / "fresh"))
    run(fresh, *command)
    kept = 0
    for moment, has_come in MOMENTS.items():
        process = start(project, *command)
        while not has_come(project / FOLDER):
            assert process.poll() is None, f"ended before {moment}"
            clock.sleep(0.0005)
        os.killpg(process.pid, signal.SIGKILL)
        errors = process.communicate()[1]
        assert process.returncode == -signal.SIGKILL
        assert (f"{kept} of {total} parts were already read" in errors) == (kept > 0), errors
        assert read_files(project / FOLDER) == {}
        kept = count_parts(project / FOLDER)
    assert kept == total
    assert f"{total} of {total} parts were already read" in run(project, *command)[1]
    assert read_files(project / FOLDER) == read_files(fresh / FOLDER)
    assert sorted(file.name for file in (project / FOLDER).iterdir()) == list(FILES)
