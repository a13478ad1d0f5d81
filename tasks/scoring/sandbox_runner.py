"""The process inside the sandbox: it reads a program from stdin, drops its privileges, and runs it.

Standard library only, on the environment's interpreter. Results are sent with a token that only the parent
and this process know, so that a program that exits, prints or closes files cannot forge one.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import sys
from typing import Any


def read_request() -> dict[str, Any]:
    """Read the request, then redirect stdin, stdout and stderr to the null device."""
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return request


def drop_privileges(limits: dict[str, int], user: int | None) -> None:
    """Set the kernel's limits and stop being root, for which the process limit does not hold."""
    for name in ("AS", "NPROC", "FSIZE", "NOFILE", "CORE"):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limits[name], limits[name]))
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def load_libraries(names: list[str]) -> str:
    """Import the test program's modules; return a message if one is missing, else ""."""
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            return f"there is no module {error.name or name}"
        except Exception:  # noqa: BLE001, S112 (the test program meets the same error and reports it)
            continue
    return ""


def run(program: str) -> tuple[str, str]:
    """Run a program as a script; return the kind of its outcome and a message."""
    try:
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})  # noqa: S102 (the purpose)
    except AssertionError as error:
        return "wrong", f"AssertionError: {error}"
    except BaseException as error:  # noqa: BLE001 (SystemExit too: a program that exits has passed no test)
        return "error", f"{type(error).__name__}: {error}"
    return "correct", ""


def main() -> None:
    """Carry out one request."""
    out = os.dup(1)
    request = read_request()
    token = request.pop("token")
    drop_privileges(request["limits"], request["user"])

    def say(kind: str, text: str = "") -> None:
        line = json.dumps([token, kind, " ".join(text.split())[:300]])
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
