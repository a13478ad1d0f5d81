from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tasks.errors import BadInput
from tasks.scoring.sandbox import ProgramOutcome, Sandbox, SandboxLimits
from tasks.scoring.syscalls import make_filter

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return Sandbox(Path(sys.executable), SandboxLimits(seconds=20, memory_mb=512))


def run(sandbox: Sandbox, code: str, libraries: Sequence[str] = ()) -> ProgramOutcome:
    """Run code whose test only requires that the code ends."""
    return sandbox.run("def test_execution(code): exec(code, {})", code, libraries)


@needs_bwrap
def test_a_process_that_stays_behind_is_ended(sandbox: Sandbox) -> None:
    program = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(600)"
    assert run(sandbox, program).kind in {"correct", "error"}
    assert_nothing_is_left()


@needs_bwrap
def test_honest_programs_end_as_they_should(sandbox: Sandbox) -> None:
    for code in (
        "import json; open('x', 'w').write('1'); assert json.load(open('x')) == 1",
        "import os; assert os.listdir() == []",
        "print('x' * 10_000_000)",
        "import subprocess as s; assert s.run(['/bin/true']).returncode == 0",
    ):
        assert run(sandbox, code).kind == "correct"
    wrong = run(sandbox, "assert 1 == 2, 'no\\nmore'")
    assert (wrong.kind, wrong.text) == ("wrong", "AssertionError: no more")
    assert run(sandbox, "1 / 0").text == "ZeroDivisionError: division by zero"


@needs_bwrap
def test_libraries_are_loaded_before_the_clock_runs() -> None:
    sandbox = Sandbox(Path(sys.executable), SandboxLimits(seconds=0.4))
    missing = run(sandbox, "", ["json", "no_such_library.part"])
    assert (missing.kind, missing.text) == ("not-run", "there is no module no_such_library")
    code = "import sys; assert 'xml.dom.minidom' in sys.modules"
    assert run(sandbox, code, ["xml.dom.minidom"]).kind == "correct"


ANSWER = """
def test_execution(solution):
    environment = {{"question": {question}}}
    exec(solution, environment)
    assert environment["result"] == 42
"""


@needs_bwrap
@pytest.mark.parametrize(
    ("question", "code", "outcome", "reason"),
    [
        ("6", "result = question * 7", "correct", ""),
        ("[6]", "question.append(7)\nresult = question[0] * question[1]", "correct", ""),
        ("math", "result = round(question.pi * 13.37)", "correct", ""),
        ("6", "result = 43", "wrong", "AssertionError:"),
        ("6", "answer = 42", "error", "KeyError: 'result'"),
        ("6", "result = lambda: 42", "not-shown", "result cannot cross: a value of type function"),
        ("6", "result = 'x' * (1 << 25)", "not-shown", "result cannot cross: longer than 32 MiB"),
        ("lambda: 6", "result = 42", "not-shown", "its input question cannot cross: "),
        ("eval('6')", "result = 42", "not-shown", "the test program evaluates an expression"),
        ("6 if exec('pass') else 7", "result = 42", "not-shown", "runs the code among its own names"),
    ],
)
def test_what_crosses_is_compared_and_what_cannot_is_not_shown(
    sandbox: Sandbox, question: str, code: str, outcome: str, reason: str
) -> None:
    ending = sandbox.run("import math" + ANSWER.format(question=question), code)
    assert ending.kind == outcome, ending
    assert reason in ending.text


@needs_bwrap
def test_a_file_that_the_program_wrote_is_there_but_cannot_be_read(sandbox: Sandbox) -> None:
    test = "import os\ndef test_execution(code):\n  exec(code, {})\n  "
    code = "import os; open('model.bin', 'w').write('x'); os.mkdir('folder'); open('other', 'w')"
    for check, outcome in {
        "assert os.path.isfile('model.bin') and os.path.isdir('folder')": "correct",
        "assert not os.path.exists('elsewhere') and not os.path.exists(''.join(['ot', 'her']))": "correct",
        "assert os.path.exists('elsewhere')": "wrong",
        "assert open('model.bin').read() == 'x'": "not-shown",
        "try: open('model.bin')\n  except: pass": "not-shown",
        "os.listdir('folder')": "not-shown",
    }.items():
        assert sandbox.run(test + check, code).kind == outcome, check


@needs_bwrap
def test_a_picture_crosses_as_its_pixels_and_replaces_no_picture_of_the_test(sandbox: Sandbox) -> None:
    pytest.importorskip("matplotlib")
    test = """
import numpy as np
import matplotlib.pyplot as plt
from PIL import Image

def test_execution(code):
    plt.plot(np.random.rand(9))
    plt.savefig("answer.png")
    plt.close()
    exec(code, {})
    result, answer = (np.array(Image.open(name)) for name in ("result.png", "answer.png"))
    if result.shape != answer.shape or not np.allclose(result, answer):
        assert plt.gca().lines
"""
    draw = "import matplotlib.pyplot as plt, numpy as np\nplt.plot({})\nplt.savefig('result.png')"
    libraries = ["matplotlib.pyplot", "PIL.Image"]
    for code, outcome in {
        draw.format("np.random.rand(9)"): "correct",
        draw.format("[1, 2]"): "not-shown",
        draw.format("[1, 2]") + "; plt.savefig('answer.png')": "not-shown",
        "open('result.png', 'w').write('no picture')": "not-shown",
        "pass": "error",
    }.items():
        assert sandbox.run(test, code, libraries).kind == outcome, code


def test_without_bubblewrap_it_refuses_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match=r"needs bubblewrap .* apt install bubblewrap"):
        Sandbox(Path(sys.executable))


def test_a_bubblewrap_that_does_not_work_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: no permission to make namespaces' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(BadInput, match="does not work on this machine: bwrap: no permission"):
        Sandbox(Path(sys.executable)).run("", "")


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
    """Assert that no process of the sandbox is alive; the kernel may need a moment to reap processes."""
    for _ in range(100):
        left = []
        for process in psutil.process_iter(["cmdline"]):
            with contextlib.suppress(psutil.Error):
                if (
                    any("tasks.scoring.sandboxed" in part for part in process.info["cmdline"] or [])
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    left.append(process)
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(left)
