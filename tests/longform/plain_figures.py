"""Compute the figures of a scripted evaluation by loops over the script, without code of `tasks/`."""

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr, rankdata, spearmanr

from tests.longform.evaluation_script import KIND, LARGE, RATERS, Play
from tests.longform.scripted_evaluation import LIMITS

LEVEL = {"1": "low", "2": "low", "3": "low", "4": "medium", "5": "high"}
LEAST = 6
"""Minimum number of items for an interval."""
Z = NormalDist().inv_cdf(0.975)


def read_line(table: Any, *label: str) -> dict[str, Any]:
    (line,) = [line for line in table["lines"] if line["label"] == list(label)]
    return dict(zip(table["columns"], line["cells"], strict=True))


def list_labels(table: Any) -> list[list[str]]:
    return [line["label"] for line in table["lines"]]


def choose(
    plays: Iterable[Play], model: str, agent: str, kind: str = "all", but: Sequence[str] = ()
) -> list[Play]:
    return [
        play
        for play in plays
        if (play.model, play.agent) == (model, agent)
        and kind in ("all", KIND[play.item])
        and play.item not in but
    ]


def check(cell: Any, values: Sequence[float | bool | None]) -> None:
    """Check a mean, and that it has no interval."""
    check_value(cell, values)
    assert cell["interval"] is None


def check_value(cell: Any, values: Sequence[float | bool | None]) -> None:
    """Check a mean over known values, and the numbers of known and unknown values."""
    known = [value for value in values if value is not None]
    assert (cell["n"], cell["failed"]) == (len(known), len(values) - len(known))
    if known:
        assert cell["value"] == pytest.approx(sum(known) / len(known), rel=1e-8)
        assert cell["interval"] is None or not cell["why"]
    else:
        assert cell["value"] is None
        assert cell["why"]


def check_rate(cell: Any, values: Sequence[float | bool | None]) -> None:
    """Check a share with Wilson's interval."""
    check_value(cell, values)
    known = [value for value in values if value is not None]
    if not known:
        assert cell["interval"] is None
        return
    if len(known) < LEAST:
        assert (cell["interval"], cell["why"][:12]) == (None, "fewer than 6")
        return
    n, share = len(known), sum(known) / len(known)
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    assert cell["interval"] == pytest.approx([middle - half, middle + half], abs=1e-8)


def check_scores(cell: Any, values: Sequence[float | None]) -> None:
    """Check a mean score and its bootstrap interval, whose bounds depend little on the samples."""
    check_value(cell, values)
    known = np.array([value for value in values if value is not None])
    if len(known) < LEAST or len(set(known)) == 1:
        assert cell["interval"] is None
        return
    draws = np.random.default_rng(3).choice(known, (20_000, len(known))).mean(axis=1)
    assert cell["interval"] == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.13)


def tell_quality(play: Play) -> float | None:
    if not play.answered or play.grade == "?":
        return None
    return (
        {"Match": 1.0, "Not Match": 0.0}[play.grade] if KIND[play.item] == "conclusive" else float(play.grade)
    )


def check_quality(match: Any, score: Any, plays: Sequence[Play]) -> None:
    check_rate(match, [tell_quality(play) for play in plays if KIND[play.item] == "conclusive"])
    check_scores(score, [tell_quality(play) for play in plays if KIND[play.item] == "interpretive"])


def read_letters(letters: str) -> list[bool | None]:
    return [{"P": True, "I": False, "?": None}[letter] for letter in letters]


def take_majority(verdicts: Sequence[bool | None]) -> bool | None:
    """Return the majority: a tie is Imperfect; with fewer than half of the verdicts, None."""
    known = [verdict for verdict in verdicts if verdict is not None]
    return None if not known or len(known) < len(verdicts) / 2 else sum(known) > len(known) / 2


def tell_unanimous(verdicts: Sequence[bool | None]) -> bool | None:
    known = [verdict for verdict in verdicts if verdict is not None]
    return None if len(known) < 2 or len(known) < len(verdicts) / 2 else len(set(known)) == 1


def list_reviews(play: Play, step: str) -> list[bool | None]:
    letters = read_letters(play.steps[step].reviewers)
    return letters if play.reviewed else [None] * len(letters)


def list_metas(play: Play, step: str) -> list[bool | None]:
    letters = read_letters(play.steps[step].metas)
    return letters if any(v is not None for v in list_reviews(play, step)) else [None] * len(letters)


def tell_revised(play: Play, step: str) -> bool | None:
    """Return the revised verdict: unanimous praise is not revised; None without a majority."""
    metas = list_metas(play, step)
    if take_majority(metas) is None:
        return None
    if False not in metas:
        return True
    return read_letters(play.steps[step].revision)[0]


def tell_all(steps: Iterable[bool | None]) -> bool | None:
    listed = list(steps)
    return None if None in listed else all(listed)


def count_calls(play: Play) -> int:
    """Return the number of calls: plan, queries and answer; one per round, up to three rounds."""
    if play.agent == "iterative":
        return min(len(play.queries) + 1, LIMITS.rounds) + 1
    return 3 if play.agent == "sequential" else int((play.agent, play.item) != ("none", LARGE))


