"""Stage: the figures of an evaluation: tables 2 to 11, figures 2 to 4, methods in pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts
from tasks.errors import StageFailed
from tasks.files import write_text
from tasks.reports.tables import FigureTable, round_figures
from tasks.streambench.build.items import StreamItem
from tasks.streambench.confusions import ConfusionMatrix, draw_confusions
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.publish.stream_cautions import list_stream_cautions
from tasks.streambench.score.curves import CurvePoint
from tasks.streambench.score.scores import StepScore
from tasks.streambench.scored_steps import gather_runs, list_run_names
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.tables import tabulate_steps, tabulate_tokens
from tasks.streambench.tables_curves import tabulate_curves
from tasks.streambench.tables_pairs import tabulate_pairs


@dataclass(frozen=True)
class StreamFigures:
    """What evaluation_figures.json holds. counts: of items, runs, steps and failures; tables: by key."""

    stream: str
    kind: str
    methods: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    k: tuple[int, ...]
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    tables: Mapping[str, FigureTable]
    confusions: tuple[ConfusionMatrix, ...]


def evaluation_figures(
    items: list[StreamItem],
    steps: list[StreamStep],
    scores: list[StepScore],
    curves: list[CurvePoint],
    entry: StreamEvaluation,
    settings: Mapping[str, Any],
    out: Path,
) -> Counts:
    """Write evaluation_figures.json: every cell that the page shows, with n scored and n failed beside it.

    settings: `judging.thresholds.*`, beyond which the page has a warning at its head, and the stream's own.
    The counts are of steps. Raises StageFailed where no step was run.
    """
    if not steps:
        raise StageFailed("streambench.evaluation_figures: no step was run; run streambench.steps")
    runs = gather_runs(items, steps, scores, entry)
    failed, unjudged = sum(one.failed for one in runs.steps), sum(one.unjudged for one in runs.steps)
    figures = StreamFigures(
        stream=entry.stream,
        kind=runs.steps[0].item.kind,
        methods=tuple(choice.label for choice in runs.choices),
        models=runs.models,
        seeds=tuple(sorted({one.step.seed for one in runs.steps})),
        k=tuple(sorted({one.step.k for one in runs.steps})),
        counts={
            "items": len({one.item.id for one in runs.steps}),
            "runs": len(list_run_names(runs.steps)),
            "steps": len(runs.steps),
            "failed": failed,
            "unjudged": unjudged,
            "left_out": sum(bool(one.step.left_out) for one in runs.steps),
        },
        warnings=tuple(list_stream_cautions(runs, settings)),
        tables={
            **tabulate_steps(runs),
            **tabulate_curves(runs, curves),
            **tabulate_pairs(runs),
            **tabulate_tokens(runs),
        },
        confusions=tuple(draw_confusions(runs)),
    )
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    counted = {"failed": failed, "unjudged": unjudged}
    return Counts(len(steps), len(steps), {name: n for name, n in counted.items() if n})
