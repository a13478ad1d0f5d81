"""A synthetic evaluation: five methods and four ablations, two models, two seeds, 40 steps.

A hash of run and item determines whether a step is correct, so every method has different figures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Any

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, Origin, make_id
from tasks.models.calls import Call
from tasks.scoring.outcome import Outcome
from tasks.streambench.build.items import StreamItem
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.memory import MemoryEntry, RetrievedEntry
from tasks.streambench.publish.evaluation_figures import evaluation_figures
from tasks.streambench.publish.evaluation_page import evaluation_page
from tasks.streambench.score.curves import CurvePoint, curves
from tasks.streambench.score.scores import StepScore, scores
from tasks.streambench.solve.stream_step import StreamStep
from tests.reports.figure_folders import place_figures

STEPS, SEEDS, MODELS = 40, (42, 7), ("agent", "second_agent")
EVIL = "<script>alert('stream')</script>"
RATES = {
    "zero_shot": 30,
    "few_shot": 40,
    "self_stream_icl": 62,
    "mem_prompt": 50,
    "mam_stream_icl": 75,
    "grow_prompt": 45,
}
"""Approximate percentage of correct steps."""
METHODS: tuple[Any, ...] = (
    "zero_shot",
    "few_shot",
    "mem_prompt",
    "self_stream_icl",
    "mam_stream_icl",
    {"method": "mem_prompt", "use": "correct"},
    {"method": "mem_prompt", "use": "incorrect"},
    {"method": "mam_stream_icl", "memory_of": "agent"},
    {"method": "mam_stream_icl", "memory_of": "second_agent", "memory_rule": "shadow"},
)
ENTRY = StreamEvaluation(
    stream="sample", methods=METHODS, models=MODELS, method_seeds={"few_shot": (42,)}, k=2
)


@dataclass(frozen=True)
class MadeEvaluation:
    """All artifacts of an evaluation that the page reads."""

    entry: StreamEvaluation
    items: list[StreamItem]
    steps: list[StreamStep]
    calls: list[Call]
    scores: list[StepScore]
    curves: list[CurvePoint]


def make_items(kind: str = "sql", datasets: Sequence[str] = ("films", "flights")) -> list[StreamItem]:
    return [make_item(number, kind, datasets[number % len(datasets)]) for number in range(STEPS)]


def make_item(number: int, kind: str, dataset: str) -> StreamItem:
    details = {"db_id": dataset} if kind == "sql" else {}
    gold = str(number % 4) if kind == "ddxplus" else f"SELECT {number} FROM {dataset}"
    return StreamItem(
        id=make_id("stream item", kind, dataset, f"q{number}"), dataset=dataset, kind=kind, key=f"q{number}",
        text=f"Question {number} of {dataset}? {EVIL}", memory_key=f"question {number}", context="",
        gold=gold, details=json.dumps(details), file="", origin=(Origin("file", f"{dataset}/items.jsonl"),),
    )  # fmt: skip


def roll(*parts: object) -> int:
    """Return a number from 0 to 99 that depends only on the arguments."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest(), 16) % 100


def make_call(key: str, text: str, tokens: int) -> Call:
    values: dict[str, Any] = {field.name: "" for field in fields(Call)}
    message = [{"role": "user", "content": f"{text}\n{EVIL}"}]
    return Call(**{
        **values, "id": key, "stage": "steps", "role": "agent", "model": "small", "prompt": "zero_shot",
        "sample": 0, "attempt": 0, "messages": json.dumps(message), "text": f"SELECT 1 -- {EVIL}",
        "decoding": "{}", "constraint": "{}", "prompt_tokens": tokens, "completion_tokens": tokens % 13 + 1,
        "estimated": False, "parsed": True,
    })  # fmt: skip


