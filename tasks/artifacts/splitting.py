"""How a stage says that it splits: beside its function, by the rows of one of its arguments.

A stage that splits gives for some of the rows what it gives for these among all; so its shards, each with the
rows of one block, are done anywhere, in any order, and their results together are the stage's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
SPLITTING = "splitting"
"""The attribute of a function that says how it splits."""


@dataclass(frozen=True)
class Splitting:
    """How a stage splits. over: the argument, of rows. rows: at most so many in a block.

    arrange: takes the stage's arguments, and gives the rows that matter, those that belong together as
    neighbours; by default they are all, as the artifact has them.
    """

    over: str
    rows: int
    arrange: Callable[..., Sequence[Any]] | None = None

    def cut(self, arguments: Mapping[str, Any]) -> list[list[Any]]:
        """Cut the rows into blocks: by what the arguments are, and by nothing else."""
        given: Iterable[Any] = arguments[self.over] if self.arrange is None else self.arrange(**arguments)
        rows = list(given)
        return [rows[first : first + self.rows] for first in range(0, len(rows), self.rows)]


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
