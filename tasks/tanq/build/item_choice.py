"""Choose the items of a set: no shape too often, all kinds and skills in, few questions twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tasks.artifacts.rows import make_id
from tasks.tanq.rows import TanqItem


def choose_items(items: Sequence[TanqItem], most: int, share: float, seed: int) -> list[TanqItem]:
    """Choose at most `most` items, of one shape at most that share of them, as many as there can be.

    Shapes take turns, and among a shape's items those come first whose seed question and extended question
    were not taken yet.
    """
    order = _take_turns(items, seed)
    counts = Counter(item.shape for item in items).values()
    for number in range(min(most, len(items)), 0, -1):
        cap = int(share * number + 1e-9)
        if cap and sum(min(cap, count) for count in counts) >= number:
            return _fill(order, number, cap)
    return []


def _take_turns(items: Iterable[TanqItem], seed: int) -> list[list[TanqItem]]:
    """Group items by shape; shapes of different kinds and skills follow each other."""
    shapes: defaultdict[str, list[TanqItem]] = defaultdict(list)
    for item in sorted(items, key=lambda item: make_id(seed, item.id)):
        shapes[item.shape].append(item)
    groups: defaultdict[tuple[str, tuple[str, ...]], list[list[TanqItem]]] = defaultdict(list)
    for shape in sorted(shapes, key=lambda shape: make_id(seed, shape)):
        first = shapes[shape][0]
        groups[first.kind, tuple(use.name for use in first.skills)].append(shapes[shape])
    turns = [
        (place, make_id(seed, *group), own)
        for group, several in groups.items()
        for place, own in enumerate(several)
    ]
    return [own for _, _, own in sorted(turns, key=lambda turn: turn[:2])]


def _fill(order: Sequence[Sequence[TanqItem]], number: int, cap: int) -> list[TanqItem]:
    """Take items shape by shape until there are so many; first those of seeds that were not taken."""
    chosen: dict[str, TanqItem] = {}
    shapes: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    seeds: Counter[str] = Counter()
    for fresh in ("seed", "question", ""):
        added = True
        while added and len(chosen) < number:
            added = False
            for own in order:
                item = next(
                    (one for one in own if one.id not in chosen and _is_fresh(one, fresh, seeds, asked)), None
                )
                if item is None or shapes[item.shape] == cap or len(chosen) == number:
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
