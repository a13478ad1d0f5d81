"""What the page reads of the artifact evaluation_figures, and the panels of figures 2 and 4."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.longform.publish.figure_series import ModelBars, ModelPanel, Scatter
from tasks.reports.figure_cells import ROWS, FigureCell, FigureTable, Line
from tasks.scoring.statistics import Interval

SHARE, SCORE = (0, 1), (1, 5)
QUALITY = (("match rate (C)", SHARE, "match_rate"), ("mean score (I)", SCORE, "mean_score"))
"""What the quality of answers is: its title, its scale and where a bar has it."""


class PageSeries(BaseModel):
    """Figures 2 to 4; any may be absent."""

    model_config = ConfigDict(frozen=True)

    agents: tuple[ModelPanel, ...] = Field(default=(), alias="2")
    scatters: Mapping[str, Scatter] = Field(default={}, alias="3")
    models: tuple[ModelBars, ...] = Field(default=(), alias="4")


@dataclass(frozen=True)
class PageFigures:
    """What the page shows of the artifact; the rest of it is ignored."""

    warnings: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    """The model of each role, where it is known."""
    tables: Mapping[str, FigureTable] = field(default_factory=dict)
    figures: PageSeries = field(default_factory=PageSeries)


@dataclass(frozen=True)
class Panel:
    """A quantity drawn on a scale: label and cell of each line."""

    title: str
    bottom: int
    top: int
    lines: Sequence[tuple[str, FigureCell]]


def read_figures(path: Path) -> PageFigures:
    """Read what the page shows of the artifact. Raises BadInput if it is missing, or of another form."""
    try:
        return TypeAdapter(PageFigures).validate_python(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise BadInput(path, "is no JSON file", hint="run the stage evaluation_figures") from error


def draw_agents(models: Sequence[ModelPanel]) -> list[Panel]:
    """Make figure 2: for each model a panel of matches and one of scores, its two references last.

    These are the agent `guess`, and (section 4.3) what an agent that queries is worth where it did not.
    """
    panels = []
    for model in models:
        bars = [(bar.agent, bar) for bar in model.bars]
        bars += [("reference: guess", model.guess)] if model.guess else []
        bars += [(f"reference: {bar.agent}, never queried", bar) for bar in model.never_queried]
        for title, scale, measure in QUALITY:
            lines = [(label, getattr(bar, measure)) for label, bar in bars]
            panels.append(Panel(f"{model.model}: {title}", *scale, lines))
    return panels


def draw_models(models: Sequence[ModelBars]) -> list[Panel]:
    """Make figure 4: a panel for each measure of quality, and for each step."""
    if not models:
        return []
    return [
        *(Panel(title, *scale, _list_bars(models, measure)) for title, scale, measure in QUALITY),
        *(
            Panel(
                "all steps Perfect" if step == "all" else f"{step} Perfect",
                *SHARE,
                [(row.model, row.steps[step]) for row in models if step in row.steps],
            )
            for step in models[0].steps
        ),
    ]


def tabulate_figures(series: PageSeries) -> dict[str, FigureTable]:
    """Make a table of each figure, for the page's record: of Figures 2 and 4 a line a bar."""
    panels = {"figure 2": draw_agents(series.agents), "figure 4": draw_models(series.models)}
    tables = {
        name: FigureTable(
            name,
            name.capitalize(),
            ("panel", "bar"),
            ("value",),
            tuple(Line((panel.title, label), (cell,)) for panel in own for label, cell in panel.lines),
        )
        for name, own in panels.items()
    }
    lines = [
        Line(
            (kind,),
            (
                _show_correlation(one, one.pearson, one.pearson_interval),
                _show_correlation(one, one.spearman, one.spearman_interval),
            ),
        )
        for kind, one in series.scatters.items()
    ]
    tables["figure 3"] = FigureTable(
        "figure 3", "Figure 3", ("items",), ("pearson", "spearman"), tuple(lines)
    )
    return tables


def _show_correlation(scatter: Scatter, value: float | None, interval: Interval | None) -> FigureCell:
    return FigureCell(value, scatter.n, scatter.failed, interval, ROWS, scatter.why, scatter.basis)


def _list_bars(models: Sequence[ModelBars], measure: str) -> list[tuple[str, FigureCell]]:
    bars = [
        (label, bar)
        for row in models
        for label, bar in ((row.model, row.bar), (f"{row.model} · guess", row.guess))
        if bar is not None
    ]
    return [(label, getattr(bar, measure)) for label, bar in bars]
