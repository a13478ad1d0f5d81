"""Run hostile inputs on the code under test (subject), and report violations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.hostile.corpus import Hostile, load_kind
from tests.hostile.subject import Outcome, Subject

LONGEST_LINE = 1_000
GRACE_S = 1.0


def throw_all(kind: str, inputs: Sequence[Hostile], folder: Path) -> list[str]:
    """Run inputs of a kind; return one line per violation."""
    findings = []
    ours = {process.pid for process in psutil.Process().children(recursive=True)}
    with load_kind(kind).open(folder) as subject:
        before = subject.look()
        for hostile in inputs:
            findings += [f"{kind}: {hostile.name}: {fault}" for fault in throw_one(subject, hostile)]
        if subject.look() != before:
            findings.append(f"{kind}: something has changed: {find_culprits(kind, inputs, folder)}")
    findings += [f"{kind}: process {name} is left" for name in wait_for_processes(ours)]
    return findings


def throw_one(subject: Subject, hostile: Hostile) -> list[str]:
    """Run one input, and return its violations."""
    began = read_cpu_seconds()
    try:
        outcome = subject.throw(hostile.input)
    except Exception as error:  # noqa: BLE001 - whatever is raised here, a user would see as a traceback
        return [f"raised {type(error).__name__}: {str(error)[:200]!r}"]
    faults = find_faults(outcome, hostile.may)
    if (seconds := read_cpu_seconds() - began) > subject.limit_s + GRACE_S:
        faults.append(f"took {seconds:.1f} s of CPU, more than {subject.limit_s:g} and {GRACE_S:g}")
    return faults


def find_faults(outcome: Outcome, may: Sequence[str]) -> list[str]:
    """Return the violations of an outcome, except for its time."""
    faults = []
    if outcome.kind not in may:
        faults.append(f"{outcome.kind}, not {' or '.join(may)}: {outcome.line[:200]!r}")
    if not outcome.line.strip():
        faults.append("nothing is said")
    if len(outcome.line.splitlines()) > 1 or not outcome.line.isprintable():
        faults.append(f"no plain line: {outcome.line[:200]!r}")
    if len(outcome.line) > LONGEST_LINE:
        faults.append(f"{len(outcome.line)} characters are said")
    return faults


def find_culprits(kind: str, inputs: Sequence[Hostile], folder: Path) -> str:
    """Run each input separately; return the names of inputs that change the subject's state."""
    culprits = []
    for place, hostile in enumerate(inputs):
        (own := folder / f"again-{place}").mkdir()
        with load_kind(kind).open(own) as subject:
            before = subject.look()
            throw_one(subject, hostile)
            if subject.look() != before:
                culprits.append(hostile.name)
    return ", ".join(culprits) or "by none of them alone"


def read_cpu_seconds() -> float:
    """Return the CPU seconds of this process and its child processes, including ended processes."""
    here = psutil.Process()
    seconds = 0.0
    for process in (here, *here.children(recursive=True)):
        try:
            seconds += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return seconds


def wait_for_processes(ours: set[int], patience_s: float = 5.0) -> list[str]:
    """Wait for new child processes to end; return the processes that remain."""
    until = time.monotonic() + patience_s
    while left := [
        process
        for process in psutil.Process().children(recursive=True)
        if process.pid not in ours and process.status() != psutil.STATUS_ZOMBIE
    ]:
        if time.monotonic() > until:
            return [f"{process.pid} ({process.name()})" for process in left]
        time.sleep(0.05)
    return []
