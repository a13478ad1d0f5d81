"""Build the data for the item viewers: steps of evaluations, runs of overviews, and items of streams."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tasks.models.calls import Call
from tasks.reports import blocks
from tasks.reports.blocks import BAD, GOOD, OFF, Block, Tag
from tasks.reports.calls import ShownCall
from tasks.reports.plurals import agree
from tasks.reports.viewer import Filter, ViewedRow, Viewer
from tasks.scoring.outcome import Outcome
from tasks.streambench.build.items import StreamItem, read_object
from tasks.streambench.joined_streams import StreamColumn
from tasks.streambench.scored_steps import ScoredStep, StreamRuns, list_run_names
from tasks.streambench.tables import read_kind

RIGHT, WRONG = ("right", "right"), ("wrong", "wrong")
"""The outcome filter's value and label for each feedback bit."""
LONGEST_TITLE = 200
LONGEST_EXAMPLE = 300
"""Maximum number of characters of a past item in the list of retrieved examples."""


@dataclass(frozen=True)
class RunFile:
    """A data file of one run.

    rows: step -> blocks. trace: tuples (step, title, CSS class), sorted by position.
    """

    rows: Mapping[str, Sequence[Block]]
    calls: Mapping[str, ShownCall]
    trace: Sequence[tuple[str, str, str]]


def view_steps(runs: StreamRuns, artifact: Path) -> Viewer:
    """Return the viewer of all steps; the details of a step are in the data file of its run."""
    files = name_files(runs)
    titles = {scored.step.method: scored.system.title for scored in runs.steps}
    outcomes = sorted({scored.step.outcome for scored in runs.steps})
    offered = dict([RIGHT, WRONG, *((outcome.value, outcome.shown) for outcome in outcomes)])
    seeds = dict.fromkeys(str(scored.step.seed) for scored in runs.steps)
    return Viewer(
        "step",
        "steps",
        "words in a question, its key or an id",
        "Choose a step to see the retrieved examples, the prompt, the answer and the feedback. Press J "
        "or the right arrow key for the next listed step, and K or the left arrow key for the previous "
        "one.",
        (
            Filter("method", "Method", list(titles.items())),
            Filter("model", "Model", [(model, model) for model in runs.models]),
            Filter("seed", "Seed", [(seed, seed) for seed in seeds]),
            Filter("outcome", "Outcome", list(offered.items())),
        ),
        [_list_step(scored, files[scored.step.run]) for scored in runs.steps],
        artifact,
        shared={scored.item.id: _show_item(scored.item) for scored in runs.steps},
        walk=True,
    )


def name_files(runs: StreamRuns) -> dict[str, str]:
    """Map each run to the name of its data file."""
    return {run: f"run-{place}" for place, run in enumerate(list_run_names(runs.steps))}


def _list_step(one: ScoredStep, file: str) -> ViewedRow:
    step, item = one.step, one.item
    return ViewedRow(
        step.id,
        item.text[:LONGEST_TITLE],
        (step.method, step.agents, str(step.seed), (RIGHT[0] if step.bit else WRONG[0], step.outcome)),
        ((f"step {step.position:,}", OFF), tag_outcome(one), (name_run(one), OFF)),
        [blocks.shared(item.id), blocks.stored(file, step.id)],
        (("steps", step.id), ("scores", step.id)),
        also=(item.id,),
    )


def tag_outcome(one: ScoredStep) -> Tag:
    """Return the tag with a step's outcome."""
    return one.step.outcome.shown, GOOD if one.step.bit else BAD


def name_run(one: ScoredStep) -> str:
    """Return the display name of a step's run."""
    return f"{one.system.title} · {one.system.models} · seed {one.step.seed}"


def _show_item(item: StreamItem) -> Sequence[Block]:
    """Return the blocks of an item; its context is omitted, because every prompt shows the context."""
    return [blocks.text(item.text, "question"), blocks.tags((item.dataset, OFF), beside=item.key)]


def show_runs(runs: StreamRuns, calls: Iterable[Call]) -> dict[str, RunFile]:
    """Return the data file of each run, which contains the run's steps with their prompts."""
    by_key = {call.id: call for call in calls}
    by_file: defaultdict[str, list[ScoredStep]] = defaultdict(list)
    files = name_files(runs)
    for scored in runs.steps:
        by_file[files[scored.step.run]].append(scored)
    return {file: _show_run(file, steps, by_key) for file, steps in by_file.items()}


