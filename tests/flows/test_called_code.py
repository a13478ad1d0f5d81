"""Tests that every function of tasks/ that a stage calls is in a file that the stage depends on.

The stages are replayed while function calls are recorded, independently of the code analysis.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType

import pytest

from flows.commands.run import make_run
from flows.run.binding import Places, bind, find_function
from flows.run.record.recorder import Recorder
from flows.run.runner import Run
from flows.settings import load_params
from tasks.artifacts.splitting import find_splitting
from tests.flows.sample import ROOT

TASKS = f"{ROOT / 'tasks'}/"
MODELS = f"{TASKS}models/"
ASK = f"{MODELS}recorded_model.py"
"""The runner's `ask`, whose code for sending requests does not affect outputs and is not a dependency."""
CHEAP = [
    "grammar-schema@films",  # queries a database in another process
    "grammar-glossary@films",  # calls a model
    "grammar-questions@films",
    "longform-human-labels@sample",
    "streambench-shots@sample",
    "tanq-scores@sample",  # splits
    "tanq-hallucination-labels@sample",
    "streambench-stream-page@sample",
]


@contextmanager
def note_calls() -> Iterator[dict[CodeType, str]]:
    """Record the functions of tasks/ that are called in any thread, with their files."""
    called: dict[CodeType, str] = {}
    others: set[CodeType] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if code in called or code in others:
            return
        if not code.co_filename.startswith(TASKS):
            others.add(code)
        elif not is_imported(frame) and not is_sent(frame):
            called[code] = code.co_filename.replace(TASKS, "tasks/")

    threading.settrace(note)
    sys.settrace(note)
    try:
        yield called
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


def list_callers(frame: FrameType) -> Iterator[CodeType]:
    caller: FrameType | None = frame
    while caller is not None:
        yield caller.f_code
        caller = caller.f_back


def is_imported(frame: FrameType) -> bool:
    """Return whether a call is part of a module's import."""
    return any(
        code.co_name == "<module>" and code.co_filename.startswith(TASKS) for code in list_callers(frame)
    )


def is_sent(frame: FrameType) -> bool:
    """Return whether a call comes from the runner's `ask` or its threads, not from the stage."""
    for code in list_callers(frame):
        if code.co_filename == ASK:
            return True
        if code.co_filename.startswith(TASKS) and not code.co_filename.startswith(MODELS):
            return False
    return frame.f_code.co_filename.startswith(MODELS)


@pytest.fixture(scope="module")
def replay(request, tmp_path_factory) -> Iterator[Run]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        root = ROOT if has_all_data() else request.getfixturevalue("root")
        patch.chdir(root)
        patch.setenv("BENCHLOOM_LEDGER", str(tmp_path_factory.mktemp("ledger") / "calls.sqlite"))
        run = make_run(root, Recorder(root), load_params(root), replay=True)
        yield run
        if run.session is not None:
            run.session.close()
        run.recorder.close()


def has_all_data() -> bool:
    """Return whether all inputs of the stages exist, in any version."""
    recorder = Recorder(ROOT)
    there = all((ROOT / dep).exists() for node in recorder.nodes.values() for dep in node.deps)
    recorder.close()
    return there


def find_undeclared(run: Run, name: str, outs: Path) -> dict[str, str]:
    """Replay a stage; return the called functions in files that the stage does not depend on."""
    node = run.recorder.nodes[name]
    places = Places(run.root, outs)
    for out in node.outs:
        places.place(out).parent.mkdir(parents=True, exist_ok=True)
    splitting = find_splitting(find_function(node)[1])
    with note_calls() as called:
        bound = bind(node, run.params, places, run.make_ask)
        if splitting is not None:
            splitting.cut(bound.arguments)
        bound.call(asyncio.run)
    assert called, name
    folders = tuple(f"{dep}/" for dep in node.deps)
    return {
        f"{file}: {code.co_qualname}": name
        for code, file in called.items()
        if file not in node.deps and not file.startswith(folders)
    }


@pytest.mark.parametrize("name", CHEAP)
def test_what_a_stage_calls_is_declared(replay, tmp_path, name):
    assert find_undeclared(replay, name, tmp_path) == {}


@pytest.mark.drill
@pytest.mark.timeout(3600)
def test_what_any_stage_of_the_sample_calls_is_declared(replay, tmp_path):
    names = [name for name, node in replay.recorder.nodes.items() if node.stage]
    assert len(names) > 200
    found: dict[str, str] = {}
    for name in names:
        found |= find_undeclared(replay, name, tmp_path / name)
    assert found == {}


def test_a_call_that_is_not_declared_is_found(replay, tmp_path, monkeypatch):
    node = replay.recorder.nodes["grammar-schema@films"]
    left = tuple(dep for dep in node.deps if dep != "tasks/databases/reflection.py")
    monkeypatch.setitem(replay.recorder.nodes, node.name, replace(node, deps=left))
    assert any("reflection" in call for call in find_undeclared(replay, node.name, tmp_path))
