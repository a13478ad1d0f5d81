"""What runs inside the sandbox: it takes a program on stdin, gives up its rights, and runs it.

The standard library alone, on the environment's interpreter. The verdict goes out behind a word that only
the parent and this process know, so that a program which exits, prints or closes files says nothing.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import sys
from typing import Any


def take_request() -> dict[str, Any]:
    """Read the request, and leave the program an empty stdin and no output."""
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return request


def give_up_rights(limits: dict[str, int], user: int | None) -> None:
    """Set the kernel's limits, and stop being root: root may start any number of processes."""
    for name in ("AS", "NPROC", "FSIZE", "NOFILE", "CORE"):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limits[name], limits[name]))
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def load_libraries(names: list[str]) -> str:
    """Import what the test program will; say what is missing."""
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            return f"there is no module {error.name or name}"
        except Exception:  # noqa: BLE001, S112 (the test program will meet it and say so)
            continue
    return ""


def run(program: str) -> tuple[str, str]:
    """Run a program as a script; say how it ended."""
    try:
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})  # noqa: S102 (the purpose)
    except AssertionError as error:
        return "wrong", f"AssertionError: {error}"
    except BaseException as error:  # noqa: BLE001 (SystemExit too: a program that leaves has passed no test)
        return "error", f"{type(error).__name__}: {error}"
    return "correct", ""


def main() -> None:
    """Carry out one request."""
    out = os.dup(1)
    request = take_request()
    word = request.pop("word")
    give_up_rights(request["limits"], request["user"])

    def say(kind: str, text: str = "") -> None:
        line = json.dumps([word, kind, " ".join(text.split())[:300]])
        os.write(out, line.encode() + b"\n")

    say("began")
    if missing := load_libraries(request["libraries"]):
        say("not-run", missing)
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + request["seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    say("ready")
    say(*run(request["program"]))
    os._exit(0)


if __name__ == "__main__":
    main()
