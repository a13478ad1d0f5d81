"""The stream as one walks it: an index of all steps, and the steps of each run with their prompts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from tasks.models.calls import Call
from tasks.reports.calls import ShownCall
from tasks.scoring.outcome import Outcome
from tasks.streambench.publish.stream_runs import ScoredStep, StreamRuns, list_run_names


@dataclass(frozen=True)
class WalkedItem:
    """An item. Its context stands in every prompt, and is left out here."""

    id: str
    key: str
    dataset: str
    text: str
    gold: str


@dataclass(frozen=True)
class WalkedRun:
    """A run. file: the stem of the file that holds its steps."""

    run: str
    method: str
    title: str
    models: str
    agents: tuple[str, ...]
    seed: int
    k: int
    file: str


class IndexedStep(NamedTuple):
    """A step in the index; run, item and outcome are places in their lists."""

    id: str
    run: int
    position: int
    item: int
    agent: str
    outcome: int
    bit: int


class WalkedEntry(NamedTuple):
    """An entry that a prompt showed. item: its place, or the id of an example that is no item."""

    item: int | str
    position: int
    distance: float


@dataclass(frozen=True)
class WalkedStep:
    """What a step shows beyond the index. calls, judge_calls, shadow_calls: ledger keys."""

    shown: list[WalkedEntry]
    left_out: list[str]
    reply: str
    answer: str | None
    words: str
    values: Mapping[str, object]
    failed: str
    stored: str | None
    memory_size: int
    tokens: tuple[int, int]
    calls: list[str]
    judge_calls: list[str]
    shadow_calls: list[str]


@dataclass(frozen=True)
class WalkIndex:
    """The walker's first data, as pages/streambench.js reads it: by run, in the order of the stream."""

    items: list[WalkedItem]
    runs: list[WalkedRun]
    outcomes: list[Outcome]
    steps: list[IndexedStep]


@dataclass(frozen=True)
class WalkedSteps:
    """A run's own file. steps: by id; calls: by ledger key."""

    steps: Mapping[str, WalkedStep]
    calls: Mapping[str, ShownCall]


def index_steps(runs: StreamRuns) -> WalkIndex:
    """Index all steps of an evaluation."""
    steps = runs.list_steps(runs.systems)
    items = {one.item.id: one.item for one in sorted(steps, key=lambda one: one.item.id)}
    places = {item: place for place, item in enumerate(items)}
    outcomes = sorted({one.step.outcome for one in steps})
    names = list_run_names(steps)
    run_places = {run: place for place, run in enumerate(names)}
    first = {one.step.run: one.step for one in reversed(steps)}
    titles = {steps[0].step.method: system.title for system, steps in runs.systems.items() if steps}
    return WalkIndex(
        [WalkedItem(item.id, item.key, item.dataset, item.text, item.gold) for item in items.values()],
        [
            WalkedRun(
                run,
                first[run].method,
                titles[first[run].method],
                " + ".join(first[run].agents),
                first[run].agents,
                first[run].seed,
                first[run].k,
                f"run-{place}",
            )
            for place, run in enumerate(names)
        ],
        outcomes,
        [
            IndexedStep(
                one.step.id,
                run_places[one.step.run],
                one.step.position,
                places[one.step.item],
                one.step.agent,
                outcomes.index(one.step.outcome),
                int(one.step.bit),
            )
            for one in steps
        ],
    )


def walk_runs(runs: StreamRuns, index: WalkIndex, calls: Iterable[Call]) -> dict[str, WalkedSteps]:
    """Make the file of each run: the stem of its name -> its steps and their calls."""
    by_key = {call.id: call for call in calls}
    places = {item.id: place for place, item in enumerate(index.items)}
    files = {run.run: run.file for run in index.runs}
    walked: dict[str, dict[str, WalkedStep]] = {file: {} for file in files.values()}
    wanted: dict[str, set[str]] = {file: set() for file in files.values()}
    for one in runs.list_steps(runs.systems):
        file, step = files[one.step.run], one.step
        walked[file][step.id] = show_step(one, places)
        wanted[file] |= {*step.calls, *step.judge_calls, *step.shadow_calls}
    return {
        file: WalkedSteps(
            walked[file], {key: show_call(by_key[key]) for key in sorted(wanted[file]) if key in by_key}
        )
        for file in walked
    }


def show_step(one: ScoredStep, places: Mapping[str, int]) -> WalkedStep:
    """Show one step. places: of items."""
    step = one.step
    values = json.loads(step.values or "{}")
    return WalkedStep(
        shown=[
            WalkedEntry(places.get(entry.item, entry.item), entry.position, entry.distance)
            for entry in step.shown
        ],
        left_out=list(step.left_out),
        reply=step.reply,
        answer=step.answer,
        words=step.words,
        values=values if isinstance(values, dict) else {},
        failed=step.failed,
        stored=step.stored.answer if step.stored else None,
        memory_size=step.memory_size,
        tokens=(one.score.tokens_in, one.score.tokens_out),
        calls=list(step.calls),
        judge_calls=list(step.judge_calls),
        shadow_calls=list(step.shadow_calls),
    )


def show_call(call: Call) -> ShownCall:
    """Show a call, its messages decoded."""
    columns: Sequence[str] = [field.name for field in fields(ShownCall)]
    values = {name: getattr(call, name) for name in columns}
    return ShownCall(**{**values, "messages": json.loads(call.messages)})
