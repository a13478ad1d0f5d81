"""Convert scores to feedback; the feedback bit agrees with `benchloom score` for the same record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.errors import BadInput
from tasks.scoring.items import BadItem
from tasks.scoring.metric import Metric, Score
from tasks.scoring.outcome import Outcome
from tasks.streambench.environment import Feedback


def make_feedback(
    metric: Metric[Any], rule: str, item: Any, score: Score, primary: str, words: Mapping[bool, str]
) -> Feedback:
    """Return the feedback for an item's score; without a verdict, the feedback bit is False.

    words: the text for each feedback bit.
    """
    accumulator = metric.make_accumulator(rule)
    accumulator.add(item, score)
    values = {
        name: float(value) if isinstance(value, int | float) else None
        for name, value in next(iter(accumulator.item_values())).items()
    }
    if score.state != "scored":
        return make_unjudged(score.outcome or "no verdict", words, values)
    bit = score.values.get(primary) == 1
    outcome = Outcome.read(score.outcome) if score.outcome else Outcome.CORRECT if bit else Outcome.WRONG
    return Feedback(bit, outcome, words[bit], values)


def make_unjudged(
    problem: str, words: Mapping[bool, str], values: Mapping[str, float | None] | None = None
) -> Feedback:
    """Return the feedback for an answer that cannot be scored."""
    return Feedback(False, Outcome.UNJUDGED, words[False], values or {}, problem)


def score_record(
    metric: Metric[Any], rule: str, record: dict[str, Any], primary: str, words: Mapping[bool, str]
) -> Feedback:
    """Score a record in the same way as `benchloom score`; an invalid record is unjudged."""
    try:
        item = metric.read(record)
    except BadItem as error:
        return make_unjudged(str(error), words)
    return make_feedback(metric, rule, item, metric.score_item(item, rule), primary, words)


def read_options(kind: str, given: Mapping[str, object], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return an environment's options: the defaults, overridden by the given options.

    Raises BadInput if an option is unknown, or if its type differs from the default's type.
    """
    where = "streambench.streams: options"
    options = dict(known)
    for name, value in given.items():
        if name not in known:
            there = ", ".join(known) or "none"
            raise BadInput(where, f"{name} is not an option of {kind}", hint=f"known: {there}")
        default = known[name]
        wanted = (int, float) if isinstance(default, float) else type(default)
        if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(default, bool)):
            raise BadInput(where, f"{name} is {value!r}; expected {type(default).__name__}")
        options[name] = value
    return options


def choose_rule(kind: str, given: str, rules: tuple[str, ...]) -> str:
    """Return the given rule, or the first rule if `given` is empty. Raises BadInput for an unknown rule."""
    if not given:
        return rules[0] if rules else ""
    if given not in rules:
        there = ", ".join(rules) or "only one rule exists"
        raise BadInput("streambench.streams: rule", f"{kind} has no rule {given}", hint=there)
    return given
