"""Sample items with a seed, balanced across strata; the sample is the same on every machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from tasks.artifacts.rows import make_id

Drawn = TypeVar("Drawn")


def order_by_seed(
    entries: Iterable[Drawn], seed: int, name_entry: Callable[[Drawn], str], salt: str
) -> list[Drawn]:
    """Return the entries in pseudo-random order: sorted by a hash of salt, seed and entry name."""
    return sorted(entries, key=lambda entry: (make_id(salt, seed, name_entry(entry)), name_entry(entry)))


def draw_evenly(
    entries: Iterable[Drawn],
    take: int | None,
    seed: int,
    name_entry: Callable[[Drawn], str],
    name_stratum: Callable[[Drawn], str] = lambda entry: "",
) -> list[Drawn]:
    """Return `take` entries (None: all), sampled with a seed; counts per stratum differ by at most one.

    If a stratum has too few entries, the missing entries are sampled from the other strata. The result is
    shorter than `take` if there are not enough entries.
    """
    strata: defaultdict[str, list[Drawn]] = defaultdict(list)
    for entry in entries:
        strata[name_stratum(entry)].append(entry)
    waiting = [
        order_by_seed(members, seed, name_entry, "drawn")
        for _, members in order_by_seed(strata.items(), seed, lambda pair: pair[0], "stratum")
    ]
    drawn: list[Drawn] = []
    place = 0
    while waiting and (take is None or len(drawn) < take):
        waiting = [stratum for stratum in waiting if len(stratum) > place]
        drawn += [stratum[place] for stratum in waiting]
        place += 1
    return drawn if take is None else drawn[:take]
