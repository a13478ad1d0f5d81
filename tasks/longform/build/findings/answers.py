"""Write sentences about the figures of an analysis: the statistic to guess, and the computed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tasks.longform.build.analyses.kinds import (
    CORRELATED,
    FIRST_VALUE,
    GAP,
    HALVES,
    MEDIAN_GAP,
    PART,
    PERIOD_COUNTS,
    PERIODS,
    SLOPE,
    YEARLY,
)
from tasks.longform.build.analyses.outcomes import (
    is_silent,
    list_choices,
    list_counts,
)
from tasks.longform.build.analyses.queries import (
    ABOVE,
    BELOW,
    BORDER,
    EARLIER,
    FIRST,
    LAST,
    LATER,
    VALUE,
)
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.designs import FigureDesign
from tasks.longform.build.evidence import FoundFigure
from tasks.longform.build.words import join_words

SAID = {"mean": "average", "median": "median", GAP: "average", MEDIAN_GAP: "median"}


def say_head(question: ControlledQuestion, figure: FigureDesign) -> str:
    """Name the figure that the conjecture must guess: `Correlation of the price with the size`."""
    focus = question.focus
    name = focus.find(figure.measure).name
    if figure.kind == PART:
        value = question.groups[int(figure.threshold)]
        return f"Higher share of {value} as the {name}"
    if figure.kind in SAID:
        gap = figure.kind in (GAP, MEDIAN_GAP)
        return f"{'Gap of more than a tenth in the' if gap else 'Higher'} {SAID[figure.kind]} {name}"
    over = focus.find(figure.over).name
    heads = {
        CORRELATED: f"Correlation of the {name} with the {over}",
        HALVES: f"Higher average {name}, for {focus.table_words} above or below the average {over}",
        SLOPE: f"Average {name} from year to year, by {over}",
        YEARLY: f"Number of {focus.table_words} from year to year, by {over}",
        PERIODS: f"Higher average {name}, in the earlier or the later half of the years, by {over}",
        PERIOD_COUNTS: f"More {focus.table_words}, in the earlier or the later half of the years, by {over}",
    }
    return heads[figure.kind]


def list_figure_choices(question: ControlledQuestion, figure: FigureDesign) -> tuple[str, ...]:
    """List the possible outcomes of a figure in the conjecture."""
    return list_choices(figure, question.groups)


def say_found(figure: FoundFigure, question: ControlledQuestion) -> str:
    """State a figure's values, or only the number of rows with the amounts if the figure is undetermined."""
    if is_silent(figure.design, question.groups, figure.counts):
        return _say_silent(figure, question)
    return SAYINGS[figure.design.kind](figure, question)


