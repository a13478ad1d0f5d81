"""The process that runs an untrusted program on given inputs and returns the requested variables as data.

The verdict process does not trust their values, because the program may have manipulated this process.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import os
import pickle
from pathlib import Path
from typing import Any

from tasks.scoring.sandboxed import crossing
from tasks.scoring.sandboxed.process import (
    Ended,
    begin,
    describe,
    drop_privileges,
    load_libraries,
    receive,
    send,
    silence,
)


def main() -> None:
    """Answer the requests of the verdict process until the verdict process ends."""
    requests, replies = silence()
    with contextlib.suppress(Ended):
        setting = receive(requests)
        drop_privileges(setting["limits"], setting["user"])
        if missing := load_libraries(setting["libraries"]):
            send(replies, ["missing", missing])
            return
        begin(setting["seconds"])
        send(replies, ["ready"])
        while True:
            answer(replies, receive(requests))
    os._exit(0)


def answer(replies: int, request: dict[str, Any]) -> None:
    """Run the requested code once, and send the result to the verdict process.

    The result starts with `values` if the code finishes, `raised` if the code raises an error, or `refused`
    if an input cannot be deserialized.
    """
    try:
        environment = {name: _take(value) for name, value in request["environment"].items()}
    except Exception as error:  # noqa: BLE001 (classes of the input may raise anything)
        send(replies, ["refused", describe(error)])
        return
    try:
        exec(compile(request["code"], "<program>", "exec"), environment)  # noqa: S102 (the purpose)
    except BaseException as error:  # noqa: BLE001 (SystemExit, too: a program that exits has passed no test)
        send(replies, ["raised", isinstance(error, AssertionError), describe(error)])
        return
    values = {name: _pack(environment[name]) for name in request["names"] if name in environment}
    files = {name: _pack_file(name) for name in request["files"] if os.path.lexists(name)}
    try:
        send(replies, ["values", values, files])
    except ValueError as error:
        send(replies, ["values", {name: [crossing.UNSHOWN, str(error)] for name in values}, {}])


def _take(value: list[str]) -> Any:
    kind, content = value
    if kind == "module":
        return importlib.import_module(content)
    return pickle.loads(base64.b64decode(content))  # noqa: S301 (only from the test program, not towards it)


def _pack(value: object) -> Any:
    try:
        return crossing.pack(value)
    except crossing.CannotCross as error:
        return [crossing.UNSHOWN, str(error)]
    except Exception as error:  # noqa: BLE001 (the program's own classes may raise anything)
        return [crossing.UNSHOWN, describe(error)]


def _pack_file(name: str) -> Any:
    """Serialize a PNG image as pixels; return False if the image cannot be read.

    For any other path, return whether the path is a folder.
    """
    if not name.endswith(".png"):
        return Path(name).is_dir()
    try:
        return crossing.pack(crossing.load("numpy").array(crossing.load("PIL.Image").open(name)))
    except Exception:  # noqa: BLE001 (an image reader may raise anything)
        return False