def _show_run(file: str, steps: Sequence[ScoredStep], calls: Mapping[str, Call]) -> RunFile:
    past = {scored.step.position: scored for scored in steps}
    keys = {
        key
        for scored in steps
        for key in (*scored.step.calls, *scored.step.judge_calls, *scored.step.shadow_calls)
    }
    return RunFile(
        {scored.step.id: show_step(scored, file, past) for scored in steps},
        {key: _show_call(calls[key]) for key in sorted(keys) if key in calls},
        [
            (scored.step.id, f"step {scored.step.position}: {scored.step.outcome.shown}", _mark(scored))
            for scored in steps
        ],
    )


def _show_call(call: Call) -> ShownCall:
    """Return a call in the page's format, with its messages decoded."""
    values = {column.name: getattr(call, column.name) for column in fields(ShownCall)}
    return ShownCall(**{**values, "messages": json.loads(call.messages)})


def _mark(one: ScoredStep) -> str:
    """Return the CSS class of a step in the trace of its run."""
    if one.step.outcome is Outcome.FAILED:
        return "failed"
    return "right" if one.step.bit else "wrong"


def show_step(one: ScoredStep, file: str, past: Mapping[int, ScoredStep]) -> Sequence[Block]:
    """Return the blocks of a step: examples, prompt, answer, feedback and memory. past: steps by position."""
    step = one.step
    figures = " · ".join(f"{name} {value}" for name, value in read_object(step.values or "{}").items())
    stored = "Nothing was stored." if step.stored is None else "The answer was stored."
    tokens = f"{one.score.tokens_in:,} + {one.score.tokens_out:,} tokens"
    return [
        blocks.heading(f"Step {step.position:,} · {name_run(one)}"),
        blocks.tags(tag_outcome(one), (f"answered by {step.agent}", OFF)),
        blocks.component("trace", {"file": file, "step": step.id}),
        blocks.heading(f"Retrieved examples ({len(step.shown)})"),
        _show_retrieved(one, past),
        *_fold_lines("Left out of the prompt", step.left_out, ("window", BAD)),
        *_show_calls("Prompt and reply", step.calls, file, is_open=True),
        blocks.heading("Answer"),
        blocks.dim(f"No answer: {step.failed or 'no reason is given'}")
        if step.answer is None
        else blocks.code(step.answer),
        blocks.heading("Feedback"),
        blocks.tags(tag_outcome(one), beside=step.words or (RIGHT if step.bit else WRONG)[1]),
        *([blocks.dim(f"No verdict: {step.failed}")] if step.failed and step.answer is not None else []),
        *([blocks.dim(figures)] if figures else []),
        blocks.dim(f"{stored} Memory: {step.memory_size:,} {agree('entries', step.memory_size)} · {tokens}"),
        blocks.fold("The gold answer", [blocks.code(one.item.gold)]),
        *_show_calls("The judge's calls", step.judge_calls, file),
        *_show_calls("Unscored answers", step.shadow_calls, file),
        blocks.component("others", {"step": step.id, "item": one.item.id}),
        blocks.ids(step=step.id, item=one.item.id, key=one.item.key, run=step.run),
    ]


def _show_retrieved(one: ScoredStep, past: Mapping[int, ScoredStep]) -> Block:
    if not one.step.shown:
        return blocks.dim("The prompt contained no examples.")
    shown: list[Sequence[object]] = []
    for entry in one.step.shown:
        near = f"squared distance of keys {entry.distance:.4f}" if entry.distance else ""
        source = past.get(entry.position)
        if source is None:
            shown.append((f"a fixed example, {entry.item}", near))
            continue
        outcome, tone = tag_outcome(source)
        what = " · ".join(filter(None, (f"of step {entry.position:,}", outcome, near)))
        shown.append((source.item.text[:LONGEST_EXAMPLE], what, tone, f"#step={source.step.id}"))
    return blocks.items(shown, "retrieved")


def _fold_lines(title: str, lines: Collection[str], tag: Tag) -> Sequence[Block]:
    return [blocks.fold(f"{title} ({len(lines):,})", [blocks.items(lines)], tag)] if lines else []


