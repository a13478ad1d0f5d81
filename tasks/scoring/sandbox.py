"""Run model-written Python only in a bubblewrap sandbox with resource limits."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from tasks.errors import BadInput
from tasks.lines import clean
from tasks.scoring.outcome import Outcome
from tasks.scoring.syscalls import make_filter

PACKAGE = "tasks.scoring.sandboxed"
SHELF = "/benchloom"
"""The folder in the sandbox that contains only the sandboxed modules, under their import paths."""
SCRATCH = "/scratch"
"""The only writable folder in the sandbox."""
START_SECONDS = 120.0
"""Maximum time in seconds for loading the libraries; enough for a busy machine."""
WATCH_SECONDS = 0.05
"""Interval between memory measurements in seconds."""
MAX_REPLY_BYTES = 10_000
"""Maximum output of the verdict process in bytes; longer output gives the outcome `error`."""
KINDS = {Outcome.CORRECT, Outcome.WRONG, Outcome.ERROR, Outcome.NOT_RUN, Outcome.NOT_SHOWN}
"""Outcomes that the verdict process may report. This module detects `timeout` and `memory` itself."""
USERS = range(61184, 65520)
"""Range of user ids for sandboxed processes; systemd reserves these ids for temporary users."""
HINT = "install it: apt install bubblewrap, or dnf install bubblewrap; see docs/execution-scoring.md"
RESIDENT = re.compile(r"^Rss(?:Anon|Shmem):\s*(\d+) kB", re.MULTILINE)
"""Matches the sizes in kB of anonymous and shared memory in /proc/<pid>/status, but not of mapped files."""
DEVICES = ("null", "zero", "full", "random", "urandom")
"""The names of the devices that exist in the sandbox's /dev."""
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": SCRATCH,
    "TMPDIR": SCRATCH,
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # The kernel counts threads as processes, and each thread reserves memory.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class SandboxLimits:
    """The resource limits of one program."""

    seconds: float = 3.0
    """Maximum wall time in seconds after the libraries are loaded."""
    memory_mb: int = 2048
    """Maximum address space of each process, and maximum total memory of all processes, in MiB."""
    processes: int = 24
    """Maximum number of processes and threads."""
    files: int = 64
    """Maximum number of open files per process."""
    file_mb: int = 16
    """Maximum size of one file, in MiB."""
    scratch_mb: int = 64
    """Maximum total size of all files in the scratch folder, in MiB."""


@dataclass(frozen=True)
class ProgramOutcome:
    """The result of a program.

    `kind`: correct, wrong (AssertionError), error, timeout, memory, not-run (libraries did not load), or
    not-shown (a value cannot be sent between the program process and the verdict process). `text`: a message.
    """

    kind: Outcome
    text: str = ""


