"""Write the sentences of reference answers: the figures that a question needs, and the conclusion.

Each sentence has several wordings of the same content. A model with constrained decoding chooses among these
wordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tasks.longform.build.analyses.outcomes import is_analysis
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.designs import BOTH, LEADER, MOST, OPEN, TYPICAL, WITHIN
from tasks.longform.build.evidence import YES, FoundFigure
from tasks.longform.build.findings.answers import say_found, say_head
from tasks.longform.build.findings.conclusions import conclude_analysis
from tasks.longform.build.words import join_words

Choices = tuple[str, ...]
"""The wordings of one sentence, the plainest first."""
Figures = Sequence[FoundFigure]
WORDS = {"mean": "average", "median": "median", "highest": "highest"}


def list_heads(question: ControlledQuestion) -> list[str]:
    """List the figures that the conjecture must guess, one line each, such as `Higher average runtime`."""
    if is_analysis(question.design):
        return [say_head(question, figure) for figure in question.figures]
    heads = []
    for figure in question.figures:
        name = question.focus.find(figure.measure).name
        within = f" among {question.asked.within}" if figure.over else ""
        if figure.kind == "share":
            one, other = question.groups
            heads.append(
                f"More than half of {question.focus.say_rows(one)} above the average {name} of "
                f"{question.focus.say_those(other)}"
            )
        else:
            what = f"highest {name}" if figure.kind == "highest" else f"{WORDS[figure.kind]} {name}"
            heads.append(f"Higher {what}{within}" if figure.kind != "highest" else f"With the {what}{within}")
    return heads


def say_figure(figure: FoundFigure, question: ControlledQuestion) -> Choices:
    """State a figure: the value of each group, with the group's number of rows."""
    if is_analysis(question.design):
        return (say_found(figure, question),)
    focus = question.focus
    measure = focus.find(figure.design.measure)
    if figure.design.kind == "share":
        return _say_share(figure, question)
    order = sorted(question.groups, key=lambda name: -figure.values[name])
    scope = f"Among {question.asked.within}, the" if figure.design.over else "The"
    scope += f" {WORDS[figure.design.kind]} {measure.name}"
    if len(set(figure.values.values())) == 1:
        value = measure.say(figure.values[order[0]])
        return (f"{scope} is the same, {value}, for {join_words([focus.say_rows(name) for name in order])}.",)
    said = [
        f"{measure.say(figure.values[name])} for "
        f"{(focus.say_those if place else focus.say_rows)(name)} ({_count(figure, name, question)})"
        for place, name in enumerate(order)
    ]
    first = f"{scope} is {said[0]}, against {join_words(said[1:])}."
    higher = f"{scope} is higher for {focus.say_rows(order[0])}: " + " against ".join(
        f"{measure.say(figure.values[name])} ({_count(figure, name, question)})" for name in order
    )
    return (first, f"{higher}.") if len(order) == 2 and figure.design.kind != "highest" else (first,)


def _count(figure: FoundFigure, name: str, question: ControlledQuestion) -> str:
    known, total = figure.counts[name], figure.totals[name]
    if known < total:
        return f"known for {known} of {total} {question.focus.table_words}"
    return f"{total} {question.focus.table_words}" if total != 1 else "one only"


def _say_share(figure: FoundFigure, question: ControlledQuestion) -> Choices:
    measure = question.focus.find(figure.design.measure)
    one, other = question.groups
    ((count, above, mean),) = figure.rows
    value = measure.say(float(str(mean)))
    are, exceed = ("is", "exceeds") if above == 1 else ("are", "exceed")
    return (
        f"Of the {count} {question.focus.say_rows(one)} with a known {measure.name}, {above} "
        f"{are} above {value}, the average of {question.focus.say_those(other)}.",
        f"{above} of the {count} {question.focus.say_rows(one)} {exceed} {value}, the average {measure.name} "
        f"of {question.focus.say_those(other)}.",
    )


def conclude_figures(figures: Figures, question: ControlledQuestion) -> Choices:
    """State the conclusion: yes or no for a definite question, else the groups that the figures favour."""
    if is_analysis(question.design):
        return conclude_analysis(figures, question)
    return CONCLUSIONS[question.design](figures, question)


def _name(figure: FoundFigure, question: ControlledQuestion) -> str:
    name = question.focus.find(figure.design.measure).name
    return f"{WORDS[figure.design.kind]} {name}"


