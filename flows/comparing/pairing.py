"""Decide which strands of A and B stand against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flows.comparing.sides import Side, join_names
from tasks.errors import BadInput, BenchloomError
from tasks.judging.comparison import Strand

Pair = tuple[Strand, Strand]
WAYS: tuple[Callable[[Strand], object], ...] = (
    lambda strand: (strand.section, strand.entry, strand.system),
    lambda strand: (strand.section, strand.system),
    lambda strand: (strand.section, strand.entry),
    lambda strand: strand.section,
)
"""By what strands are paired: the first way that tells one of each side."""


@dataclass(frozen=True)
class Paired:
    """Strands in pairs, and the names of those that nothing of the other side stands against."""

    pairs: Sequence[Pair]
    alone_a: Sequence[str]
    alone_b: Sequence[str]


def pair_strands(a: Side, b: Side) -> Paired:
    """Pair the strands of two sides: same entry and system; else same system, same entry, or same cases.

    Each way pairs what it can tell apart, and the next one the rest. Raises BadInput if several strands could
    stand against one, BenchloomError if nothing is in common.
    """
    left, right, pairs = list(a.strands), list(b.strands), list[Pair]()
    if a.place == b.place and left and right:
        # An entry against one of its systems is its others against that one.
        rest = drop_same(left, right)
        left, right = (rest, right) if rest else (left, drop_same(right, left))
        if not right:
            raise BadInput(f"{a.label} and {b.label}", "name the same answers: nothing can differ")
    for way in WAYS:
        for one in list(left):
            mine, theirs = (find_alike(one, strands, way) for strands in (left, right))
            if len(mine) == 1 and len(theirs) == 1:
                pairs.append((one, theirs[0]))
                left.remove(one)
                right.remove(theirs[0])
    for one in left:
        mine, theirs = (find_alike(one, strands, WAYS[-1]) for strands in (left, right))
        if theirs:
            raise BadInput(
                f"{a.label} and {b.label}",
                f"{list_names(mine)} could stand against {list_names(theirs)}",
                hint="name one of each by ENTRY/SYSTEM, or keep some by --only",
            )
    if not pairs:
        raise BenchloomError(
            f"{a.label} and {b.label} have nothing in common: {describe_side(a)}; {describe_side(b)}"
        )
    return Paired(
        sorted(pairs, key=lambda pair: (pair[0].section, pair[0].name)),
        sorted(f"{strand.section}.{strand.name}" for strand in left),
        sorted(f"{strand.section}.{strand.name}" for strand in right),
    )


def drop_same(strands: Sequence[Strand], others: Sequence[Strand]) -> list[Strand]:
    """Leave out the strands that the other side has, too."""
    same = {WAYS[0](strand) for strand in others}
    return [strand for strand in strands if WAYS[0](strand) not in same]


def find_alike(one: Strand, strands: Sequence[Strand], way: Callable[[Strand], object]) -> list[Strand]:
    """Find the strands that are as `one` in a way, and were asked a case of its."""
    return [strand for strand in strands if way(strand) == way(one) and strand.cases & one.cases]


def describe_side(side: Side) -> str:
    """Say what a side has."""
    return f"{side.label} has {list_names(side.strands) or 'no scored answers'}"


def list_names(strands: Sequence[Strand]) -> str:
    """List strands by their full names."""
    return join_names([f"{strand.section}.{strand.name}" for strand in strands])
