"""Functions that replace a stage in a separate process, where tests cannot patch objects."""

import os
import signal
import time
from pathlib import Path

from flows.run.binding import Work
from tasks.errors import BadInput


def tell_process():
    return Work(
        1, os.getpid(), {"ignores_interrupts": int(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)}
    )


def refuse():
    raise BadInput("params.yaml", "is odd", line=3, hint="make it even")


def be_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def sleep_long(root):
    (Path(root) / "pid").write_text(str(os.getpid()))
    time.sleep(60)