def _show_calls(title: str, keys: Sequence[str], file: str, *, is_open: bool = False) -> Sequence[Block]:
    return [blocks.calls(title, keys, file=file, is_open=is_open)] if keys else []


def view_runs(columns: Sequence[StreamColumn], pages: Mapping[str, str], streams: Path) -> Viewer:
    """Return the viewer of an overview's runs. pages: evaluation -> page. streams: folder of all streams."""
    rows = [
        _show_joined(column, run, [scored for scored in steps if scored.step.run == run], pages, streams)
        for column in columns
        for steps in column.runs.systems.values()
        for run in list_run_names(steps)
    ]
    filters = (Filter("dataset", "Dataset"), Filter("method", "Method"), Filter("models", "Models"))
    empty = "Choose a run to see its dataset, method and results, and the page with its steps."
    # Paths of scores are relative to the folder that contains all evaluations.
    return Viewer(
        "run", "runs", "name of a dataset, method or model", empty, filters, rows, streams / "scores.parquet"
    )


def _show_joined(
    column: StreamColumn, run: str, steps: Sequence[ScoredStep], pages: Mapping[str, str], streams: Path
) -> ViewedRow:
    source, system = column.sources[run], steps[0].system
    right, failed = sum(scored.step.bit for scored in steps), sum(scored.failed for scored in steps)
    unjudged = sum(scored.unjudged for scored in steps)
    tokens = [
        sum(scored.score.tokens_in for scored in steps),
        sum(scored.score.tokens_out for scored in steps),
    ]
    share = f"{100 * right / len(steps):.1f}%"
    facts = [
        f"{right:,} of {len(steps):,} steps are correct ({share})",
        f"{failed:,} failed steps and {unjudged:,} unjudged steps, which count as wrong",
        f"models {system.models}, seed {steps[0].step.seed}, k = {steps[0].step.k}",
        f"{tokens[0]:,} tokens in, {tokens[1]:,} out",
    ]
    page = (f"Evaluation {source.name}, step by step", "", "", pages[source.name])
    return ViewedRow(
        f"{source.name}|{column.title}|{run}",
        f"{system.title}, {system.models}: {column.title}, seed {steps[0].step.seed}",
        (column.title, system.title, system.models),
        ((f"{share} right", OFF), *([(f"{failed:,} failed", "")] if failed else [])),
        [
            blocks.heading(f"{system.title} over {column.title}"),
            blocks.items(facts),
            blocks.items([page]),
            blocks.dim("The command below shows the lineage of the run's first step."),
        ],
        [((source.folder / "scores").relative_to(streams).as_posix(), steps[0].score.id)],
    )


def view_items(
    items: Iterable[StreamItem], places: Mapping[str, Sequence[tuple[int, int]]], artifact: Path
) -> Viewer:
    """Return the viewer of a stream's items. places: item -> (seed, position) in each order."""
    return Viewer(
        "item",
        "items",
        "words in an item or in its answer",
        "Choose an item to see its text as in a prompt, its gold answer, and its position in each order.",
        (Filter("dataset", "Dataset"), Filter("kind", "Kind")),
        [_show_stream_item(item, places[item.id]) for item in items],
        artifact,
    )


def _show_stream_item(item: StreamItem, places: Sequence[tuple[int, int]]) -> ViewedRow:
    kind = read_kind(item)
    key = "" if item.memory_key == item.text else item.memory_key
    folded = {
        "Context in the prompt": item.context,
        "Key in the memory": key,
        "Details for the environment": item.details,
    }
    named = {"item": item.id, "key": item.key, **({"file": item.file} if item.file else {})}
    return ViewedRow(
        item.id,
        item.text[:300],
        (item.dataset, kind),
        (
            (item.dataset, OFF),
            *([(kind, "")] if kind and kind != item.dataset else []),
            *((f"position {position:,} with seed {seed}", OFF) for seed, position in places[:1]),
        ),
        [
            blocks.heading("Item"),
            blocks.text(item.text, "question"),
            blocks.heading("True answer"),
            blocks.code(item.gold),
            *(blocks.fold(title, [blocks.code(text)]) for title, text in folded.items() if text),
            blocks.heading("Places"),
            blocks.items(f"seed {seed}: {position:,}" for seed, position in places),
            blocks.ids(**named),
        ],
    )
