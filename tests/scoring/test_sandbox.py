from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks.errors import BadInput
from tasks.scoring.sandbox import Sandbox, SandboxLimits
from tasks.scoring.syscalls import make_filter
from tests.scoring.hostile_python import PROGRAMS

PATIENT, HASTY = (SandboxLimits(seconds=seconds, memory_mb=256) for seconds in (20, 1))
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return Sandbox(Path(sys.executable), PATIENT)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def abstract() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0benchloom-{os.getpid()}")
        server.listen()
        server.setblocking(False)
        yield server


SLOW = {name for name, (_, expected) in PROGRAMS.items() if expected & {"timeout", "memory"}}
IN_EVERY_RUN = {"fork bomb", "endless loop", "shared memory"}


@needs_bwrap
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.drill] if name in SLOW - IN_EVERY_RUN else [])
        for name in PROGRAMS
    ],
)
def test_a_hostile_program_reaches_nothing_and_ends(
    name: str,
    sandbox: Sandbox,
    listener: socket.socket,
    abstract: socket.socket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_OF_TESTS", "s3cret")
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret")
    program, expected = PROGRAMS[name]
    for field, value in {
        "{port}": listener.getsockname()[1],
        "{name}": f"benchloom-{os.getpid()}",
        "{secret}": secret,
        "{home}": Path.home(),
        "{pid}": os.getpid(),
    }.items():
        program = program.replace(field, str(value))
    hasty = Sandbox(Path(sys.executable), HASTY)
    ending = (hasty if "timeout" in expected else sandbox).run(program)
    assert ending.kind in expected, ending
    assert "s3cret" not in ending.text
    assert "\n" not in ending.text
    assert len(ending.text) <= 300
    assert secret.read_text() == "s3cret"
    assert list(tmp_path.iterdir()) == [secret]
    for server in (listener, abstract):
        with pytest.raises(BlockingIOError):
            server.accept()
    assert_nothing_is_left()
    assert sandbox.run("assert 1 + 1 == 2").kind == "correct"


@needs_bwrap
def test_a_process_that_stays_behind_is_ended(sandbox: Sandbox) -> None:
    program = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(600)"
    assert sandbox.run(program).kind in {"correct", "error"}
    assert_nothing_is_left()


@needs_bwrap
def test_honest_programs_end_as_they_should(sandbox: Sandbox) -> None:
    assert (
        sandbox.run("import json; open('x', 'w').write('1'); assert json.load(open('x')) == 1").kind
        == "correct"
    )
    assert sandbox.run("import os; assert os.listdir() == []").kind == "correct"
    assert sandbox.run("print('x' * 10_000_000)").kind == "correct"
    assert (
        sandbox.run("import subprocess as s; assert s.run(['/bin/true']).returncode == 0").kind == "correct"
    )
    assert sandbox.run("if __name__ == '__main__': assert input", ["json"]).kind == "correct"
    wrong = sandbox.run("assert 1 == 2, 'no\\nmore'")
    assert (wrong.kind, wrong.text) == ("wrong", "AssertionError: no more")
    assert sandbox.run("1 / 0").text == "ZeroDivisionError: division by zero"


@needs_bwrap
def test_libraries_are_loaded_before_the_clock_runs(tmp_path: Path) -> None:
    sandbox = Sandbox(Path(sys.executable), SandboxLimits(seconds=0.4))
    missing = sandbox.run("", ["json", "no_such_library.part"])
    assert (missing.kind, missing.text) == ("not-run", "there is no module no_such_library")
    assert (
        sandbox.run("import sys; assert 'xml.dom.minidom' in sys.modules", ["xml.dom.minidom"]).kind
        == "correct"
    )


def test_without_bubblewrap_it_refuses_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match=r"needs bubblewrap .* apt install bubblewrap"):
        Sandbox(Path(sys.executable))


def test_a_bubblewrap_that_does_not_work_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: no permission to make namespaces' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BadInput, match="does not work here: bwrap: no permission"):
        Sandbox(Path(sys.executable)).run("")


def test_an_unknown_processor_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = set()
    for machine in ("x86_64", "aarch64"):
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        content = make_filter()
        assert content is not None
        sizes.add(len(content))
    assert len(sizes) == 1
    assert sizes.pop() % 8 == 0
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    assert make_filter() is None


def assert_nothing_is_left() -> None:
    """No process of the sandbox is alive: the kernel may take a moment to reap them."""
    for _ in range(100):
        left = []
        for process in psutil.process_iter(["cmdline"]):
            with contextlib.suppress(psutil.Error):
                if (
                    "/runner.py" in (process.info["cmdline"] or [])
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    left.append(process)
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(left)
