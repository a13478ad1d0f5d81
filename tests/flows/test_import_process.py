"""Tests of the limited process of `benchloom import`: a faulty source or plug-in gives a one-line error."""

import os
import resource
import subprocess
import sys

import pytest

from tests.flows.sample import ROOT
from tests.packages import install

POINTS = "[benchloom.importers]\nodd = acme_odd:Odd\n"
CODE = """
from pathlib import Path
from tasks.sources.base_importer import BaseImporter, Imported, option
{before}

class Broken(Exception):
    def __str__(self):
        raise RuntimeError("no text")

class Odd(BaseImporter):
    name = "odd"
    file: str = option("A file.", "FILE", default="")

    def bring_in(self, project):
        draft = project.place(Path("data/raw/odd/rows.txt"))
        draft.write_text("half")
        {body}
        return Imported(["a \\x1b[2J\\x9b2Jline"])
"""


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("run: {importing: {seconds: 1}}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    return root


def call(project, site, *words, **options):
    path = os.pathsep.join([str(ROOT), str(site)])
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", "import", *map(str, words)], cwd=project, capture_output=True,
        env={**os.environ, "PYTHONPATH": path}, text=True, check=False, **options,
    )  # fmt: skip


def call_odd(project, site, body="pass", before="", **options):
    install(site, "acme-odd", "1.2", points=POINTS, code=CODE.format(body=body, before=before))
    return call(project, site, "odd", **options)


FAULTS = {
    "more memory than it may have": ("held = bytearray(1 << 30)", "", "needs more memory than its limit"),
    "no end": ("while True: pass", "", "took too long without producing a valid record; nothing was"),
    "an exit that says all is well": ("import sys; sys.exit(0)", "", "raised SystemExit: 0"),
    "an exit when it is imported": ("pass", "import sys; sys.exit(0)", "cannot be imported: SystemExit: 0"),
    "an error without a text": ("raise Broken", "", r"raised Broken: (its text cannot be written: Runt"),
    "an error that clears the screen": ("raise ValueError('a\\x1b]0;t\\x07b')", "", "ValueError: a ]0;t b"),
    "an end by itself": ("import os; os.abort()", "", "was killed by SIGABRT"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_a_plug_does_is_one_line_and_leaves_nothing(project, site, fault):
    body, before, said = FAULTS[fault]
    done = call_odd(project, site, body, before)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    *_, line = done.stderr.splitlines()
    assert said in line
    assert line.isprintable()
    assert "Traceback" not in done.stderr
    assert not (project / "data").exists()


def test_what_a_plug_says_is_printed_without_what_would_drive_a_terminal(project, site):
    done = call_odd(project, site)
    assert (done.returncode, done.stdout) == (0, "a  [2J 2Jline\n"), done.stderr
    assert (project / "data/raw/odd/rows.txt").read_text() == "half"


def test_the_limits_are_parameters(project, site):
    (project / "params.yaml").write_text("run: {importing: {seconds: 1, memory_mb: 2048}}\n")
    done = call_odd(project, site, "held = bytearray(1 << 30)")
    assert done.returncode == 0, done.stderr


def test_forty_kilobytes_of_open_lists_take_no_memory(project, tmp_path):
    file = tmp_path / "test.jsonl"
    file.write_text("[" * 40_000)
    done = call(project, tmp_path, "tanq", file)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"benchloom: {file}: is not valid JSON: values are nested more than 100 levels deep (give a "
        ".json or .jsonl file as published, plain or gzipped)"
    ]


def test_a_file_that_may_not_become_so_large_is_one_line(project, site):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = call_odd(project, site, "draft.write_bytes(bytes(1 << 22))", preexec_fn=limit)
    assert done.returncode == 1
    assert "a file exceeds the size limit of `ulimit -f`" in done.stderr
    assert not (project / "data").exists()
