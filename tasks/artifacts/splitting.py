"""Declare that a stage can run in shards, over the rows of one of its arguments.

For any subset of the rows, the stage returns the results that a run over all rows returns for this subset.
Shards can therefore run anywhere and in any order, each shard on a block of rows. The combined results of the
shards are the stage's result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
SPLITTING = "splitting"
"""Name of the function attribute that stores the Splitting."""


class SlicedRows(Protocol):
    """Rows that can be sliced: a sequence in memory, or an artifact that is read slice by slice."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Blocks:
    """Rows divided into consecutive blocks; `size` rows per block, or fewer in the last block."""

    rows: SlicedRows
    size: int

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def __getitem__(self, number: int) -> list[Any]:
        """Read a block. Raises IndexError if there is no block with this number."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return list(self.rows[number * self.size : (number + 1) * self.size])


@dataclass(frozen=True)
class Splitting:
    """A declaration of how to split a stage.

    `over`: the argument with the rows. `rows`: maximum number of rows per block.

    `arrange`: given the stage's arguments, returns the rows to split, with related rows next to each other.
    By default, a stage is split over all rows in the artifact's order.
    """

    over: str
    rows: int
    arrange: Callable[..., Sequence[Any]] | None = None

    def cut(self, arguments: Mapping[str, Any]) -> Blocks:
        """Divide the rows into blocks; the blocks depend only on the arguments."""
        given = arguments[self.over] if self.arrange is None else self.arrange(**arguments)
        return Blocks(given, self.rows)


def splits(
    over: str, rows: int, arrange: Callable[..., Sequence[Any]] | None = None
) -> Callable[[Function], Function]:
    """Declare how a stage is split; the stage must return Drafts and call no model. See `Splitting`."""

    def mark(function: Function) -> Function:
        setattr(function, SPLITTING, Splitting(over, rows, arrange))
        return function

    return mark


def find_splitting(function: Callable[..., Any]) -> Splitting | None:
    """Return the Splitting of a stage's function; None if the stage cannot be split."""
    found = getattr(function, SPLITTING, None)
    return found if isinstance(found, Splitting) else None
