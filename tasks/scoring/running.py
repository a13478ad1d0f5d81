"""Run a metric over a stream of items: read, score, aggregate and report."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tasks.errors import BadInput
from tasks.files import write_beside
from tasks.scoring.grammar import GroupSample
from tasks.scoring.item_tables import read_records
from tasks.scoring.items import (
    BadItem,
    UnreadableLine,
    check_ids,
    describe_source,
)
from tasks.scoring.metric import (
    Accumulator,
    IntArray,
    ItemValues,
    MeanSample,
    Metric,
    Sample,
    to_plain_number,
)
from tasks.scoring.statistics import Interval, bootstrap, settle_interval

STATES = ("scored", "failed", "skipped")
ALL = "all"

Report = dict[str, Any]


@dataclass(frozen=True)
class Bootstrap:
    """Parameters of bootstrap intervals: the number of draws, and the seed."""

    draws: int = 10_000
    seed: int = 0


@dataclass
class RuleScores:
    """The scores under one rule, in the order of the items."""

    rule: str
    accumulator: Accumulator[Any]
    states: array[int] = field(default_factory=lambda: array("b"))
    outcomes: list[str | None] = field(default_factory=list)

    def count(self) -> dict[str, int]:
        """Return the numbers of items by state: `n_scored`, `n_failed` and `n_skipped`."""
        counts = Counter(self.states)
        return {f"n_{name}": counts[number] for number, name in enumerate(STATES)}


@dataclass
class LineReader:
    """Reads a file's items for a metric, counts unreadable lines, and stores ids if `keep_ids` is set."""

    path: str
    metric: Metric[Any]
    report: Callable[[UnreadableLine], None]
    keep_ids: bool = False
    n: int = 0
    n_unreadable: int = 0
    ids: list[str | int] = field(default_factory=list)

    def read(self) -> Iterator[Any]:
        """Yield the items of all readable lines."""
        for line in check_ids(read_records(self.path, self.metric.columns, self.metric.texts)):
            if isinstance(line, UnreadableLine):
                self.report_unreadable(line)
                continue
            try:
                item = self.metric.read(line.record)
            except BadItem as error:
                self.report_unreadable(UnreadableLine(line.number, str(error)))
                continue
            self.n += 1
            if self.keep_ids:
                self.ids.append(line.record["id"])
            yield item

    def report_unreadable(self, line: UnreadableLine) -> None:
        """Count an unreadable line and report it."""
        self.n_unreadable += 1
        self.report(line)


def choose_rules(metric: Metric[Any], rule: str | None) -> tuple[str, ...]:
    """Return the rules to score by: the default rule, the rule named `rule`, or all rules.

    Raises BadInput for an unknown rule.
    """
    if rule is None or (rule == ALL and not metric.rules):
        return metric.rules[:1] or ("",)
    if rule == ALL:
        return metric.rules
    if rule not in metric.rules:
        hint = f"known: {', '.join((*metric.rules, ALL))}" if metric.rules else "the metric has only one rule"
        raise BadInput(f"score {metric.name}", f"has no rule {rule}", hint=hint)
    return (rule,)


def score_file(
    metric: Metric[Any],
    path: str,
    *,
    rule: str | None = None,
    intervals: Bootstrap | None = None,
    items: Path | None = None,
    report: Callable[[UnreadableLine], None] = lambda line: None,
) -> Report:
    """Score a file of items; `report` is called with every unreadable line.

    Returns the object for `--json`: metric, rule, n, n_scored, n_failed, n_skipped, n_unreadable and the
    figures. If `rule` is `all`, the figures are grouped by rule, with separate counts for rules whose counts
    differ from the first rule's counts. `items`: an output file for the scores of every item. Raises BadInput
    if no line is readable.
    """
    rules = choose_rules(metric, rule)
    reader = LineReader(path, metric, report, keep_ids=items is not None)
    columns = [RuleScores(name, metric.make_accumulator(name)) for name in rules]
    for item, scores in metric.score(reader.read(), rules):
        for column, score in zip(columns, scores, strict=True):
            column.states.append(STATES.index(score.state))
            column.accumulator.add(item, score)
            if items is not None:
                column.outcomes.append(score.outcome)
    if not reader.n:
        lines = f"unreadable lines: {reader.n_unreadable}" if reader.n_unreadable else "it is empty"
        raise BadInput(describe_source(path), f"has no readable line ({lines})", hint="see docs/scoring.md")
    if items is not None:
        write_items(items, reader.ids, columns, nested=rule == ALL)
    return build_report(metric, reader, columns, rule, intervals)


