"""Declare that a stage can run in shards, over the rows of one of its arguments.

A stage that splits gives for some of the rows what it gives for these among all; so its shards, each with the
rows of one block, are done anywhere, in any order, and their results together are the stage's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
SPLITTING = "splitting"
"""The attribute of a function that says how it splits."""


class SlicedRows(Protocol):
    """Rows in memory, or in an artifact that is read where it is sliced."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Blocks:
    """Neighbouring rows, as many at a time; the last block may have fewer."""

    rows: SlicedRows
    size: int

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def __getitem__(self, number: int) -> list[Any]:
        """Read a block. Raises IndexError for a number that there is not."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return list(self.rows[number * self.size : (number + 1) * self.size])


@dataclass(frozen=True)
class Splitting:
    """The split of a stage. over: the argument with rows. rows: the maximum in a block.

    arrange: takes the stage's arguments, and gives the rows that matter, those that belong together as
    neighbours; by default they are all, as the artifact has them.
    """

    over: str
    rows: int
    arrange: Callable[..., Sequence[Any]] | None = None

    def cut(self, arguments: Mapping[str, Any]) -> Blocks:
        """Cut the rows into blocks: by what the arguments are, and by nothing else."""
        given = arguments[self.over] if self.arrange is None else self.arrange(**arguments)
        return Blocks(given, self.rows)


def splits(
    over: str, rows: int, arrange: Callable[..., Sequence[Any]] | None = None
) -> Callable[[Function], Function]:
    """Say of a stage, one that returns Drafts and asks no model, how it splits; see `Splitting`."""

    def mark(function: Function) -> Function:
        setattr(function, SPLITTING, Splitting(over, rows, arrange))
        return function

    return mark


def find_splitting(function: Callable[..., Any]) -> Splitting | None:
    """Find how a stage splits; None where it does not."""
    found = getattr(function, SPLITTING, None)
    return found if isinstance(found, Splitting) else None