class Sandbox:
    """Runs programs without network access; they see only system files, libraries and a scratch folder.

    `python`: the interpreter of a virtual environment. Thread-safe: each program has a separate sandbox.
    Raises BadInput if bubblewrap is missing or does not work.
    """

    def __init__(self, python: Path, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or SandboxLimits()
        self._python = python
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise BadInput("sandbox", "needs bubblewrap to run code that a model wrote", hint=HINT)
        self._bwrap = bwrap

    def run(self, test: str, code: str, libraries: Sequence[str] = ()) -> ProgramOutcome:
        """Run a test program on model-written code, after `libraries` are loaded; return the outcome.

        The test program runs in one process. Code that the test passes to `exec` runs in another process with
        a separate sandbox, which returns only plain data. Neither process leaves files behind. Raises
        BadInput if the sandbox does not start.
        """
        with contextlib.ExitStack() as stack:
            request, complaints = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            ask_end, answer_end = (_Pipe(stack) for _ in range(2))
            users = random.SystemRandom().sample(USERS, 2) if os.geteuid() == 0 else [None, None]
            request.write(
                json.dumps(
                    {
                        "test": test,
                        "code": code,
                        "libraries": list(libraries),
                        "seconds": self.limits.seconds,
                        "limits": self._list_limits(),
                        "user": users[0],
                        "program_user": users[1],
                        "requests": ask_end.writing,
                        "replies": answer_end.reading,
                    }
                ).encode()
            )
            request.seek(0)
            program = self._start("program", stack, ask_end.reading, answer_end.writing, complaints)
            verdict = self._start(
                "verdict", stack, request, subprocess.PIPE, complaints, (ask_end.writing, answer_end.reading)
            )
            # A sandbox sees that the other has ended only if no process holds the other end of the pipe open.
            for pipe in (ask_end, answer_end):
                pipe.close()
            ending = _Watcher(verdict, (program.pid, verdict.pid), self.limits).wait()
            complaints.seek(0)
            said = complaints.read(300).decode(errors="replace").strip()
        if ending is None:
            raise BadInput(
                "sandbox",
                f"bubblewrap does not work on this machine: {said or 'no error message'}",
                hint=HINT,
            )
        return ending

    def _start(
        self,
        module: str,
        stack: contextlib.ExitStack,
        reads: int | IO[bytes],
        writes: int,
        complaints: IO[bytes],
        pipes: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Run a module of `sandboxed` as a sandboxed process, which is killed when the exit stack closes."""
        with self._pass_filter() as seccomp:
            process = subprocess.Popen(  # noqa: S603 (the command is ours; the program is data)
                [*self._command, *seccomp.options, "--", *self._make_inner_command(module)],
                stdin=reads,
                stdout=writes,
                stderr=complaints,
                # bubblewrap itself must not see this process's keys and passwords.
                env={},
                pass_fds=[*seccomp.descriptors, *pipes],
                start_new_session=True,
            )
        stack.callback(_end, process)
        return process

    def _list_limits(self) -> dict[str, int]:
        limits = self.limits
        return {
            "AS": limits.memory_mb << 20,
            "NPROC": limits.processes,
            "FSIZE": limits.file_mb << 20,
            "NOFILE": limits.files,
            "CORE": 0,
        }

    def _make_inner_command(self, module: str) -> list[str]:
        start = f"import sys; sys.path.insert(0, {SHELF!r}); from {PACKAGE}.{module} import main; main()"
        return [str(self._python), "-I", "-B", "-c", start]

    @cached_property
    def _command(self) -> list[str]:
        command = [self._bwrap, "--die-with-parent", "--new-session", "--clearenv"]
        command += [
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]
        if os.geteuid() == 0:
            # The sandboxed module needs these capabilities until it changes its user, which drops them.
            command += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            command += ["--unshare-user"]
        for name, value in ENVIRONMENT.items():
            command += ["--setenv", name, value]
        for folder in self._list_folders():
            # Parent folders are created empty and readable, because the sandbox's user may have no access
            # to a home folder.
            for above in reversed(folder.parents[:-1]):
                command += ["--dir", str(above)]
            command += ["--ro-bind", str(folder), str(folder)]
        for name in ("bin", "lib", "lib32", "lib64"):
            place = Path("/", name)
            if place.is_symlink():
                command += ["--symlink", str(place.readlink()), str(place)]
            elif place.is_dir():
                command += ["--ro-bind", str(place), str(place)]
        command += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        sandboxed = Path(__file__).with_name("sandboxed")
        command += ["--ro-bind", str(sandboxed), str(Path(SHELF, *PACKAGE.split("."))), "--proc", "/proc"]
        # bubblewrap's own /dev is not used, because its /dev/shm has no size limit.
        command += ["--size", "65536", "--tmpfs", "/dev"]
        for name in DEVICES:
            command += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        command += ["--perms", "1777", "--size", str(self.limits.scratch_mb << 20), "--tmpfs", SCRATCH]
        # The root becomes read-only last, because bubblewrap creates the mount points above in it.
        return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SCRATCH]

    def _list_folders(self) -> list[Path]:
        """List the folders for the interpreter: system programs, environment, base interpreter."""
        environment = self._python.parent.parent
        base = self._python.resolve().parent.parent
        folders = [Path("/usr")]
        for folder in (base, environment):
            if not any(folder.is_relative_to(listed) for listed in folders):
                folders.append(folder)
        return folders

    @contextlib.contextmanager
    def _pass_filter(self) -> Iterator[_Seccomp]:
        content = make_filter()
        if content is None:
            yield _Seccomp([], [])
            return
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.seek(0)
            yield _Seccomp(["--seccomp", str(file.fileno())], [file.fileno()])


@dataclass(frozen=True)
class _Seccomp:
    options: list[str]
    descriptors: list[int]


class _Pipe:
    """A pipe between the two processes, closed by `close` or by the exit stack."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.reading, self.writing = os.pipe()
        self._open = True
        stack.callback(self.close)

    def close(self) -> None:
        if self._open:
            os.close(self.reading)
            os.close(self.writing)
        self._open = False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


class _Watcher:
    """Waits for a verdict, or for the time or memory limit.

    `pids`: the process ids of both sandboxes.
    """

    def __init__(self, process: subprocess.Popen[bytes], pids: Sequence[int], limits: SandboxLimits) -> None:
        self.process, self.pids, self.limits = process, pids, limits
        self.deadline = time.monotonic() + START_SECONDS
        self.stage = ""
        self.unread = b""
        self.size = 0

    def wait(self) -> ProgramOutcome | None:
        """Wait for the outcome; None if the sandbox did not start."""
        if self.process.stdout is None:
            return None
        descriptor = self.process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while time.monotonic() < self.deadline:
            if not poll.poll(WATCH_SECONDS * 1000):
                if any(_measure_memory(pid) > self.limits.memory_mb << 20 for pid in self.pids):
                    return self.end(Outcome.MEMORY, f"more than {self.limits.memory_mb} MiB in all")
                continue
            part = os.read(descriptor, 4096)
            ending = self.receive(part)
            if ending or not part:
                return ending
        return self.end(Outcome.TIMEOUT, f"no end within {self.limits.seconds:g} s")

    def receive(self, part: bytes) -> ProgramOutcome | None:
        """Process a chunk of the output; return the outcome if the output contains one, otherwise None."""
        self.size += len(part)
        *lines, self.unread = (self.unread + part).split(b"\n")
        for line in lines:
            match _read_line(line):
                case [("began" | "ready") as stage, _]:
                    self.begin(stage)
                # The output is untrusted, so only the expected outcomes are accepted.
                case [str(kind), str(text)] if kind in KINDS:
                    return ProgramOutcome(Outcome.read(kind), clean(text))
                case _:
                    return self.end(Outcome.ERROR, "there is no verdict")
        if self.size > MAX_REPLY_BYTES or not part:
            return self.end(Outcome.ERROR, "there is no verdict")
        return None

    def begin(self, stage: str) -> None:
        """Record the stage; the time limit starts when both processes are ready."""
        self.stage = stage
        if stage == "ready":
            self.deadline = time.monotonic() + self.limits.seconds

    def end(self, kind: Outcome, text: str) -> ProgramOutcome | None:
        """Return the outcome from `kind` and `text`.

        Before the libraries are loaded, the outcome is `not-run` instead, or None if the sandbox did not
        start.
        """
        if self.stage == "began":
            return ProgramOutcome(Outcome.NOT_RUN, "its libraries do not load")
        return ProgramOutcome(kind, text) if self.stage else None


def _read_line(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError, MemoryError):
        return None


def _measure_memory(pid: int) -> int:
    """Return the memory of a process and its descendants in bytes, excluding mapped files."""
    total, waiting = 0, [pid]
    while waiting:
        place = Path("/proc", str(waiting.pop()))
        with contextlib.suppress(OSError):
            sizes = RESIDENT.findall((place / "status").read_text())
            total += sum(int(size) << 10 for size in sizes)
            for children in place.glob("task/*/children"):
                waiting += [int(child) for child in children.read_text().split()]
    return total
