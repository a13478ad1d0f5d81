"""Run stages in the order of the graph: check staleness, call the function, record the result."""

from __future__ import annotations

import asyncio
import heapq
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from flows.parameters import Parameters
from flows.run.engine.computing import Computing, forget_parts
from flows.run.engine.stage_work import StageRun, digest_inputs, mark_inputs
from flows.run.failures import Interrupted, describe_error
from flows.run.lost_rows import require_rows
from flows.run.node import Node
from flows.run.outcomes import StageOutcome, State, describe_outcome, load_outcome, save_outcome
from flows.run.record.recorder import Begun, Recorder
from flows.settings import get_section, load_params
from tasks.errors import ChangedWhileRunning, StageFailed
from tasks.lines import say_line
from tasks.models.work_board import WORK, WorkProgress

if TYPE_CHECKING:
    from flows.run.binding import Work
    from flows.run.session import CountToCome, Session
    from tasks.models.recorded_model import RecordedModel

STOP_POLL_S = 0.2
"""Seconds between two checks of whether the run was stopped."""
COMMAND_PATIENCE_S = 10.0
"""Seconds between SIGTERM and SIGKILL for a stopped command."""
STOPPING = (
    "stopping: finished stages are kept, and calls in flight are recorded; press Ctrl-C again to stop at once"
)


class RunHooks(Protocol):
    """The callbacks for finished stages and runs (`flows.run.hooking`)."""

    def end_stage(self, run: Run, outcome: StageOutcome) -> None: ...  # noqa: D102 - see the class

    def end_run(  # noqa: D102
        self, run: Run, names: Sequence[str], title: str, exit_code: int, commit: str
    ) -> None: ...


