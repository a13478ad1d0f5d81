"""Choose the items of a set: no shape too often, all kinds and skills in, few questions twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tasks.artifacts.rows import make_id
from tasks.tanq.rows import TanqItem


def choose_items(
    items: Sequence[TanqItem], most: int, share: float, seed: int, gaps: float = 1, plain: float = 1
) -> list[TanqItem]:
    """Choose at most `most` items, as many as there can be.

    share: of the chosen, how many may have one shape; gaps: how many may have an empty cell in their answer
    table; plain: how many may ask for no skill. Kinds with their skills take turns, within each tables
    without gaps and its shapes, and among a shape's items those come first whose seed question and extended
    question were not taken yet.
    """
    order = _group(items, seed)
    for number in range(min(most, len(items)), 0, -1):
        cap = int(share * number + 1e-9)
        chosen = (
            _fill(order, number, cap, int(gaps * number + 1e-9), int(plain * number + 1e-9)) if cap else []
        )
        if len(chosen) == number:
            return chosen
    return []


def has_gap(item: TanqItem) -> bool:
    """Tell whether a row of the answer table lacks a value."""
    return any(not cell.values for row in item.rows if row.filter_pass for cell in row.cells)


def _group(items: Iterable[TanqItem], seed: int) -> list[list[TanqItem]]:
    """Group items by kind and skills."""
    groups: defaultdict[tuple[str, tuple[str, ...]], list[TanqItem]] = defaultdict(list)
    for item in sorted(items, key=lambda item: make_id(seed, item.id)):
        groups[item.kind, tuple(use.name for use in item.skills)].append(item)
    return [groups[key] for key in sorted(groups, key=lambda key: make_id(seed, *key))]


def _fill(
    groups: Sequence[Sequence[TanqItem]], number: int, cap: int, gaps: int, plain: int
) -> list[TanqItem]:
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
                    and (gaps or not has_gap(item))
                    and (plain or item.skills)
                    and _is_fresh(item, fresh, seeds, asked)
                )
                item = min(free, key=lambda item: (has_gap(item), shapes[item.shape]), default=None)
                if item is None or len(chosen) == number:
                    continue
                chosen[item.id] = item
                gaps -= has_gap(item)
                plain -= not item.skills
                shapes[item.shape] += 1
                asked[item.ext_question] += 1
                seeds[item.init_qid] += 1
                added = True
    return sorted(chosen.values(), key=lambda item: item.id)


def _is_fresh(item: TanqItem, fresh: str, seeds: Counter[str], asked: Counter[str]) -> bool:
    if fresh == "seed":
        return not seeds[item.init_qid]
    return fresh != "question" or not asked[item.ext_question]
