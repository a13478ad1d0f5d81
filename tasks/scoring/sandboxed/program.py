"""The process that runs an untrusted program on given inputs and returns named values as data.

Nothing that it sends is trusted: the program may have changed everything here.
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
    """Take what the verdict's process sends until it ends."""
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
    """Run code once, and send its values: raised, values, or refused if its input does not arrive."""
    try:
        environment = {name: _take(value) for name, value in request["environment"].items()}
    except Exception as error:  # noqa: BLE001 (any that a class of the input raises)
        send(replies, ["refused", describe(error)])
        return
    try:
        exec(compile(request["code"], "<program>", "exec"), environment)  # noqa: S102 (the purpose)
    except BaseException as error:  # noqa: BLE001 (SystemExit too: a program that exits has passed no test)
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
    return pickle.loads(base64.b64decode(content))  # noqa: S301 (from the test program, never the other way)


def _pack(value: object) -> Any:
    try:
        return crossing.pack(value)
    except crossing.CannotCross as error:
        return [crossing.UNSHOWN, str(error)]
    except Exception as error:  # noqa: BLE001 (any that the program's own classes raise)
        return [crossing.UNSHOWN, describe(error)]


def _pack_file(name: str) -> Any:
    """Pack a picture as its pixels; of anything else only whether it is a folder."""
    if not name.endswith(".png"):
        return Path(name).is_dir()
    try:
        return crossing.pack(crossing.load("numpy").array(crossing.load("PIL.Image").open(name)))
    except Exception:  # noqa: BLE001 (any that an image reader raises)
        return False
