"""Choose the items of a set: no shape too often, all kinds and skills in, few questions twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tasks.artifacts.rows import make_id
from tasks.tanq.rows import TanqItem


def choose_items(items: Sequence[TanqItem], most: int, share: float, seed: int) -> list[TanqItem]:
    """Choose at most `most` items, of one shape at most that share of them, as many as there can be.

    Kinds with their skills take turns, within each its shapes, and among a shape's items those come first
    whose seed question and extended question were not taken yet.
    """
    order = _group(items, seed)
    counts = Counter(item.shape for item in items).values()
    for number in range(min(most, len(items)), 0, -1):
        cap = int(share * number + 1e-9)
        if cap and sum(min(cap, count) for count in counts) >= number:
            return _fill(order, number, cap)
    return []


def _group(items: Iterable[TanqItem], seed: int) -> list[list[TanqItem]]:
    """Group items by kind and skills."""
    groups: defaultdict[tuple[str, tuple[str, ...]], list[TanqItem]] = defaultdict(list)
    for item in sorted(items, key=lambda item: make_id(seed, item.id)):
        groups[item.kind, tuple(use.name for use in item.skills)].append(item)
    return [groups[key] for key in sorted(groups, key=lambda key: make_id(seed, *key))]


def _fill(groups: Sequence[Sequence[TanqItem]], number: int, cap: int) -> list[TanqItem]:
    """Take an item of each group in turn until there are so many, those of the rarest shape first."""
    chosen: dict[str, TanqItem] = {}
    shapes: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    seeds: Counter[str] = Counter()
    for fresh in ("seed", "question", ""):
        added = True
        while added and len(chosen) < number:
            added = False
            for own in groups:
                free = (
                    item
                    for item in own
                    if item.id not in chosen
                    and shapes[item.shape] < cap
                    and _is_fresh(item, fresh, seeds, asked)
                )
                item = min(free, key=lambda item: shapes[item.shape], default=None)
                if item is None or len(chosen) == number:
                    continue
                chosen[item.id] = item
                shapes[item.shape] += 1
                asked[item.ext_question] += 1
                seeds[item.init_qid] += 1
                added = True
    return sorted(chosen.values(), key=lambda item: item.id)


def _is_fresh(item: TanqItem, fresh: str, seeds: Counter[str], asked: Counter[str]) -> bool:
    if fresh == "seed":
        return not seeds[item.init_qid]
    return fresh != "question" or not asked[item.ext_question]
