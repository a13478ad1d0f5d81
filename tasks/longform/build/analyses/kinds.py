"""Define the kinds of analyses that questions ask for, and the figures that each kind needs.

Figure 5 of the paper shows example questions of these kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tasks.longform.build.analyses.subjects import AnalysedRows, Category
from tasks.longform.build.designs import Chosen, FigureDesign
from tasks.longform.build.foci import FocusMeasure, Quality

COMPARISON, CORRELATION, RELATIONSHIP = "comparison", "correlation", "relationship"
IMPACT, TREND, PATTERN = "impact", "trend", "pattern"
MEAN, MEDIAN = "mean", "median"
GAP, CORRELATED, HALVES, SLOPE, PERIODS, PART = "gap", "correlation", "halves", "slope", "periods", "part"
YEARLY, PERIOD_COUNTS, MEDIAN_GAP = "yearly", "period_counts", "median_gap"
FIRST_VALUE = 2
"""Index of a pattern's first compared value in `AnalysisScope.groups`; the two compared groups come first."""
QUALITIES = {
    COMPARISON: "notable differences",
    CORRELATION: "noteworthy",
    RELATIONSHIP: "meaningful",
    IMPACT: "impact",
    TREND: "notable trends",
    PATTERN: "notable patterns",
}
"""Map each kind to the abstract word of its interpretive analyses (section 2.2 of the paper).

A comparison instead uses a quality from the database's entry, if all measures of the quality can be compared.
"""
Rank = Callable[[str], tuple[object, ...]]
"""A function that maps a column id to a sort key. The column with the smallest key is used first."""


@dataclass(frozen=True)
class AnalysisScope:
    """The subject of one analysis: its rows, groups, columns and figures."""

    subject: AnalysedRows
    category: Category | None
    groups: tuple[str, ...]
    """The compared groups; for a pattern, followed by the two values whose shares are compared."""
    chosen: Chosen
    measures: tuple[FocusMeasure, ...]
    """The columns that the figures are computed from, with their names in questions."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The ids of all columns that the analysis uses."""
        named = (self.category.column,) if self.category else ()
        return (*named, *(measure.column for measure in self.measures))


def _choose_comparison(subject: AnalysedRows, interpretive: bool, rank: Rank) -> AnalysisScope | None:
    category, amounts = _choose_groups(subject, rank)
    if category is None or not amounts:
        return None
    there = {amount.column for amount in amounts}
    told = [quality for quality in subject.qualities if there.issuperset(quality.measures)]
    if interpretive and told:
        quality = min(told, key=lambda known: min(rank(name) for name in known.measures))
        measures = [subject.find(name) for name in quality.measures]
        means = tuple(FigureDesign(MEAN, measure.column) for measure in measures)
        return AnalysisScope(subject, category, category.values[:2], Chosen(means, quality), tuple(measures))
    figures = _write_pair(amounts)
    return _make(COMPARISON, subject, category, 2, figures, amounts[:2], interpretive)


def _choose_impact(subject: AnalysedRows, interpretive: bool, rank: Rank) -> AnalysisScope | None:
    category, amounts = _choose_groups(subject, rank)
    if category is None or not amounts:
        return None
    kind = MEAN if interpretive else GAP
    figures = [FigureDesign(kind, amount.column) for amount in amounts[:2]]
    # No answer may be a single number, so a second figure is needed.
    if len(figures) == 1:
        figures.append(FigureDesign(MEDIAN if interpretive else MEDIAN_GAP, amounts[0].column))
    return _make(IMPACT, subject, category, 3, figures, amounts[:2], interpretive)


def _choose_correlation(subject: AnalysedRows, interpretive: bool, rank: Rank) -> AnalysisScope | None:
    pair = _pair(subject, rank)
    if pair is None:
        return None
    one, over = pair[:2]
    figures = [
        FigureDesign(CORRELATED, one.column, over.column),
        FigureDesign(HALVES, one.column, over.column),
    ]
    return _make(CORRELATION, subject, None, 0, figures, pair[:2], interpretive)


def _choose_relationship(subject: AnalysedRows, interpretive: bool, rank: Rank) -> AnalysisScope | None:
    pair = _pair(subject, rank)
    if pair is None:
        return None
    over, *outcomes = pair
    figures = [FigureDesign(HALVES, outcome.column, over.column) for outcome in outcomes]
    # No answer may be a single number, so a second figure is needed.
    if len(figures) == 1:
        figures.append(FigureDesign(CORRELATED, outcomes[0].column, over.column))
    return _make(RELATIONSHIP, subject, None, 0, figures, (over, *outcomes), interpretive)


