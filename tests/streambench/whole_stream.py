"""Run all stages of a stream from dataset folders to the page, with scripted models."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts, make_id
from tasks.models.ask import Answer, Unparsed, render_prompt
from tasks.models.calls import Call
from tasks.streambench.build.items import StreamItem, items
from tasks.streambench.build.sequence import sequence
from tasks.streambench.build.shots import shots
from tasks.streambench.entries import Stream, StreamEvaluation
from tasks.streambench.publish.evaluation_figures import evaluation_figures
from tasks.streambench.publish.evaluation_page import evaluation_page
from tasks.streambench.score.curves import CurvePoint, curves
from tasks.streambench.score.scores import StepScore, scores
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.steps import steps
from tasks.streambench.solve.stream_step import StreamStep
from tests.reports.figure_folders import place_figures


class ScriptedModels(ABC):
    """A stage's `ask` with scripted models; it stores the calls like the ledger."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}

    @abstractmethod
    def say(self, prompt: str, messages: Sequence[Mapping[str, str]], fields: Mapping[str, Any]) -> str:
        """Return the reply to the prompt with the given name."""

    async def __call__(
        self, prompt: Path, fields: Mapping[str, Any], *, role: str, row: str, parse: Any, **more: Any
    ) -> Answer[Any]:
        messages = render_prompt(prompt, fields).messages
        said = self.say(prompt.stem, messages, fields)
        text = "\n".join(message["content"] for message in messages)
        key = make_id("call", role, text)
        values: dict[str, Any] = {field.name: "" for field in dataclasses.fields(Call)}
        values |= {
            "id": key, "stage": "streambench.steps", "row": row, "role": role, "prompt": prompt.stem,
            "messages": json.dumps(messages), "decoding": "{}", "constraint": "{}", "text": said, "sample": 0,
            "attempt": 0, "prompt_tokens": len(text), "completion_tokens": len(said), "estimated": False,
            "parsed": True,
        }  # fmt: skip
        self.calls[key] = Call(**values)
        try:
            return Answer(parse(said), said, key, 1)
        except Unparsed as error:
            return Answer(None, said, key, 1, str(error))

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        return [[float(text.startswith("How")), 1.0, len(text) / 1000] for text in texts]


@dataclass
class Whole:
    """The results of all stages."""

    entry: StreamEvaluation
    items: dict[str, StreamItem]
    steps: list[StreamStep]
    scores: list[StepScore]
    curves: list[CurvePoint]
    figures: Any
    page: Path
    counts: Counts
    calls: dict[str, Call]
    models: ScriptedModels


def run_stages(
    folder: Path, raw: Path, stream: Stream, evaluation: StreamEvaluation, models: ScriptedModels
) -> Whole:
    """Run all stages on dataset folders in `raw`; write the page below `folder`."""
    settings = {
        f"streambench.streams.{evaluation.stream}.{name}": value
        for name, value in stream.model_dump().items()
        if name != "options"
    }
    section = f"streambench.streams.{evaluation.stream}.options"
    settings |= {f"{section}.{name}": value for name, value in stream.options.items()}
    ask: Any = models
    rows = list(items(raw, stream).rows)
    order = list(sequence(rows, raw, stream, evaluation.stream).rows)
    examples = list(shots(raw, stream).rows)
    made = asyncio.run(steps(rows, order, examples, raw, evaluation, StreamLimits(), settings, ask))
    own, calls = list(made.rows), list(models.calls.values())
    scored = list(scores(own, calls).rows)
    points = list(curves(scored).rows)
    out = folder / "data/reports/streambench" / evaluation.stream
    out.parent.mkdir(parents=True)
    figures = folder / "evaluation_figures.json"
    evaluation_figures(rows, own, scored, points, evaluation, settings, figures)
    counts = evaluation_page(
        rows,
        own,
        calls,
        scored,
        points,
        figures,
        evaluation,
        evaluation.stream,
        out,
        **place_figures(out, "metrics", "bars", "lines"),
    )
    found = {row.id: row for row in rows}
    return Whole(
        evaluation,
        found,
        own,
        scored,
        points,
        json.loads(figures.read_text()),
        out,
        counts,
        models.calls,
        models,
    )
