"""Choose other questions of the set as few-shot examples in a prompt (TANQ, sections 4 and 5.4, Table 15)."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.artifacts.rows import make_id
from tasks.tanq.build.tanq_item import TanqItem

RANDOM, CHOSEN = "random", "chosen"


def take_examples(
    item: TanqItem, items: Sequence[TanqItem], shots: int, choice: str, seed: int
) -> list[TanqItem]:
    """Choose examples for an item; the item itself and items from the same list question are excluded.

    choice: `random` samples with a seed for each item. `chosen` selects the most similar items by
    `rate_likeness`, with ties in random order. The result may have fewer than `shots` items.
    """
    others = [other for other in items if other.id != item.id and other.init_qid != item.init_qid]
    drawn = sorted(others, key=lambda other: (make_id("example", seed, item.id, other.id), other.id))
    if choice == CHOSEN:
        drawn.sort(key=lambda other: rate_likeness(item, other), reverse=True)
    return drawn[:shots]


def rate_likeness(item: TanqItem, other: TanqItem) -> tuple[bool, int, int, int]:
    """Return a sort key for the similarity of two questions; a larger key means more similar.

    The parts of the key, in order:

    - whether both questions have the same kind.
    - minus the number of skills that only one of the questions has.
    - the number of common relations.
    - minus the difference between the numbers of columns.
    """
    mine, theirs = ({use.name for use in compared.skills} for compared in (item, other))
    return (
        item.kind == other.kind,
        -len(mine ^ theirs),
        len({*item.relations} & {*other.relations}),
        -abs(len(item.columns) - len(other.columns)),
    )