def _conclude_both(figures: Figures, question: ControlledQuestion) -> Choices:
    first, _ = question.groups
    names = [_name(figure, question) for figure in figures]
    won = [name for name, figure in zip(names, figures, strict=True) if figure.is_ahead(first)]
    if len(won) == len(figures):
        return (f"Yes, in both {join_words(names)}.", "Yes, by both figures.")
    if not won:
        return ("No, in neither.", f"No, neither in {' nor in '.join(names)}.")
    return (f"No, only in {won[0]}.", f"No, in {won[0]} alone.")


def _conclude_leader(figures: Figures, question: ControlledQuestion) -> Choices:
    names = [_name(figure, question) for figure in figures]
    if tied := [name for name, figure in zip(names, figures, strict=True) if not figure.ahead]:
        return (f"No: no single {question.focus.group_words} has the highest {tied[0]}.",)
    leaders = [figure.ahead for figure in figures]
    if len(set(leaders)) == 1:
        return (f"Yes: {leaders[0]} has both.", f"Yes, and it is {leaders[0]}.")
    pairs = zip(names, leaders, strict=True)
    return (
        f"No: the highest {' and the highest '.join(f'{name} is that of {top}' for name, top in pairs)}.",
    )


def _conclude_within(figures: Figures, question: ControlledQuestion) -> Choices:
    first = question.groups[0]
    overall, within = (figure.is_ahead(first) for figure in figures)
    some = question.asked.within
    if overall and within:
        return ("Yes, in both cases.", f"Yes, overall and among {some}.")
    if overall:
        return (f"No: overall they do, but not among {some}.",)
    if within:
        return (f"No: they do so among {some}, but not overall.",)
    return (f"No, neither overall nor among {some}.",)


def _conclude_most(figures: Figures, question: ControlledQuestion) -> Choices:
    yes = figures[1].ahead == YES
    return ("Yes, most of them do.", "Yes.") if yes else ("No, not most of them.", "No.")


def _conclude_typical(figures: Figures, question: ControlledQuestion) -> Choices:
    mean, middle = (figure.is_ahead(question.groups[0]) for figure in figures)
    if mean and middle:
        return ("Yes, by both.", "Yes, on average and by the median.")
    if mean:
        return ("No: on average they do, by the median they do not.",)
    if middle:
        return ("No: by the median they do, on average they do not.",)
    return ("No, by neither.", "No, neither on average nor by the median.")


def _conclude_open(figures: Figures, question: ControlledQuestion) -> Choices:
    quality, focus = question.quality, question.focus
    if quality is None:
        raise AssertionError("an open question has a quality")
    rising = dict(zip(quality.measures, quality.rising, strict=True))
    for_whom: dict[str, list[str]] = {group: [] for group in question.groups}
    for figure in figures:
        if figure.ahead:
            behind = next(group for group in question.groups if group != figure.ahead)
            for_whom[figure.ahead if rising[figure.design.measure] else behind].append(
                _name(figure, question)
            )
    sides = [(group, names) for group, names in for_whom.items() if names]
    if not sides:
        return ("By these figures neither, for they are the same.",)
    if len(sides) == 1:
        ((group, names),) = sides
        return (
            f"By all of these figures, {focus.say_those(group)} {quality.words}."
            if len(names) == len(figures)
            else f"By {join_words(names)}, {focus.say_those(group)} {quality.words}.",
        )
    (one, ones), (other, others) = sides
    return (
        f"So it depends on what counts: {join_words(ones)} {_speak(ones)} for {focus.say_those(one)}, "
        f"{join_words(others)} for {focus.say_those(other)}.",
        f"Which of them {quality.words} turns on the figure: {focus.say_those(one)} by {join_words(ones)}, "
        f"{focus.say_those(other)} by {join_words(others)}.",
    )


def _speak(names: Sequence[str]) -> str:
    return "speak" if len(names) > 1 else "speaks"


CONCLUSIONS: Mapping[str, Callable[[Figures, ControlledQuestion], Choices]] = {
    OPEN: _conclude_open, BOTH: _conclude_both, LEADER: _conclude_leader, WITHIN: _conclude_within,
    MOST: _conclude_most, TYPICAL: _conclude_typical,
}  # fmt: skip
"""Map each design to the function that states the conclusion from its figures."""
