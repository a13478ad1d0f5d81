"""Find the module that causes the most wrong answers, across all criteria.

The paper determines which module causes a difference between phrasings. If errors do not depend on the
phrasing, the paper's method names no module. The functions in this file do not compare phrasings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.grammar.assess.contrast import ALPHA, NONE_SHOWN
from tasks.grammar.assess.judged import MODEL, MODULES, SUFFICIENCY, TEMPLATES, TaggedRow
from tasks.scoring.metric import FloatArray, count_kinds
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import (
    LEAST,
    draw_weights,
    explain_missing,
    find_interval,
    number_clusters,
    settle_interval,
)

NOT_TOLD = "not told"
LEAST_SHARE = 0.1
"""A module is named only if its wrong answers are at least this share of all answers. The lower bound of the
share's 95% interval must reach LEAST_SHARE."""


@dataclass(frozen=True)
class ModuleLoss:
    """The number and share of answers that are wrong because of one module.

    `share` is a share of `n` rows from `clusters` clusters, 0 to 1. `low` and `high` are the bounds of the
    share's 95% interval, or None if there is no interval (see `settle_interval`).
    """

    module: str
    wrong: int
    share: float
    low: float | None
    high: float | None
    n: int
    clusters: int


@dataclass(frozen=True)
class Losses:
    """The wrong answers in a set, by module.

    - `module` is None if the module is unknown for all wrong rows, and NONE_SHOWN if no module meets both
      conditions of `find_losses`.
    - `n` is the number of scored rows, and `wrong` the number of wrong rows.
    - `parts` is sorted by the number of wrong rows, largest first. The last part is NOT_TOLD if the module is
      unknown for some wrong rows.
    - `of_enough` is the number and share of rows that are wrong because of the model, among the rows with
      sufficient retrieved documents. `of_enough` is None if no row has sufficient documents.
    """

    module: str | None
    why: str
    n: int
    wrong: int
    parts: tuple[ModuleLoss, ...]
    of_enough: ModuleLoss | None = None


def find_losses(rows: Sequence[TaggedRow], intervals: Bootstrap) -> Losses:
    """Attribute wrong rows to modules by sufficiency, with bootstrap intervals over whole SQL templates.

    `rows` contains the scored rows of one set. A module is named if it meets two conditions:

    - The module's share exceeds every other module's share in 97.5% of the bootstrap samples, even if all
      wrong rows with an unknown module are attributed to the other module.
    - The lower bound of the interval of the module's share is at least LEAST_SHARE.

    If a share is 0 or 1, the bootstrap interval has no width, and a Wilson interval over the templates
    replaces it.
    """
    wrong = [row for row in rows if not row.correct]
    found = [None if row.correct else row.find_module(SUFFICIENCY) or NOT_TOLD for row in rows]
    if not rows or (wrong and not {*found} & {*MODULES}):
        why = "it is not known whether the retrieved documents are sufficient"
        if not any(row.retrieves for row in rows):
            why = "the system retrieves no documents, or does not return them"
        return Losses(None, why, len(rows), len(wrong), ())
    names = (*MODULES, *([NOT_TOLD] if NOT_TOLD in found else []))
    marks = np.array([[module == name for name in names] for module in found], dtype=np.float64)
    drawn, clusters = _draw_shares(rows, marks, intervals)
    parts = sorted(
        (_measure_loss(name, marks[:, place], drawn[:, place], clusters) for place, name in enumerate(names)),
        key=lambda part: (part.module == NOT_TOLD, -part.wrong),
    )
    module, why = _name_module(parts, names, drawn, clusters)
    enough = [row for row in rows if row.retrieves and row.judged.enough]
    of_enough = _lose_of_enough(enough, intervals)
    return Losses(module, why, len(rows), len(wrong), tuple(parts), of_enough)


def _lose_of_enough(rows: Sequence[TaggedRow], intervals: Bootstrap) -> ModuleLoss | None:
    """Return the number and share of rows that are wrong because of the model; None if `rows` is empty.

    `rows` contains the rows with sufficient retrieved documents.
    """
    if not rows:
        return None
    marks = np.array([[row.find_module(SUFFICIENCY) == MODEL] for row in rows], dtype=np.float64)
    drawn, clusters = _draw_shares(rows, marks, intervals)
    return _measure_loss(MODEL, marks[:, 0], drawn[:, 0], clusters)


def _draw_shares(
    rows: Sequence[TaggedRow], marks: FloatArray, intervals: Bootstrap
) -> tuple[FloatArray, int]:
    """Return the bootstrapped shares, with shape (samples, modules), and the number of clusters."""
    cluster = number_clusters(row.judged.cluster for row in rows)
    columns = [np.bincount(cluster, weights=column) for column in (np.ones(len(rows)), *marks.T)]
    kinds, counts = count_kinds(np.column_stack(columns))
    drawing = draw_weights(counts, intervals.draws, np.random.default_rng(intervals.seed))
    sums = np.concatenate([weights @ kinds for weights in drawing])
    return sums[:, 1:] / sums[:, :1], int(counts.sum())


def _measure_loss(name: str, marks: FloatArray, drawn: FloatArray, clusters: int) -> ModuleLoss:
    share = float(marks.mean())
    low, high = settle_interval(find_interval(drawn), clusters, TEMPLATES, share)[0] or (None, None)
    return ModuleLoss(name, int(marks.sum()), share, low, high, len(marks), clusters)


def _name_module(
    parts: Sequence[ModuleLoss], names: Sequence[str], drawn: FloatArray, clusters: int
) -> tuple[str, str]:
    first = parts[0]
    place = list(names).index(first.module)
    others = np.delete(drawn[:, : len(MODULES)], place, axis=1).max(axis=1)
    lead = drawn[:, place] - others - drawn[:, len(MODULES) :].sum(axis=1)
    if clusters < LEAST:
        return NONE_SHOWN, f"too few SQL templates ({clusters}) to compare modules"
    if first.low is None or first.high is None:
        return NONE_SHOWN, explain_missing(clusters, TEMPLATES)
    told = f"the module “{first.module}” is at fault for {first.low:.0%} to {first.high:.0%} of all answers"
    if first.low < LEAST_SHARE:
        return (
            NONE_SHOWN,
            f"no module is at fault for significantly more than {LEAST_SHARE:.0%} of all answers",
        )
    if np.quantile(lead, ALPHA / 2) <= 0:
        return NONE_SHOWN, (
            f"the modules “{first.module}” and “{parts[1].module}” do not differ significantly in the "
            "number of wrong answers"
        )
    return first.module, f"{told} (95% interval), more than any other module"
