"""Measure a judge's reliability: agreement with people, canaries, unscored rows and warnings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from tasks.judging.canaries import CanaryHealth
from tasks.judging.human_labels import HumanLabel
from tasks.scoring.agreement import Agreement, RatingSample
from tasks.scoring.statistics import Interval, bootstrap, settle_interval
from tasks.settings import Settings

ITEMS = "items"
NAMED = 5
"""Maximum number of canaries that a warning names."""


class TrustThresholds(Settings):
    """Thresholds beyond which a report shows a warning."""

    canary_agreement: float = Field(default=0.9, ge=0, le=1)
    """Minimum fraction of canaries (test cases with a known verdict) that the judge gets right."""
    human_agreement: float = Field(default=0.8, ge=0, le=1)
    """Minimum fraction of the judge's labels that agree with people's labels."""
    # 0.667 is the lowest alpha that Krippendorff (2004) accepts for tentative conclusions.
    human_alpha: float = Field(default=0.667, ge=0, le=1)
    """Minimum Krippendorff's alpha (ordinal) between the judge's scores and people's scores."""
    unscored_share: float = Field(default=0.05, ge=0, le=1)
    """Maximum share of answers without a readable verdict."""
    judge_repeats: float = Field(default=0.8, ge=0, le=1)
    """Minimum share of verdicts that stay the same when the judge is asked again."""


@dataclass(frozen=True)
class HumanAgreement:
    """Agreement of a judge's labels with people's labels."""

    n_items: int
    """Number of items that people labelled."""
    n_unsettled: int
    """Number of items without a majority label, which are left out of the comparison."""
    n_unscored: int
    """Number of items with a majority label for which the judge has no verdict."""
    n: int
    """Number of items compared."""
    agreement: float | None
    """Share of the compared items with the same label from the judge and from people, from 0 to 1.

    `low`, `high`: the 95% interval of this share.
    """
    low: float | None
    high: float | None
    kappa: float | None
    """Cohen's kappa between the judge and people's majority label; None if undefined."""
    raters_alpha: float | None
    """Krippendorff's alpha (nominal) among people; None if each item has only one rater."""
    kappa_interval: Interval | None = None
    """The 95% interval of kappa; None if it is undefined."""
    raters_alpha_interval: Interval | None = None
    n_rated: int = 0
    """Number of items that several people labelled; `raters_alpha` is computed over these items."""


@dataclass(frozen=True)
class HumanAlpha:
    """Agreement of a judge's scores with people's scores: Krippendorff's alpha (ordinal), at most 1."""

    n: int
    """Number of answers that both the judge and people scored."""
    alpha: float | None
    low: float | None
    high: float | None
    of: str = ""
    """Name of the system whose answers were scored; empty if there is only one system."""


