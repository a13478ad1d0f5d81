"""Run imports, each in a fork of one process that has imported the importers; stdin has one request per line.

A request: `words` of the command line, `folder`, and the `file` for messages. The answer: exit `code`, peak
`memory` in MiB, and CPU `seconds`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback

from flows.cli import main
from flows.import_process import INSIDE, explain_end, remove_left
from flows.importers import find_importer, list_importers
from flows.importing import bring_in


def serve() -> None:
    """Answer requests until stdin ends."""
    for name in list_importers():
        find_importer(name)
    assert bring_in
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["folder"])
        began = time.monotonic()
        pid = os.fork()
        if not pid:
            run_inside(request["words"], request["file"])
        _, status, usage = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            remove_left(pid)
            with open(request["file"], "a") as said:  # noqa: PTH123 - as the fork below
                print(f"benchloom: {explain_end(request['words'], -code)}", file=said)
            code = 2
        answer = {
            "code": code,
            "memory": usage.ru_maxrss / 1024,
            "seconds": usage.ru_utime + usage.ru_stime,
            "wall": time.monotonic() - began,
        }
        print(json.dumps(answer), flush=True)


def run_inside(words: list[str], file: str) -> None:
    """Run as the child process of `benchloom import`; does not return."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    sys.stdin.close()
    sys.argv = ["benchloom", *words]
    os.environ[INSIDE] = str(os.getppid())
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # protects the machine from a faulty importer
    code = 70
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001 - a user would see it, too
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
