"""Encode the figures of a dataset's record (report.json), each with the rows it was computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.artifacts.statistics import ArtifactStatistics, CallTotals, sum_calls
from tasks.lineage.derivation import Derivation
from tasks.lineage.figures import encode_figure
from tasks.lineage.selection import Selection
from tasks.reports.charts import Bar, Bars


def list_dataset_figures(
    charts: Sequence[Bars], artifacts: Sequence[ArtifactStatistics]
) -> dict[str, object]:
    """Return the record's further sections: charts, artifacts, calls."""
    with_calls = [artifact.name for artifact in artifacts if artifact.calls]
    total = sum_calls(call for artifact in artifacts for call in artifact.calls)
    return {
        "charts": [
            {"title": chart.title, "bars": [_describe_bar(chart.steps, bar) for bar in chart.bars]}
            for chart in charts
        ],
        "artifacts": [_describe_artifact(artifact) for artifact in artifacts],
        "calls": _describe_calls(total, with_calls),
    }


def _describe_bar(steps: Sequence[str], bar: Bar) -> dict[str, object]:
    return {
        "label": bar.label,
        "counts": [
            {"step": step, **encode_figure(count, derivation)}
            for step, count, derivation in zip(steps, bar.counts, bar.derivations, strict=True)
        ],
    }


def _describe_artifact(artifact: ArtifactStatistics) -> dict[str, object]:
    dropped = f"{artifact.name}.dropped"
    return {
        "name": artifact.name,
        "rows": encode_figure(artifact.rows, Derivation("count", (Selection(artifact.name),))),
        "dropped": [
            {
                "reason": reason,
                **encode_figure(count, Derivation("count", (Selection(dropped, {"reason": reason}),))),
            }
            for reason, count in artifact.dropped.items()
        ],
        **({"calls": _describe_calls(sum_calls(artifact.calls), [artifact.name])} if artifact.calls else {}),
    }


def _describe_calls(tally: CallTotals, artifacts: Sequence[str]) -> dict[str, object]:
    """Encode the numbers of calls and tokens; a call that several artifacts use counts once."""

    def derive(
        value: int, measure: str, column: str = "", where: Mapping[str, bool] | None = None
    ) -> dict[str, object]:
        rows = tuple(Selection(f"{name}.calls", dict(where or {})) for name in artifacts)
        return encode_figure(value, Derivation(measure, rows, column, once=True))

    return {
        "calls": derive(tally.calls, "count"),
        "unparsed": derive(tally.unparsed, "count", where={"parsed": False}),
        "prompt_tokens": derive(tally.prompt_tokens, "sum", "prompt_tokens"),
        "completion_tokens": derive(tally.completion_tokens, "sum", "completion_tokens"),
        "estimated": derive(tally.estimated, "count", where={"estimated": True}),
    }
