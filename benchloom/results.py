"""The typed results of the functions in `benchloom.running`, each convertible to a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


class CommandFailed(RuntimeError):
    """A command was refused or ended early.

    `code`: the exit code (docs/commands.md). `lines`: the messages that the command printed.
    """

    def __init__(self, code: int, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines) or f"exit code {code}")
        self.code, self.lines = code, tuple(lines)


@dataclass(frozen=True)
class Outcome(ABC):
    """The result of a command.

    `complete`: whether the command finished without failures or lost rows. `lines`: the messages that the
    command printed.
    """

    complete: bool
    lines: tuple[str, ...] = field(repr=False)

    @abstractmethod
    def list_rows(self) -> Iterator[Row]:
        """Yield the rows of `to_pandas`."""

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame; the class documents its columns."""
        import pandas as pd

        return pd.DataFrame(list(self.list_rows()))


@dataclass(frozen=True)
class RunResult(Outcome):
    """The stages of a run. The table has the columns of `benchloom status --json`."""

    stages: tuple[Row, ...]

    def list_rows(self) -> Iterator[Row]:
        """Yield one row per stage: its state, artifact, rows, and dropped rows."""
        yield from self.stages


@dataclass(frozen=True)
class Span:
    """A range of numbers.

    `high`: the upper bound; None if unknown. `exact`: whether both bounds are known rather than estimated.
    """

    low: float
    high: float | None
    exact: bool


@dataclass(frozen=True)
class PlanResult(Outcome):
    """The estimate for a run.

    `calls`: number of new calls. `recorded`: number of calls that are already in the ledger. `usd`: cost in
    US dollars. `seconds`: duration of the run; None if unknown.

    The table has one row per stage that would run. The columns are `stage`, `why` (the reasons), and the
    lower and upper bounds of `calls`, `tokens`, `usd` and `seconds`, with the suffixes `_low` and `_high`.
    """

    stages: tuple[Row, ...]
    calls: Span
    recorded: int
    tokens: Span
    usd: Span
    seconds: Span | None

    def list_rows(self) -> Iterator[Row]:
        """Yield one row per stage that would run."""
        for stage in self.stages:
            ends = {
                f"{name}_{end}": (stage.get(name) or {}).get(end)
                for name in ("calls", "tokens", "usd", "seconds")
                for end in ("low", "high")
            }
            yield {"stage": stage["stage"], "why": "; ".join(stage["why"]), **ends}


@dataclass(frozen=True)
class ScoreResult(Outcome):
    """The scores of predictions.

    All counts refer to items, except that `n_unreadable` counts lines. `figures`: name -> value, a fraction
    from 0 to 1 unless the metric has another scale. If there are several rules, the names begin with
    `<rule>.`. `intervals`: name -> bounds (low, high) of the 95% interval, if the option `ci` was given.
    Columns: `figure`, `value`, `low`, `high`.
    """

    metric: str
    rule: str | None
    n: int
    n_scored: int
    n_failed: int
    n_skipped: int
    n_unreadable: int
    figures: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float]]

    def list_rows(self) -> Iterator[Row]:
        """Yield one row per figure."""
        for name, value in self.figures.items():
            low, high = self.intervals.get(name, (None, None))
            yield {"figure": name, "value": value, "low": low, "high": high}


@dataclass(frozen=True)
class Change:
    """The change in a metric from system `a` to system `b`, over the items with a score for both.

    `section`: the section of params.yaml that contains the systems' entries. The other fields are the same as
    those of `MetricChange` in the JSON of a comparison.
    """

    section: str
    a: str
    b: str
    metric: str
    n_pairs: int
    clusters: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    adjusted: float | None
    detectable: float | None
    needed: int | None
    fell: int
    rose: int


