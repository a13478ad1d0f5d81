"""Stage: the figures of an evaluation: tables 2 to 11, figures 2 to 4, methods in pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts
from tasks.errors import StageFailed
from tasks.files import write_text
from tasks.reports.figure_cells import round_figures
from tasks.streambench.build.items import StreamItem
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.publish.ablation_tables import tabulate_memories, tabulate_seeds, tabulate_uses
from tasks.streambench.publish.accuracy_tables import tabulate_gains, tabulate_means, tabulate_models
from tasks.streambench.publish.curve_tables import group_curves, tabulate_regrets, tabulate_times
from tasks.streambench.publish.curves import CurvePoint
from tasks.streambench.publish.kind_tables import draw_confusions, tabulate_kinds, tabulate_values
from tasks.streambench.publish.pair_tables import tabulate_pairs
from tasks.streambench.publish.scores import StepScore
from tasks.streambench.publish.stream_cautions import list_stream_cautions
from tasks.streambench.publish.stream_cells import StreamTable
from tasks.streambench.publish.stream_runs import StreamRuns, gather_runs, list_run_names
from tasks.streambench.publish.token_tables import tabulate_tokens
from tasks.streambench.solve.stream_step import StreamStep


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
    own = runs.list_steps(runs.systems)
    failed, unjudged = sum(one.failed for one in own), sum(one.unjudged for one in own)
    figures = {
        "stream": entry.stream,
        "kind": own[0].item.kind,
        "methods": [choice.label for choice in runs.choices],
        "models": runs.models,
        "seeds": sorted({one.step.seed for one in own}),
        "k": sorted({one.step.k for one in own}),
        "counts": {
            "items": len({one.item.id for one in own}),
            "runs": len(list_run_names(own)),
            "steps": len(own),
            "failed": failed,
            "unjudged": unjudged,
            "left_out": sum(bool(one.step.left_out) for one in own),
        },
        "warnings": list_stream_cautions(runs, settings),
        "tables": tabulate_all(runs, curves),
        "confusions": draw_confusions(runs),
    }
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    counted = {"failed": failed, "unjudged": unjudged}
    return Counts(len(steps), len(steps), {name: n for name, n in counted.items() if n})


def tabulate_all(runs: StreamRuns, curves: list[CurvePoint]) -> dict[str, StreamTable]:
    """Make every table, by key, in the order of the page."""
    points = group_curves(curves)
    return {
        "means": tabulate_means(runs),
        "gains": tabulate_gains(runs),
        **tabulate_models(runs),
        "memories": tabulate_memories(runs),
        "uses": tabulate_uses(runs),
        "seeds": tabulate_seeds(runs),
        "kinds": tabulate_kinds(runs),
        "values": tabulate_values(runs),
        "times": tabulate_times(runs, points),
        "regrets": tabulate_regrets(runs, points),
        **tabulate_pairs(runs),
        **tabulate_tokens(runs),
    }
