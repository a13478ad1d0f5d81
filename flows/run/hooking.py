"""Call hooks after stages and runs. A slow or failing hook neither delays stages nor fails the run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from flows.discovery import find_flow_of, find_section_of
from flows.parameters import validate
from flows.run.binding import collect_settings
from flows.run.hook import Hook, Output, RunEnd, StageEnd
from flows.run.node import Node, normalise
from flows.run.outcomes import StageOutcome
from flows.settings import get_section
from flows.stage import FIGURES
from tasks.plugged_classes import PluggedClasses
from tasks.plugs import tell_error

if TYPE_CHECKING:
    from flows.run.runner import Run

FOLDER = Path(__file__).parents[1] / "hooks"
CLASSES: PluggedClasses[Hook] = PluggedClasses(Hook, "hooks", "flows.hooks", "hook", "docs/plugs.md")
SECTION, GIVEN = "run.hooks", dict[str, dict[str, Any] | None]
PATIENCE_S = 600.0
"""Maximum seconds that a finished run waits for its hooks."""
TOLD_AFTER_S = 5.0
"""Seconds after which a line reports that the run is waiting for hooks."""
METRICS = FIGURES["metrics"]


class Hooks:
    """Calls the hooks of one run in a separate thread."""

    def __init__(
        self, hooks: Mapping[str, Hook], say: Callable[[str], None], patience_s: float = PATIENCE_S
    ) -> None:
        self._hooks, self._say, self._patience_s = dict(hooks), say, patience_s
        self._queue: SimpleQueue[StageEnd | RunEnd] = SimpleQueue()
        self._began, self._at_work = time.monotonic(), ""
        # A daemon thread, because a hook that hangs must not prevent the end of the process.
        self._thread = threading.Thread(target=self._work, name="hooks", daemon=True)
        self._thread.start()

    def end_stage(self, run: Run, outcome: StageOutcome) -> None:
        """Queue the hook calls for the end of a stage."""
        self._queue.put(describe_end(run, outcome))

    def end_run(self, run: Run, names: Sequence[str], title: str, exit_code: int, commit: str) -> None:
        """Queue the hook calls for the end of a run, and wait a limited time until all calls are finished."""
        seconds = round(time.monotonic() - self._began, 3)
        self._queue.put(describe_run(run, names, title, exit_code, seconds, commit))
        self._thread.join(min(TOLD_AFTER_S, self._patience_s))
        if self._thread.is_alive():
            most = f"{self._patience_s:.0f} s"
            self._say(
                f"waiting for hook {self._at_work}, at most {most}; press Ctrl-C to continue without it"
            )
            with suppress(KeyboardInterrupt):
                self._thread.join(max(0.0, self._patience_s - TOLD_AFTER_S))
        if self._thread.is_alive():
            self._say(f"hook {self._at_work}: is still running; the run ends without it")

    def _work(self) -> None:
        end: StageEnd | RunEnd | None = None
        while not isinstance(end, RunEnd):
            end = self._queue.get()
            for name, hook in list(self._hooks.items()):
                self._call(name, hook, end)

    def _call(self, name: str, hook: Hook, end: StageEnd | RunEnd) -> None:
        self._at_work = name
        try:
            if isinstance(end, StageEnd):
                hook.end_stage(end)
            else:
                hook.end_run(end)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code must not fail the run
            del self._hooks[name]
            said = tell_error(error) if isinstance(error, Exception) else "SystemExit"
            where = end.stage if isinstance(end, StageEnd) else "the end of the run"
            self._say(f"hook {name}: raised {said} at {where}; this run does not call the hook again")


def open_hooks(run: Run) -> Hooks | None:
    """Make the hooks that `run.hooks` enables; None if there are none. Raises BadInput for invalid hooks."""
    keys = SECTION.split(".")
    given = validate(GIVEN, get_section(run.params, SECTION) or {}, keys, run.params)
    hooks: dict[str, Hook] = {}
    for name, options in given.items():
        kind = CLASSES.find(name, FOLDER)
        hooks[name] = cast(Hook, validate(kind, options or {}, [*keys, name], run.params))
        hooks[name].prepare(run.root)
    return Hooks(hooks, run.say) if hooks else None


def describe_end(run: Run, outcome: StageOutcome) -> StageEnd:
    """Describe a finished stage, as hooks receive it."""
    node = run.recorder.nodes[outcome.stage]
    flow = find_flow_of(node.stage)
    done = outcome.state in ("ran", "restored", "fresh")
    counts = {name: value for name, value in vars(outcome).items() if name not in ("stage", "state")}
    return StageEnd(
        stage=node.name,
        flow=flow.name if flow else "",
        section=find_section_of(node.stage),
        entry=node.key,
        state=outcome.state,
        **counts,
        params=collect_settings(node, run.params),
        figures=read_figures(run.root, node) if done else {},
        outputs=list_outputs(run, node) if done else (),
    )


def describe_run(
    run: Run, names: Sequence[str], title: str, exit_code: int, seconds: float, commit: str
) -> RunEnd:
    """Describe a finished run, as hooks receive it."""
    spent = run.session.dispatcher.budget.spent if run.session is not None else None
    return RunEnd(
        root=run.root,
        title=title,
        exit_code=exit_code,
        seconds=seconds,
        replay=run.replay,
        commit=commit,
        paid_tokens=spent.tokens if spent else 0,
        paid_usd=spent.usd if spent else 0.0,
        stages=tuple(describe_end(run, run.outcomes[name]) for name in names if name in run.outcomes),
    )


def list_outputs(run: Run, node: Node) -> tuple[Output, ...]:
    """List the outputs of a stage with their recorded hashes and sizes."""
    with run.recorder.mutex:
        entry = run.recorder.graph.entries.get(node.name) or {}
        return tuple(
            Output(normalise(out["path"]), out.get("md5", ""), out.get("size"))
            for out in entry.get("outs") or ()
        )


def read_figures(root: Path, node: Node) -> dict[str, dict[str, float]]:
    """Read the metrics of a stage that writes a page: name -> value, interval bounds, and counts.

    JSON files under data/metrics that contain no numbers are skipped, since users may add files to this
    folder.
    """
    found: dict[str, dict[str, float]] = {}
    for path in list_metrics(root, node):
        try:
            told = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        numbers = {
            str(key): value
            for key, value in (told.items() if isinstance(told, dict) else ())
            if isinstance(value, int | float)
        }
        if numbers:
            found[path.relative_to(root / METRICS).with_suffix("").as_posix()] = numbers
    return found


def list_metrics(root: Path, node: Node) -> Iterator[Path]:
    """List the files with a stage's metrics."""
    for out in node.outs:
        if out.startswith(f"{METRICS}/"):
            yield from sorted((root / out).rglob("*.json"))