@dataclass
class Run:
    """The state that the stages of a run share.

    `open_session`: opens the model session when a stage first needs one, so a run without stale stages
    imports no model code. `computing`: runs the stages that call no model; None runs these stages in this
    process.
    """

    root: Path
    recorder: Recorder
    params: Mapping[str, Any]
    open_session: Callable[[], Session]
    replay: bool = False
    again: frozenset[str] = frozenset()
    """Names of stages that run even if they are fresh, and repeat their recorded calls."""
    say: Callable[[str], None] = say_line
    stopping: threading.Event = field(default_factory=threading.Event)
    outcomes: dict[str, StageOutcome] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)
    mutex: threading.Lock = field(default_factory=threading.Lock)
    session: Session | None = None
    computing: Computing | None = None
    hooks: RunHooks | None = None
    asks: dict[str, RecordedModel] = field(default_factory=dict)
    """Stage -> the object with which the stage calls models, for stages that have begun."""
    count_to_come: CountToCome | None = None
    require_needs: Callable[[], None] | None = None
    """Function that checks, before the first paid call, that all requirements of later stages are met."""

    def listen(self) -> None:
        """Stop the run on Ctrl-C and SIGTERM. Call this method in the main thread."""

        def stop(number: int, frame: object) -> None:
            self.stopping.set()
            raise KeyboardInterrupt

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)

    def bring_up(self, name: str) -> StageOutcome:
        """Run one stage if it is stale; its upstream stages must have run. Raises the stage's errors."""
        started = time.monotonic()
        node = self.recorder.nodes[name]
        try:
            outcome = self._bring_up(node)
        except (Exception, KeyboardInterrupt, asyncio.CancelledError) as error:
            with self.mutex:
                self.errors[name] = error
            seconds = round(time.monotonic() - started, 3)
            state: State = "skipped" if isinstance(error, Interrupted) else "failed"
            self.keep(StageOutcome(name, state, error=describe_error(error), seconds=seconds))
            raise
        with self.mutex:
            self.errors.pop(name, None)  # remove the error of an earlier try
        self.keep(outcome)
        return outcome

    def _bring_up(self, node: Node) -> StageOutcome:
        if self.stopping.is_set():
            raise Interrupted("the run was stopped")
        again = node.name in self.again
        if not again and not self.recorder.explain(node.name):
            return StageOutcome(node.name, "fresh")
        last = load_outcome(self.root, node.name)
        expected_s = last.seconds if last is not None and last.state == "ran" else 0.0
        with WORK.follow(WorkProgress(node.name, expected_s=expected_s)), self.recorder.hold(node.name):
            for path, kept in self.recorder.keep_foreign(node.name):
                self.say(f"{path}: was not written by a run of {node.name}; the file is kept as {kept}")
            if (hashes := self.recorder.restore(node.name, cached=not again)) is not None:
                self.recorder.adopt(node.name, hashes)
                return StageOutcome(node.name, "restored")
            started = time.monotonic()
            marks = {} if node.asks else mark_inputs(self.root, node)
            begun = self.recorder.begin(node.name)
            require_same_params(self.root, self.params, node)
            outcome, ask = self._execute(node, begun, marks)
            # A replay must reproduce the recorded outputs byte for byte.
            self.recorder.finish(node.name, begun, must_match=self.replay)
            if ask is not None:
                ask.finish()
            elif self.computing is not None:
                forget_parts(self.root, node)
        return StageOutcome(**{**outcome, "seconds": round(time.monotonic() - started, 3)})

    def _execute(
        self, node: Node, begun: Begun, marks: Mapping[str, str]
    ) -> tuple[dict[str, Any], RecordedModel | None]:
        if not node.stage:
            return self._execute_command(node), None
        if self.computing is not None and not node.asks:
            code = self.recorder.code.list_known(node)
            run = StageRun(node, dict(self.params), self.root, code, digest_inputs(begun.hashes), marks)
            work = self.computing.run(run)
            require_rows(self.recorder.nodes, node, work, self.root)
            return describe_work(node, work), None
        from flows.run.binding import Places, bind

        bound = bind(node, self.params, Places(self.root, self.root), self.make_noted_ask)
        work = bound.call(self.run_coroutine)
        require_rows(self.recorder.nodes, node, work, self.root)
        counts = count_calls(bound.ask) if bound.ask is not None else {}
        return {**describe_work(node, work), **counts}, bound.ask

    def _execute_command(self, node: Node) -> dict[str, Any]:
        """Run the command of a user's own stage in a shell, as DVC does."""
        # In a separate session, the command does not receive Ctrl-C, and `end_group` can end its children.
        with subprocess.Popen(  # noqa: S602 - the user's own dvc.yaml
            node.command, shell=True, cwd=self.root / node.folder, start_new_session=True
        ) as process:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_POLL_S)
                if self.stopping.is_set() and process.poll() is None:
                    end_group(process)
                    raise Interrupted("the run was stopped")
        if process.returncode:
            raise StageFailed(f"{node.name}: `{node.command}` exited with status {process.returncode}")
        return {"stage": node.name, "state": "ran"}

    def make_ask(self, stage: str, prompts: Path, epoch: str) -> Any:
        """Return the object (`ask`) with which a stage calls models."""
        with self.mutex:
            if self.session is None:
                self.session = self.open_session()
                if self.count_to_come is not None:
                    self.session.count_to_come = self.count_to_come
                if self.require_needs is not None:
                    self.session.dispatcher.require_needs = self.require_needs
        return self.session.make_ask(stage, prompts, epoch)

    def make_noted_ask(self, stage: str, prompts: Path, epoch: str) -> Any:
        """Make a stage's `ask`; its calls count as unfinished until the stage is recorded in dvc.lock."""
        ask = self.make_ask(stage, prompts, epoch)
        ask.note_unfinished(str(self.root))
        self.asks[stage] = ask
        return ask

    def run_coroutine(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a stage's coroutine; if the run is stopped, cancel it and raise Interrupted."""
        try:
            return asyncio.run(end_when(work, self.stopping))
        except asyncio.CancelledError as error:
            if self.stopping.is_set():
                raise Interrupted("the run was stopped; all replies so far are in the ledger") from error
            raise

    def finish(self) -> None:
        """Write dvc.lock and close all open resources, even after an error."""
        try:
            self.recorder.flush()
        finally:
            if self.session is not None:
                self.session.close()
            if self.computing is not None:
                self.computing.close()

    def keep(self, outcome: StageOutcome) -> None:
        """Store and print the outcome of a stage."""
        with self.mutex:
            self.outcomes[outcome.stage] = outcome
        if outcome.state == "fresh":
            return
        self.say(describe_outcome(outcome))
        try:
            save_outcome(self.root, outcome)
        except OSError as error:
            self.say(f"{outcome.stage}: the outcome cannot be saved for `benchloom status`: {error.strerror}")
        if self.hooks is not None:
            self.hooks.end_stage(self, outcome)


def require_same_params(root: Path, params: Mapping[str, Any], node: Node) -> None:
    """Raise ChangedWhileRunning if params.yaml no longer has the values that a stage runs with."""
    if not node.stage or not node.params:
        return
    if isinstance(params, Parameters) and params.path == root / "params.yaml" and params.is_current():
        return
    there = load_params(root)
    for name in node.params:
        if get_section(there, name) != get_section(params, name):
            raise ChangedWhileRunning(node.name, f"params.yaml: {name}")


async def end_when(work: Coroutine[Any, Any, Any], stopping: threading.Event) -> Any:
    """Await a coroutine; once `stopping` is set, cancel it and raise CancelledError."""
    task = asyncio.ensure_future(work)
    while not task.done():
        # A threading.Event cannot be awaited.
        await asyncio.wait([task], timeout=STOP_POLL_S)
        if stopping.is_set():
            task.cancel()
    return await task


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Stop a command and all of its child processes with SIGTERM or, if the command does not end, SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(COMMAND_PATIENCE_S)
            return


def describe_work(node: Node, work: Work) -> dict[str, Any]:
    """Convert the counts of a stage's work to the fields of its outcome."""
    counts = {"rows_in": work.rows_in, "rows_out": work.rows_out, "dropped": work.dropped}
    return {"stage": node.name, "state": "ran", **counts}


def count_calls(ask: RecordedModel) -> dict[str, Any]:
    """Return the totals of a stage's calls, as fields of its outcome."""
    usage = ask.usage()
    return {
        "calls": usage.live_calls + usage.ledger_calls,
        "calls_live": usage.live_calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "usd": usage.usd,
        "paid_tokens": usage.paid.tokens,
        "paid_usd": usage.paid.usd,
    }


def run_plain(run: Run, names: Sequence[str], workers: int) -> None:
    """Run stale stages without Prefect; see `schedule`.

    If a stage fails, only its downstream stages are skipped. Outcomes and errors are stored in `run`.
    """
    with ThreadPoolExecutor(max_workers=workers) as pool:

        def submit(name: str, ended: Callable[[str], None]) -> None:
            if blocker := find_blocker(run, name):
                run.keep(StageOutcome(name, "skipped", error=f"waits for {blocker}"))
                ended(name)
            else:
                pool.submit(run.bring_up, name).add_done_callback(lambda _: ended(name))

        try:
            schedule(run, names, workers, submit)
        except KeyboardInterrupt:
            run.say(STOPPING)


def schedule(
    run: Run, names: Sequence[str], workers: int, submit: Callable[[str, Callable[[str], None]], None]
) -> None:
    """Submit each stage when its upstream stages have ended; at most `workers` stages run at once.

    `submit`: a function that receives a stage's name and a callback. After the stage has ended, the callback
    is called with the stage's name, from any thread.
    """
    place = {name: number for number, name in enumerate(names)}
    sorter: TopologicalSorter[str] = TopologicalSorter(
        {name: [up for up in run.recorder.nodes[name].upstream if up in place] for name in names}
    )
    sorter.prepare()
    ready: list[int] = []
    running = 0
    ended: SimpleQueue[str] = SimpleQueue()
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, place[name])
        while ready and running < workers:
            submit(names[heapq.heappop(ready)], ended.put)
            running += 1
        sorter.done(ended.get())
        running -= 1


def find_blocker(run: Run, name: str) -> str | None:
    """Return an upstream stage that failed or was skipped in this run; None if no such stage exists."""
    for upstream in run.recorder.nodes[name].upstream:
        outcome = run.outcomes.get(upstream)
        if outcome is not None and outcome.state in ("failed", "skipped"):
            return upstream
    return None