def _say_silent(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus, design = question.focus, figure.design
    name = focus.find(design.measure).name
    if design.kind in (CORRELATED, SLOPE):
        known, total = figure.counts.get(VALUE, 0), figure.totals.get(VALUE, 0)
        over = focus.find(design.over).name
        return f"The {name} and the {over} are both known for {known} of {total} {focus.table_words}."
    if design.kind == YEARLY:
        count = figure.counts.get(VALUE, 0)
        return f"The {focus.table_words} with a known {name} are of {count} different years."
    counts = list_counts(design, question.groups, figure.counts)
    if design.kind in (HALVES, PERIODS, PERIOD_COUNTS):
        sides = _name_sides(figure, question)
        told = [f"{count} {side}" for count, side in zip(counts, sides, strict=True)]
        return f"With a known {name} there are {join_words(told)}."
    pairs = zip(counts, question.groups, strict=False)
    told = [f"{count} {focus.say_rows(group)}" for count, group in pairs]
    if design.kind == PART:
        name += f", {question.groups[int(design.threshold)]} or another,"
    return f"The {name} is known for {join_words(told)}."


def _name_sides(figure: FoundFigure, question: ControlledQuestion) -> tuple[str, str]:
    """Name the two sides of a figure, in the order of `queries.SIDES`."""
    rows, over = question.focus.table_words, question.focus.find(figure.design.over)
    if figure.design.kind == HALVES:
        return f"{rows} above the average {over.name}", f"other {rows}"
    return f"{rows} of the later years", f"{rows} of the earlier years"


def _say_groups(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus, measure = question.focus, question.focus.find(figure.design.measure)
    order = sorted(question.groups, key=lambda group: -figure.values.get(group, 0))
    told = [
        f"{measure.say(figure.values[group])} for {(focus.say_those if place else focus.say_rows)(group)} "
        f"({_say_count(figure, group, focus.table_words)})"
        for place, group in enumerate(order)
    ]
    return f"The {SAID[figure.design.kind]} {measure.name} is {told[0]}, against {join_words(told[1:])}."


def _say_count(figure: FoundFigure, side: str, rows: str) -> str:
    known, total = figure.counts[side], figure.totals[side]
    return f"known for {known} of {total} {rows}" if known < total else f"{total} {rows}"


def _say_correlated(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus = question.focus
    name, over = (focus.find(column).name for column in (figure.design.measure, figure.design.over))
    count = figure.counts[VALUE]
    if VALUE not in figure.values:
        return f"Over {count} {focus.table_words}, the {name} or the {over} is the same in every row."
    return (
        f"The correlation of the {name} with the {over} is {figure.values[VALUE]:g}, over {count} "
        f"{focus.table_words}."
    )


def _say_slope(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus, measure = question.focus, question.focus.find(figure.design.measure)
    counted = figure.design.kind == YEARLY
    what = f"number of {focus.table_words}" if counted else f"average {measure.name}"
    if VALUE not in figure.values:
        return f"All {focus.table_words} with a known {measure.name} are of the same year."
    value = figure.values[VALUE]
    said = f"{abs(value):,.9f}".rstrip("0").rstrip(".") if counted else measure.say(abs(value))
    way = "rises" if value > 0 else "falls"
    change = f"{way} by {said} a year" if value else "does not change"
    behind = figure.counts[VALUE]
    count = f"{behind} years" if counted else f"{behind} {focus.table_words}"
    return (
        f"From {figure.values[FIRST]:.0f} to {figure.values[LAST]:.0f}, the {what} {change}, "
        f"by a line fitted to {count}."
    )


def _say_halves(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus, measure = question.focus, question.focus.find(figure.design.measure)
    over, rows = focus.find(figure.design.over), focus.table_words
    above, below = (measure.say(figure.values[side]) for side in (ABOVE, BELOW))
    return (
        f"The average {measure.name} is {above} for {rows} above the average {over.name} of "
        f"{over.say(figure.values[BORDER])} ({_say_count(figure, ABOVE, rows)}), against {below} for the "
        f"others ({_say_count(figure, BELOW, rows)})."
    )


def _say_periods(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus, measure = question.focus, question.focus.find(figure.design.measure)
    border = f"{figure.values[BORDER]:.0f}"
    if figure.design.kind == PERIOD_COUNTS:
        early, late = (f"{figure.values[side]:g}" for side in (EARLIER, LATER))
        return f"There are {early} {focus.table_words} up to {border}, against {late} after that year."
    early, late = (measure.say(figure.values[side]) for side in (EARLIER, LATER))
    return (
        f"The average {measure.name} is {early} up to {border} "
        f"({_say_count(figure, EARLIER, focus.table_words)}), against {late} after that year "
        f"({_say_count(figure, LATER, focus.table_words)})."
    )


def _say_part(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus = question.focus
    value, name = question.groups[int(figure.design.threshold)], focus.find(figure.design.measure).name
    rows = {str(row[0]): row for row in figure.rows}
    one, other = question.groups[:FIRST_VALUE]
    told = [
        f"{rows[group][4]} of the {figure.counts[group]} {words} ({figure.values[group]:.0%})"
        for group, words in ((one, focus.say_rows(one)), (other, focus.relation.format(other)))
    ]
    return f"The {name} is {value} for {told[0]}, against {told[1]}."


SAYINGS: Mapping[str, Callable[[FoundFigure, ControlledQuestion], str]] = {
    "mean": _say_groups, "median": _say_groups, GAP: _say_groups, MEDIAN_GAP: _say_groups,
    CORRELATED: _say_correlated, SLOPE: _say_slope, YEARLY: _say_slope, HALVES: _say_halves,
    PERIODS: _say_periods, PERIOD_COUNTS: _say_periods, PART: _say_part,
}  # fmt: skip