def compute_statistics(request: str, records: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Compute the requested statistic of (id, seats) records."""
    ids, seats = zip(*records, strict=True)
    if request.startswith("pearson"):
        return {"r": pearsonr(ids, seats).statistic}
    if request.startswith("spearman"):
        return {"rho": spearmanr(ids, seats).statistic}
    if request.startswith("regression"):
        line = linregress(ids, seats)
        return {"slope": line.slope, "intercept": line.intercept, "r2": line.rvalue**2}
    low, high = np.quantile(seats, [0.25, 0.9])
    return {"q0.25": low, "q0.9": high}


def tell_value(label: str) -> float:
    return (
        {"Match": 1.0, "Not Match": 0.0, "P": 1.0, "I": 0.0}[label] if not label.isdigit() else float(label)
    )


def check_people(cells: Any, people: Sequence[Sequence[str]], judged: Sequence[str | None]) -> None:
    means = [fmean(tell_value(labels[rater]) for labels in people) for rater in range(RATERS)]
    assert cells["people, mean"]["value"] == pytest.approx(fmean(means), rel=1e-8)
    assert cells["people, mean"]["n"] == RATERS * len(people)
    by_row = np.array([fmean(map(tell_value, labels)) for labels in people])
    drawn = np.random.default_rng(5).choice(by_row, (20_000, len(by_row))).mean(axis=1)
    scores = people[0][0].isdigit()
    reach = (4 if scores else 1) / (RATERS * len(people))
    if len(people) < LEAST or len(set(by_row)) == 1:
        assert cells["people, mean"]["interval"] is None
    else:
        assert cells["people, mean"]["interval"] == pytest.approx(find_middle(drawn), abs=1.5 * reach)
    verdicts = [None if label is None else tell_value(label) for label in judged]
    (check_scores if scores else check_rate)(cells["judge, mean"], verdicts)
    levels = [[LEVEL.get(label, label) for label in labels] for labels in people]
    pairs, failed = [], 0
    for labels, label in zip(levels, judged, strict=True):
        most = [label for label in set(labels) if labels.count(label) >= 2]  # of three labels
        if label is None or not most:
            failed += 1
        else:
            pairs.append((most[0], LEVEL.get(label, label)))
    check_rate(cells["agreement"], [pair == other for pair, other in pairs] + [None] * failed)
    check_undefined(cells["Cohen's kappa"], compute_kappa, pairs)
    check_undefined(cells["alpha among people"], compute_alpha, levels)


def find_middle(drawn: Any) -> list[float]:
    """Return the bounds of the middle 95%."""
    return [float(end) for end in np.quantile(drawn, [0.025, 0.975])]


def check_undefined(cell: Any, compute: Callable[[Any], float | None], rows: Sequence[Any]) -> None:
    """Check a coefficient that may be undefined, and its bootstrap interval over rows."""
    value = compute(rows)
    assert cell["n"] == len(rows)
    assert cell["value"] == (None if value is None else pytest.approx(value, abs=1e-8))
    places = np.random.default_rng(7).integers(0, len(rows), (1000, len(rows)))
    drawn = [one for draw in places if (one := compute([rows[place] for place in draw])) is not None]
    if value is None or len(rows) < LEAST or len(set(drawn)) == 1:
        assert cell["interval"] is None
        assert cell["why"]
    else:
        assert cell["why"] == ""
        assert cell["interval"] == pytest.approx(find_middle(drawn), abs=0.12)


def compute_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(pair == other for pair, other in pairs) / n
    firsts, seconds = [pair for pair, _ in pairs], [other for _, other in pairs]
    chance = sum(firsts.count(label) * seconds.count(label) for label in {*firsts, *seconds}) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def compute_alpha(items: Sequence[Sequence[str]]) -> float | None:
    """Return Krippendorff's alpha for nominal labels; each item has the same number of raters."""
    every = [label for labels in items for label in labels]
    n = len(every)
    observed = sum(
        sum(label != other for label in labels for other in labels) / (len(labels) - 1) for labels in items
    )
    expected = sum(value != other for value in every for other in every) / (n - 1)
    return None if not expected else 1 - observed / expected


def differs_in_reverse(play: Play, step: str) -> bool:
    """Return whether reviews that differ only by verdict have another order in reverse."""
    given = [verdict for verdict in list_reviews(play, step) if verdict is not None]
    return given != given[::-1]


def draw_correlations(by_item: Sequence[Sequence[tuple[int, float]]], draws: int = 4000) -> Any:
    """Bootstrap items with all their points; return both coefficients of each sample."""
    found = []
    for draw in np.random.default_rng(11).integers(0, len(by_item), (draws, len(by_item))):
        x, y = np.array([point for place in draw for point in by_item[place]]).T
        found.append((np.corrcoef(x, y)[0, 1], np.corrcoef(rankdata(x), rankdata(y))[0, 1]))
    return np.array(found)