def _choose_trend(subject: AnalysedRows, interpretive: bool, rank: Rank) -> AnalysisScope | None:
    times, amounts = _sort(subject.times, rank), _sort(subject.amounts, rank)
    if not times:
        return None
    time = times[0].column
    if not amounts:  # use the trend in the number of rows instead
        counts = [FigureDesign(kind, time, time) for kind in (YEARLY, PERIOD_COUNTS)]
        return _make(TREND, subject, None, 0, counts, times[:1], interpretive)
    figures = [FigureDesign(SLOPE, amount.column, time) for amount in amounts[: 2 if interpretive else 1]]
    figures.append(FigureDesign(PERIODS, amounts[0].column, time))
    measures = (*amounts[: 2 if interpretive else 1], times[0])
    return _make(TREND, subject, None, 0, figures, measures, interpretive)


def _choose_pattern(subject: AnalysedRows, interpretive: bool, rank: Rank) -> AnalysisScope | None:
    ordered = sorted(subject.categories, key=lambda category: rank(category.column))
    if len(ordered) < 2:
        return None
    category, *others = ordered
    far = category.column.partition(".")[0] != subject.table
    # If two text columns belong to the same referenced row, one column determines the other, and
    # the shares are trivial.
    telling = [part for part in others if not far or part.column.partition(".")[0] == subject.table]
    if not telling:
        return None
    other = telling[0]
    measure = FocusMeasure(other.column, other.words, "", "", "", 0)
    figures = [FigureDesign(PART, other.column, threshold=FIRST_VALUE + place) for place in range(2)]
    groups = (*category.values[:2], *other.values[:2])
    # A question could not distinguish a group from a compared value with the same text.
    if len({group.casefold() for group in groups}) < len(groups):
        return None
    quality = Quality(QUALITIES[PATTERN], (other.column,), (True,)) if interpretive else None
    return AnalysisScope(subject, category, groups, Chosen(tuple(figures), quality), (measure,))


KINDS: Mapping[str, Callable[[AnalysedRows, bool, Rank], AnalysisScope | None]] = {
    COMPARISON: _choose_comparison,
    CORRELATION: _choose_correlation,
    RELATIONSHIP: _choose_relationship,
    IMPACT: _choose_impact,
    TREND: _choose_trend,
    PATTERN: _choose_pattern,
}
"""Map each kind to the function that chooses its columns.

The function returns None if a subject has too few columns.
"""


def _make(
    kind: str,
    subject: AnalysedRows,
    category: Category | None,
    groups: int,
    figures: Sequence[FigureDesign],
    measures: Sequence[FocusMeasure],
    interpretive: bool,
) -> AnalysisScope:
    told = tuple(dict.fromkeys(figure.measure for figure in figures))
    quality = Quality(QUALITIES[kind], told, (True,) * len(told)) if interpretive else None
    values = category.values[:groups] if category else ()
    return AnalysisScope(subject, category, values, Chosen(tuple(figures), quality), tuple(measures))


def _write_pair(amounts: Sequence[FocusMeasure]) -> list[FigureDesign]:
    """Return two figures, because no answer may be a single number.

    The figures are the means of two amounts, or the mean and the median of a single amount.
    """
    if len(amounts) > 1:
        return [FigureDesign(MEAN, amount.column) for amount in amounts[:2]]
    return [FigureDesign(kind, amounts[0].column) for kind in (MEAN, MEDIAN)]


def _sort(measures: Sequence[FocusMeasure], rank: Rank) -> list[FocusMeasure]:
    return sorted(measures, key=lambda measure: rank(measure.column))


def _choose_groups(subject: AnalysedRows, rank: Rank) -> tuple[Category | None, list[FocusMeasure]]:
    """Return the first category with amounts that may vary within a group, and the sorted amounts.

    Returns (None, []) if no category has amounts.
    """
    for category in sorted(subject.categories, key=lambda known: rank(known.column)):
        if amounts := subject.list_amounts(category):
            return category, _sort(amounts, rank)
    return None, []


def _pair(subject: AnalysedRows, rank: Rank) -> list[FocusMeasure] | None:
    """Return two or three amounts to relate to each other; None if there are fewer than two amounts."""
    amounts = _sort(subject.amounts, rank)[:3]
    return amounts if len(amounts) > 1 else None