@dataclass(frozen=True)
class ComparisonResult(Outcome):
    """Pairwise comparisons of sides on the same items.

    The table has one row per change, with the fields of `Change`. `sides`: the sides' labels. `alpha`: the
    significance level for p values after Holm's correction. `cautions`: warnings about items without a pair,
    and about too few clusters. `markdown`: the report that `to_markdown` returns.
    """

    sides: tuple[str, ...]
    alpha: float
    changes: tuple[Change, ...]
    cautions: tuple[str, ...]
    markdown: str = field(default="", repr=False)

    def to_markdown(self) -> str:
        """Return the report for a pull request in the format of `benchloom compare --markdown FILE`."""
        return self.markdown

    def list_rows(self) -> Iterator[Row]:
        """Yield one row per change."""
        yield from (vars(change) for change in self.changes)

    def list_regressions(self, drop: float = 0.0, metrics: Iterable[str] = ()) -> list[Change]:
        """List the metrics whose mean dropped significantly, and by more than `drop`.

        `metrics`: names of the metrics to check, by default all. A drop is significant if its p value after
        Holm's correction is below `alpha`.
        """
        chosen = set(metrics)
        return [
            change
            for change in self.changes
            if (not chosen or change.metric in chosen)
            and change.difference is not None
            and change.difference < -drop
            and change.adjusted is not None
            and change.adjusted < self.alpha
        ]


@dataclass(frozen=True)
class EvaluationResult(Outcome):
    """The evaluated systems with their figures.

    `figures`: system -> content of figures.json. `folders`: system -> output folder. `comparison`: the
    comparison of the systems; None for a single system. Columns: `system`, `pointer` (the figure's JSON
    pointer in figures.json, for lineage), `value`, `n`, and the bounds of the 95% interval, `low` and `high`.
    """

    figures: Mapping[str, Mapping[str, Any]]
    folders: Mapping[str, Path]
    comparison: ComparisonResult | None

    def list_rows(self) -> Iterator[Row]:
        """Yield one row per figure that `lineage` can trace."""
        for system, document in self.figures.items():
            for pointer, cell in list_cells(document, ""):
                yield make_row(system, pointer, cell["value"], cell)
            for pointer in document.get("bases") or {}:
                yield make_row(system, pointer, find_value(document, pointer), {})


def make_row(system: str, pointer: str, value: Any, cell: Mapping[str, Any]) -> Row:
    """Return a row of an evaluation's table.

    `cell`: the figure's JSON object, which may contain `n` and `interval`.
    """
    low, high = cell.get("interval") or (None, None)
    number = cell.get("n")
    return {"system": system, "pointer": pointer, "value": value, "n": number, "low": low, "high": high}


def list_cells(part: Any, pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the JSON pointer and the object of each figure, in document order.

    A figure is an object with a `value` and a `basis`.
    """
    if isinstance(part, dict) and "value" in part and isinstance(part.get("basis"), dict):
        yield pointer, part
        return
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inner:
        step = str(key).replace("~", "~0").replace("/", "~1")
        yield from list_cells(value, f"{pointer}/{step}")


def make_span(found: Mapping[str, Any]) -> Span:
    """Convert a range in the JSON of a plan to a Span."""
    return Span(found["low"], found["high"], found["exact"])


def list_figures(found: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None, Any]]:
    """Yield the name, value and interval of each figure; a nested name is prefixed, as in `<rule>.f1`."""
    intervals = found.get("ci") or {}
    for name, value in found.items():
        if isinstance(value, dict) and name != "ci":
            yield from list_figures({"ci": intervals.get(name), **value}, f"{prefix}{name}.")
        elif name != "ci":
            yield f"{prefix}{name}", value, intervals.get(name)


def read_comparison(found: Mapping[str, Any], said: Sequence[str]) -> ComparisonResult:
    """Convert the JSON of a comparison to a ComparisonResult. said: the command's messages."""
    names = [name for name in Change.__dataclass_fields__ if name not in ("section", "a", "b")]
    changes = tuple(
        Change(
            scored_system["section"],
            scored_system["a"],
            scored_system["b"],
            **{name: metric[name] for name in names},
        )
        for scored_system in found["strands"]
        for metric in scored_system["metrics"]
    )
    return ComparisonResult(
        True,
        tuple(said),
        tuple(found["sides"]),
        found["alpha"],
        changes,
        tuple(found["cautions"]),
        found.get("markdown", ""),
    )


def find_value(document: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document