def find_majority_labels(labels: Iterable[HumanLabel]) -> dict[str, str | None]:
    """Map each item to the majority label of its raters; None for a tie."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for label in labels:
        votes[label.id][label.label] += 1
    majority: dict[str, str | None] = {}
    for item in sorted(votes):
        ranked = votes[item].most_common(2)
        tie = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        majority[item] = None if tie else ranked[0][0]
    return majority


def measure_agreement(
    verdicts: Mapping[str, str | None],
    labels: Sequence[HumanLabel],
    *,
    draws: int = 10_000,
    seed: int = 0,
) -> HumanAgreement:
    """Compare a judge's verdicts (item -> label, None if unscored) with people's majority labels.

    draws, seed: the number of samples and the seed of the bootstrap over items for the intervals.
    """
    majority = find_majority_labels(labels)
    known = {item: label for item, label in majority.items() if label is not None}
    pairs = [(label, verdict) for item, label in known.items() if (verdict := verdicts.get(item)) is not None]
    sample = _sample(pairs)
    figures = _compute_figures(sample)
    drawn = bootstrap(sample, draws, seed)
    agreement, kappa = figures.get("unanimous"), figures.get("kappa")
    interval, _ = settle_interval(drawn.get("unanimous"), len(pairs), ITEMS, agreement)
    kappa_interval, _ = settle_interval(drawn.get("kappa"), len(pairs), ITEMS)
    raters = _sample_raters(labels)
    n_rated = int(raters.counts.sum())
    raters_alpha = _compute_figures(raters).get("krippendorff")
    alpha_interval, _ = settle_interval(bootstrap(raters, draws, seed).get("krippendorff"), n_rated, ITEMS)
    return HumanAgreement(
        n_items=len(majority),
        n_unsettled=len(majority) - len(known),
        n_unscored=len(known) - len(pairs),
        n=len(pairs),
        agreement=agreement,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        kappa=kappa,
        raters_alpha=raters_alpha,
        kappa_interval=None if kappa is None else kappa_interval,
        raters_alpha_interval=None if raters_alpha is None else alpha_interval,
        n_rated=n_rated,
    )


def find_warnings(
    thresholds: TrustThresholds,
    *,
    n: int,
    n_unscored: int,
    canaries: CanaryHealth | None = None,
    further: CanaryHealth | None = None,
    human: HumanAgreement | None = None,
) -> tuple[str, ...]:
    """Return the warnings for the top of a report; empty if the judge is within all thresholds.

    - n, n_unscored: number of judged rows, and number of rows without a verdict.
    - further: the second set of canaries; None causes no warning.
    - human: the agreement with people; None causes no warning.
    - canaries: the first set of canaries; None causes a warning, because every evaluation needs this set.
    """
    warnings = [
        _warn_canaries(thresholds.canary_agreement, canaries),
        ""
        if further is None
        else _warn_canaries(thresholds.canary_agreement, further, "held-out test cases"),
        "" if human is None else _warn_human(thresholds.human_agreement, human),
        _warn_unscored(thresholds.unscored_share, n, n_unscored),
    ]
    return tuple(warning for warning in warnings if warning)


def _warn_canaries(least: float, health: CanaryHealth | None, what: str = "test cases") -> str:
    if health is None or not health.n:
        return "The judge was not tested on cases with known verdicts, so its reliability is unknown."
    if health.agreement is None:
        return f"The judge gave no readable verdict on {health.n} {what}. The figures below are unreliable."
    unread = f", {health.n_failed} more got no readable verdict" if health.n_failed else ""
    # Unreadable replies have the same limit as wrong verdicts.
    if health.agreement >= least and health.n_failed <= (1 - least) * health.n:
        return ""
    ruled = (
        f" A rule decided {health.n_ruled} of the cases. Without the rule, the judge got "
        f"{health.judge_right} of {health.n} right."
    )
    further = len(health.wrong) - NAMED
    named = ", ".join(health.wrong[:NAMED]) + (f" and {further} more" if further > 0 else "")
    return (
        f"The judge got {health.n_scored - len(health.wrong)} of {health.n_scored} {what} right{unread} "
        f"({_percent(least)} required). The figures below are unreliable, so read the judge's verdicts "
        "first."
        f"{ruled if health.n_ruled else ''}{f' Wrong: {named}.' if named else ''}"
    )


def _warn_human(least: float, human: HumanAgreement) -> str:
    if not human.n_items:
        return "The file with people's labels does not contain a label for any answer of this run."
    if human.agreement is None:
        return f"None of the {human.n_items} items that people labelled has a verdict to compare."
    if human.agreement >= least:
        return ""
    return (
        f"The judge agrees with people on {_percent(human.agreement)} of {human.n} items "
        f"({_tell_interval(human.low, human.high, _percent)}{_percent(least)} required)."
    )


def warn_human_alpha(thresholds: TrustThresholds, human: HumanAlpha) -> str:
    """Return a warning if the judge's alpha is below the threshold, otherwise an empty string.

    An undefined alpha, for example because all scores are equal, also causes a warning.
    """
    of = f" of {human.of}" if human.of else ""
    if human.alpha is None:
        return (
            f"The agreement between the judge and people on {human.n} rated answers{of} cannot be computed."
        )
    if human.alpha >= thresholds.human_alpha:
        return ""
    return (
        f"The judge's agreement with people on {human.n} answers{of} is {human.alpha:.2f} by "
        "Krippendorff's ordinal alpha "
        f"({_tell_interval(human.low, human.high, '{:.2f}'.format)}{thresholds.human_alpha:g} required)."
    )


def _tell_interval(low: float | None, high: float | None, write: Callable[[float], str]) -> str:
    return "" if low is None or high is None else f"95% interval {write(low)} to {write(high)}, "


def _warn_unscored(most: float, n: int, n_unscored: int) -> str:
    if not n:
        return "No row was judged."
    if n_unscored / n <= most:
        return ""
    return (
        f"{n_unscored} of {n} rows are unscored ({_percent(n_unscored / n)}; at most {_percent(most)} are "
        "allowed). The figures below leave out these rows and may be biased."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _sample_raters(labels: Sequence[HumanLabel]) -> RatingSample:
    by_item: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(labels, key=lambda label: (label.id, label.rater)):
        by_item[label.id].append(label.label)
    return _sample(by_item.values())


def _sample(items: Iterable[Sequence[str]]) -> RatingSample:
    metric = Agreement(level="nominal")
    accumulator = metric.make_accumulator("")
    for item in items:
        accumulator.add(tuple(item), metric.score_item(tuple(item), ""))
    return accumulator.sample()


def _compute_figures(sample: RatingSample) -> dict[str, float | None]:
    if not len(sample.counts):
        return {}
    figures = sample.figures(sample.counts.astype(np.float64)[np.newaxis, :])
    return {name: None if np.isnan(value[0]) else float(value[0]) for name, value in figures.items()}
