"""A report's figures as JSON: what the front page reads, and what `benchloom lineage` walks back from.

Every figure is an object with its `value` and its `basis`: the rows that it was computed from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.artifacts.statistics import ArtifactFacts, Tally, tally_calls
from tasks.grammar.publish.dataset_report import Report
from tasks.lineage.derivation import Derivation, Selection
from tasks.reports.frame import summarise


def write_record(report: Report) -> str:
    """Write a report's figures as one JSON object."""
    with_calls = [each.name for each in report.artifacts if each.calls]
    total = tally_calls(call for each in report.artifacts for call in each.calls)
    record = {
        **summarise(
            "dataset",
            flow=report.flow,
            name=report.name,
            title=report.title,
            subtitle=report.subtitle,
        ),
        "figures": [
            {"label": each.label, "note": each.note, **_give(each.value, each.basis)}
            for each in report.figures
        ],
        "charts": [
            {
                "title": chart.title,
                "bars": [
                    {
                        "label": bar.label,
                        "counts": [
                            {"step": step, **_give(count, bar.bases[place] if bar.bases else None)}
                            for place, (step, count) in enumerate(zip(chart.steps, bar.counts, strict=True))
                        ],
                    }
                    for bar in chart.bars
                ],
            }
            for chart in report.charts
        ],
        "artifacts": [_describe(each) for each in report.artifacts],
        "calls": _count_calls(total, with_calls),
    }
    return json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _describe(artifact: ArtifactFacts) -> dict[str, Any]:
    drops = f"{artifact.name}.dropped"
    return {
        "name": artifact.name,
        "rows": _give(artifact.rows, Derivation("count", (Selection(artifact.name),))),
        "dropped": [
            {"reason": reason, **_give(count, Derivation("count", (Selection(drops, {"reason": reason}),)))}
            for reason, count in artifact.dropped.items()
        ],
        **({"calls": _count_calls(tally_calls(artifact.calls), [artifact.name])} if artifact.calls else {}),
    }


def _count_calls(tally: Tally, artifacts: Sequence[str]) -> dict[str, Any]:
    """Give calls and tokens; a call that several stages use was paid once and counts once."""

    def give(value: int, measure: str, column: str = "", where: Mapping[str, bool] | None = None) -> Any:
        rows = tuple(Selection(f"{name}.calls", dict(where or {})) for name in artifacts)
        return _give(value, Derivation(measure, rows, column, once=True))

    return {
        "calls": give(tally.calls, "count"),
        "unparsed": give(tally.unparsed, "count", where={"parsed": False}),
        "prompt_tokens": give(tally.prompt_tokens, "sum", "prompt_tokens"),
        "completion_tokens": give(tally.completion_tokens, "sum", "completion_tokens"),
        "estimated": give(tally.estimated, "count", where={"estimated": True}),
    }


def _give(value: float, basis: Derivation | None) -> dict[str, Any]:
    return {"value": value, "basis": basis.to_json() if basis else None}
