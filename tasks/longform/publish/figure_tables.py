"""What the page reads of the artifact evaluation_figures, and the panels of figures 2 and 4."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tasks.errors import BadInput

SHARE, SCORE = (0, 1), (1, 5)
"""The scales of figure 2."""


@dataclass(frozen=True)
class PageCell:
    """A cell of a table; a value of None has its reason in `why`. of: what `n` and `failed` count."""

    value: int | float | str | None
    n: int | None = None
    failed: int = 0
    interval: tuple[float, float] | None = None
    of: str = ""
    why: str = ""


@dataclass(frozen=True)
class PageLine:
    """A line of a table; it has a label for each of `heads`."""

    label: tuple[str, ...]
    cells: tuple[PageCell, ...]


@dataclass(frozen=True)
class PageTable:
    """A table of the artifact evaluation_figures."""

    number: str | int
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[PageLine, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScatterPoint:
    """An interaction of figure 3."""

    valid_queries: int
    quality: float


@dataclass(frozen=True)
class PageScatter:
    """Figure 3 of one kind of item; without a correlation `why` says the reason."""

    points: tuple[ScatterPoint, ...]
    n: int
    failed: int
    pearson: float | None
    spearman: float | None
    why: str


@dataclass(frozen=True)
class PageBar:
    """The quality of one agent by one model."""

    match_rate: PageCell
    mean_score: PageCell


@dataclass(frozen=True)
class PageModel:
    """One model of figure 4. steps: share of Perfect, `all` of all steps."""

    model: str
    bar: PageBar
    guess: PageBar | None
    steps: Mapping[str, PageCell]


class PageSeries(BaseModel):
    """Figures 3 and 4; any may be absent."""

    model_config = ConfigDict(frozen=True)

    scatters: Mapping[str, PageScatter] = Field(default={}, alias="3")
    models: tuple[PageModel, ...] = Field(default=(), alias="4")


@dataclass(frozen=True)
class PageFigures:
    """What the page shows of the artifact; the rest of it is ignored."""

    warnings: tuple[str, ...] = ()
    tables: Mapping[str, PageTable] = field(default_factory=dict)
    figures: PageSeries = field(default_factory=PageSeries)


@dataclass(frozen=True)
class Panel:
    """A quantity drawn on a scale: label and cell of each line."""

    title: str
    bottom: int
    top: int
    lines: Sequence[tuple[str, PageCell]]


def read_figures(path: Path) -> PageFigures:
    """Read what the page shows of the artifact. Raises BadInput if it is missing, or of another form."""
    try:
        return TypeAdapter(PageFigures).validate_python(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise BadInput(path, "is no JSON file", hint="run the stage evaluation_figures") from error


def draw_panels(tables: Mapping[str, PageTable]) -> list[Panel]:
    """Make figure 2 from table 2: a panel for each of its columns that is a rate of matches or a score."""
    if "2" not in tables:
        return []
    table = tables["2"]
    panels = []
    for place, column in enumerate(table.columns):
        name = column.lower()
        if "match" in name or "score" in name:
            lines = [(" · ".join(filter(None, line.label)), line.cells[place]) for line in table.lines]
            panels.append(Panel(column, *(SHARE if "match" in name else SCORE), lines))
    return panels


def draw_models(models: Sequence[PageModel]) -> list[Panel]:
    """Make figure 4: a panel for each measure of quality, and for each step."""
    if not models:
        return []
    return [
        Panel("match rate (C)", *SHARE, _list_bars(models, "match_rate")),
        Panel("mean score (I)", *SCORE, _list_bars(models, "mean_score")),
        *(
            Panel(
                "all steps Perfect" if step == "all" else f"{step} Perfect",
                *SHARE,
                [(row.model, row.steps[step]) for row in models if step in row.steps],
            )
            for step in models[0].steps
        ),
    ]


def _list_bars(models: Sequence[PageModel], measure: str) -> list[tuple[str, PageCell]]:
    bars = [
        (label, bar)
        for row in models
        for label, bar in ((row.model, row.bar), (f"{row.model} · guess", row.guess))
        if bar is not None
    ]
    return [(label, getattr(bar, measure)) for label, bar in bars]
