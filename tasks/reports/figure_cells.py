"""Cells and tables of figures.json: a value, what it counts, its interval, and why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from statistics import fmean

from tasks.lineage.derivation import Derivation
from tasks.scoring.metric import MeanAccumulator, Score
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import Interval, bootstrap, find_wilson_interval

DIGITS = 10
DRAWS = Bootstrap()
ROWS = "interactions"


@dataclass(frozen=True)
class FigureCell:
    """One figure. A failure is in no value: it is counted beside it."""

    value: int | float | None
    """A count is whole. None if it is not defined; then `why` says the reason."""
    n: int
    """How many the value is over."""
    failed: int
    """How many more there are that have nothing to count: no answer, no verdict."""
    interval: Interval | None
    """95%: Wilson's of a share, a bootstrap's of a mean; None where none is given."""
    of: str
    """What n and failed count."""
    why: str = ""
    basis: Derivation | None = None
    """The rows that it was computed from; None if it has no value."""


@dataclass(frozen=True)
class Line:
    """One line of a table. label: as many texts as the table has heads."""

    label: tuple[str, ...]
    cells: tuple[FigureCell, ...]


@dataclass(frozen=True)
class FigureTable:
    """A table of the report. heads: names of the label columns."""

    number: str
    """The paper's, `errors` for the one of section 4.5."""
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def leave_empty(why: str, of: str = ROWS, failed: int = 0) -> FigureCell:
    """Make a cell without a value."""
    return FigureCell(None, 0, failed, None, of, why)


def count_cell(
    value: float | None, n: int, of: str, failed: int = 0, basis: Derivation | None = None
) -> FigureCell:
    """Make a cell of a count, or of a figure that is computed elsewhere."""
    return FigureCell(value, n, failed, None, of, "" if value is not None else f"no {of}", basis)


def rate_cell(outcomes: Sequence[bool | None], of: str = ROWS, basis: Derivation | None = None) -> FigureCell:
    """Compute the share of True, 0 to 1, with Wilson's interval. None: failed, in neither part of it."""
    given = [outcome for outcome in outcomes if outcome is not None]
    failed = len(outcomes) - len(given)
    if not given:
        return leave_empty(_explain(failed, of), of, failed)
    hits = sum(given)
    interval = find_wilson_interval(hits, len(given))
    return FigureCell(hits / len(given), len(given), failed, interval, of, basis=basis)


def mean_cell(
    values: Sequence[float | None],
    of: str = ROWS,
    *,
    interval: bool = False,
    basis: Derivation | None = None,
) -> FigureCell:
    """Compute a mean, on demand with a bootstrap interval, if there are two values. None: failed."""
    given = [value for value in values if value is not None]
    failed = len(values) - len(given)
    if not given:
        return leave_empty(_explain(failed, of), of, failed)
    drawn = _draw_interval(given) if interval and len(given) > 1 else None
    return FigureCell(fmean(given), len(given), failed, drawn, of, basis=basis)


def _draw_interval(values: Sequence[float]) -> Interval | None:
    accumulator = MeanAccumulator(("mean",))
    for value in values:
        accumulator.add(None, Score({"mean": value}))
    return bootstrap(accumulator.sample(), DRAWS.draws, DRAWS.seed)["mean"]


def _explain(failed: int, of: str) -> str:
    return f"none of {failed} {of} could be counted" if failed else f"no {of}"


def round_figures(value: object) -> object:
    """Convert figures to JSON types, with floats rounded to 10 significant digits at every depth.

    Dataclasses become objects of their fields, in the fields' order.
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if is_dataclass(value) and not isinstance(value, type):
        return round_figures(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): round_figures(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [round_figures(part) for part in value]
    return value


def format_mean(cell: FigureCell) -> str:
    """Format a mean x100 with its interval, if it has one; `-` if it is undefined."""
    if cell.value is None:
        return "-"
    low_high = (
        "" if cell.interval is None else " ({:.1f}, {:.1f})".format(*(100 * bound for bound in cell.interval))
    )
    return f"{100 * cell.value:.1f}{low_high}"