def build_report(
    metric: Metric[Any],
    reader: LineReader,
    columns: Sequence[RuleScores],
    rule: str | None,
    intervals: Bootstrap | None,
) -> Report:
    """Return the report object: counts, and the figures of each rule."""
    counts = columns[0].count()
    named = ALL if rule == ALL else columns[0].rule or None
    report: Report = {"metric": metric.name, "rule": named, "n": reader.n, **counts}
    report["n_unreadable"] = reader.n_unreadable
    for column in columns:
        figures = compute_figures(column.accumulator.sample(), intervals, own_scale=metric.own_scale)
        if rule == ALL and column.rule:
            own = column.count()
            report[column.rule] = figures if own == counts else {**own, **figures}
        else:
            report.update(figures)
    return report


def compute_figures(
    sample: Sample,
    intervals: Bootstrap | None,
    clusters: IntArray | None = None,
    own_scale: Collection[str] = (),
) -> Report:
    """Compute the figures over all scored units, with confidence intervals if `intervals` is given.

    `clusters`: as for `bootstrap`. `own_scale`: the figures that are not shares.
    """
    whole = sample.figures(sample.counts[np.newaxis].astype(np.float64))
    values = {
        name: None if np.isnan(value[0]) else to_plain_number(float(value[0]))
        for name, value in whole.items()
    }
    figures = nest_names(values)
    if intervals is not None:
        drawn = bootstrap(sample, intervals.draws, intervals.seed, clusters)
        pairs = {name: drawn.get(name) if values[name] is not None else None for name in values}
        pairs = settle_ends(values, pairs, count_units(sample, clusters), find_shares(sample, own_scale))
        figures["ci"] = nest_names({name: list(pair) if pair else None for name, pair in pairs.items()})
    return figures


def find_shares(sample: Sample, own_scale: Collection[str]) -> frozenset[str]:
    """Return the names of the figures that are shares, between 0 and 1.

    Only a MeanSample and a GroupSample have shares; the result is empty for any other sample.
    """
    if isinstance(sample, MeanSample):
        return frozenset(sample.names) - sample.counted - frozenset(own_scale)
    return sample.shares if isinstance(sample, GroupSample) else frozenset()


def count_units(sample: Sample, clusters: IntArray | None = None) -> dict[str, int]:
    """Return the number of units, or of clusters if given, in each figure's denominator."""
    every = np.ones(len(sample.counts), dtype=bool)
    own = sample.denominators() if isinstance(sample, MeanSample | GroupSample) else {}
    names = sample.figures(sample.counts[np.newaxis].astype(np.float64))
    marks = {name: own.get(name, every) for name in names}
    if clusters is None:
        return {name: int(sample.counts[mark].sum()) for name, mark in marks.items()}
    return {name: len(np.unique(clusters[mark])) for name, mark in marks.items()}


def settle_ends(
    values: Mapping[str, float | None],
    pairs: Mapping[str, Interval | None],
    units: Mapping[str, int],
    shares: Collection[str],
) -> dict[str, Interval | None]:
    """Return the intervals; `settle_interval` removes or replaces unreliable intervals.

    `units`: figure -> the number of units in its denominator.
    """
    return {
        name: settle_interval(pair, units[name], "items", values[name] if name in shares else None)[0]
        for name, pair in pairs.items()
    }


def nest_names(flat: Mapping[str, object]) -> Report:
    """Nest names that contain dots: {"a.b": 1} becomes {"a": {"b": 1}}."""
    nested: Report = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        place = nested
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def write_items(path: Path, ids: Sequence[str | int], columns: Sequence[RuleScores], *, nested: bool) -> None:
    """Write a JSON line per item to `path`: id, scores, and the outcome if the metric defines outcomes."""
    lines = [describe_items(column) for column in columns]
    try:
        with open_output(path) as stream:
            for key, *parts in zip(ids, *lines, strict=True):
                if nested and columns[0].rule:
                    own = {column.rule: part for column, part in zip(columns, parts, strict=True)}
                else:
                    own = parts[0]
                stream.write(json.dumps({"id": key, **own}, ensure_ascii=False).encode() + b"\n")
    except OSError as error:
        raise BadInput(path, f"cannot be written ({error.strerror})") from error


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when complete; links and devices are written directly."""
    # Replacing the path would remove the link or the device (/dev/stdout) instead of writing to its target.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with path.open("wb") as stream:
            yield stream
        return
    with write_beside(path) as draft, draft.open("wb") as stream:
        yield stream


def describe_items(column: RuleScores) -> Iterator[ItemValues]:
    """Yield each item's scores under one rule, and the outcome if the metric defines outcomes."""
    for values, outcome in zip(column.accumulator.item_values(), column.outcomes, strict=True):
        yield values if outcome is None else {**values, "outcome": outcome}