def make_run(
    choice: Any, agents: tuple[str, ...], seed: int, items: Sequence[StreamItem]
) -> Iterable[tuple[StreamStep, list[Call]]]:
    order = list(items)
    Random(seed).shuffle(order)
    run = f"{choice.label}|{'+'.join(agents)}|{seed}"
    memory: list[tuple[int, StreamItem]] = []
    remembers = choice.method in ("mem_prompt", "self_stream_icl", "mam_stream_icl")
    for position, item in enumerate(order, 1):
        agent = agents[position % len(agents)]
        bonus = {"all": 0, "correct": 8, "incorrect": -15}[choice.use] + (5 if agent == MODELS[1] else 0)
        right = roll(run, item.id) < RATES[choice.method] + bonus + (position // 4 if remembers else 0)
        failed = roll("failed", run, item.id) < 4
        unjudged = not failed and roll("unjudged", run, item.id) < 3
        right = right and not failed and not unjudged
        outcome = "failed" if failed else "unjudged" if unjudged else "correct" if right else "wrong"
        key = make_id("call", run, position)
        stored = remembers and right
        shown = tuple(RetrievedEntry(old.id, place, round(0.1 * (3 - n), 6)) for n, (place, old) in
                      enumerate(memory[-2:]))  # fmt: skip
        answer = None if failed else make_answer(item, right)
        values = {"accuracy": float(right), "f1": roll("f1", run, position) / 100}
        entry = MemoryEntry(item.id, position, agent, item.memory_key, answer or "", True, "")
        if stored:
            memory.append((position, item))
        yield StreamStep(
            id=make_id("step", run, position), run=run, method=choice.label, agents=agents, seed=seed, k=2,
            position=position, item=item.id, agent=agent, shown=shown,
            left_out=("1 of 2 examples",) if roll("cut", run, position) < 3 else (), reply=answer or "",
            answer=answer, bit=right, outcome=Outcome(outcome), words="" if failed else f"It is {outcome}.",
            values="{}" if failed else json.dumps(values),
            failed="the model did not answer" if failed else "the gold query timed out" if unjudged else "",
            stored=entry if stored else None,
            memory_size=len(memory), calls=() if failed else (key,), judge_calls=(), shadow_calls=(),
            origin=(Origin("row", f"items#{item.id}"), *(() if failed else (Origin("call", key),))),
        ), [] if failed else [make_call(key, item.text, 100 + roll("tokens", run, position))]  # fmt: skip


def make_answer(item: StreamItem, right: bool) -> str:
    if item.kind == "ddxplus":
        return f"{item.gold if right else (int(item.gold) + 1) % 4}. Some diagnosis"
    return item.gold if right else f"SELECT 0 -- {EVIL}"


def make_evaluation(
    kind: str = "sql",
    datasets: Sequence[str] = ("films", "flights"),
    entry: StreamEvaluation = ENTRY,
    seeds: Sequence[int] = SEEDS,
) -> MadeEvaluation:
    items = make_items(kind, datasets)
    made = [
        step
        for choice in entry.methods
        for agents in ([entry.models] if choice.method == "mam_stream_icl" else [(m,) for m in entry.models])
        for seed in entry.method_seeds.get(choice.label, seeds)
        for step in make_run(choice, tuple(agents), seed, items)
    ]
    steps = [step for step, _ in made]
    calls = [call for _, row in made for call in row]
    scored = list(scores(steps, calls).rows)
    return MadeEvaluation(entry, items, steps, calls, scored, list(curves(scored).rows))


def drop_run(made: MadeEvaluation, method: str) -> MadeEvaluation:
    """Return an evaluation without the runs of a method."""
    entry = made.entry.model_copy(
        update={"methods": tuple(choice for choice in made.entry.methods if choice.label != method)}
    )
    steps = [step for step in made.steps if step.method != method]
    scored = list(scores(steps, made.calls).rows)
    return replace(made, entry=entry, steps=steps, scores=scored, curves=list(curves(scored).rows))


def write_figures(made: MadeEvaluation, path: Path) -> Any:
    evaluation_figures(made.items, made.steps, made.scores, made.curves, made.entry, {}, path)
    return json.loads(path.read_text(encoding="utf-8"))


def write_artifacts(folder: Path, made: MadeEvaluation, name: str = "trial") -> Path:
    """Write an evaluation's artifacts with a project's paths; return the folder."""
    data = folder / "data/streambench" / made.entry.stream
    for path, row, rows in (
        (data / "items.parquet", StreamItem, made.items),
        (data / name / "steps.parquet", StreamStep, made.steps),
        (data / name / "steps.calls.parquet", Call, made.calls),
        (data / name / "scores.parquet", StepScore, made.scores),
        (data / name / "curves.parquet", CurvePoint, made.curves),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, row, rows)
    write_figures(made, data / name / "evaluation_figures.json")
    return data / name


def write_evaluation(folder: Path, made: MadeEvaluation | None = None) -> tuple[Path, Counts]:
    """Write an evaluation's artifacts and page with a project's paths; return the page's folder."""
    made = made or make_evaluation()
    figures = write_artifacts(folder, made) / "evaluation_figures.json"
    out = folder / "data/reports/streambench/trial"
    out.parent.mkdir(parents=True, exist_ok=True)
    counts = evaluation_page(
        made.items,
        made.steps,
        made.calls,
        made.scores,
        made.curves,
        figures,
        made.entry,
        "trial",
        out,
        **place_figures(out, "metrics", "bars", "lines"),
    )
    return out, counts
