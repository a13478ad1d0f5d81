"""The process that runs the test program and decides pass or fail; `exec` runs in another process.

In this process, the predicted code is only text, and its results are read only with `crossing.unpack`.
"""

from __future__ import annotations

import ast
import base64
import builtins
import json
import os
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from tasks.scoring.sandboxed import crossing
from tasks.scoring.sandboxed.process import (
    BadMessage,
    Ended,
    begin,
    describe,
    drop_privileges,
    load_libraries,
    receive,
    send,
    silence,
)

FILE_NAME = re.compile(r"\w[\w-]*(?:[./][\w-]+){0,4}", re.ASCII)
"""Matches constants in a test program that may be file names."""
Say = Callable[[str, str], None]


class ProgramRaised(Exception):
    """Raised in the test program if the predicted code raised an error."""


class Decided(BaseException):
    """Raised to leave the test program as soon as the outcome is certain.

    The class derives from BaseException, so that `except Exception` in the test program does not catch it.
    """


class RemoteExecution:
    """A replacement for `exec` in the test program; `outcome` is set as soon as the outcome is certain."""

    def __init__(self, requests: int, replies: int, test: str) -> None:
        self.requests, self.replies = requests, replies
        self.names, self.files = list_constants(test)
        self.unreadable_paths: set[str] = set()
        self.outcome: tuple[str, str] | None = None

    def execute(
        self, code: object, environment: dict[str, Any] | None = None, _local: object = None, /
    ) -> None:
        """Run code in the other process, and copy the resulting values into `environment`."""
        if type(code) is not str or environment is None:
            self.decide("not-shown", "the test program runs the code among its own names")
        reply = self.ask(
            {
                "code": code,
                "environment": {name: self.pack(name, value) for name, value in environment.items()},
                "names": self.names,
                "files": self.files,
            }
        )
        match reply:
            case ["values", dict(values), dict(files)] if values.keys() <= set(self.names):
                environment.update({name: self.unpack(name, node) for name, node in values.items()})
                self.place_files(files)
                self.hide_figures()
            case ["raised", bool(is_assertion), str(text)]:
                raise (AssertionError(text.partition(": ")[2]) if is_assertion else ProgramRaised(text))
            case ["refused", str(text)]:
                self.decide("not-shown", f"its input cannot cross: {text}")
            case _:
                self.decide("error", "the program wrote where it must not")

    def evaluate(self, *_: object) -> NoReturn:
        """Reject `eval`, which would run the code in this process."""
        self.decide("not-shown", "the test program evaluates an expression")

    def ask(self, message: object) -> Any:
        """Send a message to the other process and return its reply."""
        try:
            send(self.requests, message)
            return receive(self.replies)
        except Ended:
            self.decide("error", "the program ended without a result")
        except BadMessage:
            self.decide("error", "the program wrote where it must not")
        except ValueError as error:
            self.decide("not-shown", f"its input cannot cross: {error}")

    def decide(self, kind: str, text: str) -> NoReturn:
        """Set the outcome if none is set yet, and raise Decided to leave the test program."""
        self.outcome = self.outcome or (kind, text)
        raise Decided

    def pack(self, name: str, value: object) -> list[str]:
        """Serialize an input for the other process; pickling is safe, because the test program is trusted."""
        if isinstance(value, ModuleType):
            return ["module", value.__name__]
        try:
            return ["pickle", base64.b64encode(pickle.dumps(value)).decode()]
        except Exception as error:  # noqa: BLE001 (classes of the input may raise anything)
            self.decide("not-shown", f"its input {name} cannot cross: {describe(error)}")

    def unpack(self, name: str, node: object) -> Any:
        """Deserialize a value from the untrusted program."""
        match node:
            case [crossing.UNSHOWN, str(reason)]:
                self.decide("not-shown", f"{name} cannot cross: {reason}")
        try:
            return crossing.unpack(node)
        except BadMessage:
            self.decide("error", "the program wrote where it must not")

    def place_files(self, files: dict[str, Any]) -> None:
        """Write the program's images to the paths that the test expects.

        Other files and folders are created empty. An existing path is kept, unless an earlier call
        created it empty.
        """
        for name in files.keys() & set(self.files):
            path = Path(name)
            if path.exists() and path.absolute().as_posix() not in self.unreadable_paths:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(files[name], list):
                self.place_picture(path, files[name])
            elif not path.exists():
                path.mkdir() if files[name] else path.touch()
                self.unreadable_paths.add(path.absolute().as_posix())

    def place_picture(self, path: Path, node: object) -> None:
        """Write pixels to an image file."""
        pixels = self.unpack(path.name, node)
        try:
            crossing.load("PIL.Image").fromarray(pixels).save(path)
        except (AttributeError, TypeError, ValueError, KeyError, OSError):
            self.decide("error", "the program wrote where it must not")

    def watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Audit hook: end the test if it reads a file whose content was not transferred."""
        if event in {"open", "os.listdir", "os.scandir"} and self.unreadable_paths:
            path = arguments[0]
            if isinstance(path, str) and os.path.abspath(path) in self.unreadable_paths:  # noqa: PTH100
                self.decide("not-shown", f"the file {Path(path).name} cannot cross")

    def hide_figures(self) -> None:
        """Block access to matplotlib's figures and settings.

        The program's figures and settings are in the other process.
        """

        def refuse(*_: object, **__: object) -> NoReturn:
            self.decide("not-shown", "a figure cannot cross")

        if "matplotlib.pyplot" in sys.modules:
            figures = sys.modules["matplotlib._pylab_helpers"].Gcf
            for name in ("get_active", "get_all_fig_managers", "get_num_fig_managers", "get_fig_manager"):
                setattr(figures, name, refuse)
            # The settings that the program changed are in the other process, too.
            sys.modules["matplotlib"].RcParams.__getitem__ = refuse


def list_constants(test: str) -> tuple[list[str], list[str]]:
    """Return the string constants of a test program that may name variables, and those that may name files.

    Both lists are empty if the program cannot be parsed.
    """
    try:
        tree = ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], []
    taken: list[ast.expr] = []
    files: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            taken.append(node.slice)
        elif isinstance(node, ast.Call):
            taken += node.args
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            files.append(node.value)
    names = [node.value for node in taken if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return (
        # The untrusted process must not return names such as `__builtins__` into the test's namespace.
        sorted({name for name in names if name.isidentifier() and not name.startswith("__")}),
        sorted({file for file in files if len(file) <= 100 and FILE_NAME.fullmatch(file)}),
    )


def run(remote: RemoteExecution, test: str, code: str) -> tuple[str, str]:
    """Run a test program on predicted code; return the kind of the outcome and a message."""
    space = {
        "__name__": "__main__",
        "__builtins__": vars(builtins) | {"exec": remote.execute, "eval": remote.evaluate},
    }
    try:
        exec(compile(test, "<test>", "exec"), space)  # noqa: S102 (the benchmark's program, not a model's)
        for name in ("test_execution", "test_string"):
            # A test program without test_execution raises NameError, which counts as an error.
            if name in space or name == "test_execution":
                exec(f"{name}(code)", space | {"code": code})  # noqa: S102
    except AssertionError as error:
        outcome = "wrong", describe(error)
    except ProgramRaised as error:
        outcome = "error", str(error)
    except BaseException as error:  # noqa: BLE001 (SystemExit, too: a test that exits has passed nothing)
        outcome = "error", describe(error)
    else:
        outcome = "correct", ""
    # A test that catches every exception cannot override an outcome that is already certain.
    return remote.outcome or outcome


def main() -> None:
    """Handle one request, and write the verdict to stdout."""
    request_place, verdict_place = silence()
    with os.fdopen(request_place, "rb") as file:
        request = json.loads(file.read())
    drop_privileges(request["limits"], request.pop("user"))

    def say(kind: str, text: str = "") -> None:
        line = json.dumps([kind, " ".join(text.split())[:300]])
        os.write(verdict_place, line.encode() + b"\n")

    say("began")
    say(*form_verdict(request, say))
    os._exit(0)


def form_verdict(request: dict[str, Any], say: Say) -> tuple[str, str]:
    """Prepare both processes, then run the test program; return the outcome's kind and a message."""
    test, code, seconds = request["test"], request["code"], request["seconds"]
    remote = RemoteExecution(request["requests"], request["replies"], test)
    setting = {name: request[name] for name in ("limits", "libraries", "seconds")}
    try:
        send(remote.requests, setting | {"user": request["program_user"]})
        if missing := load_libraries(request["libraries"]):
            return "not-run", missing
        reply = receive(remote.replies)
    except (Ended, BadMessage):
        return "not-run", "the program's process did not start"
    if reply != ["ready"]:
        return "not-run", str(reply[1])
    begin(seconds)
    sys.addaudithook(remote.watch)
    say("ready", "")
    return run(remote, test, code)
