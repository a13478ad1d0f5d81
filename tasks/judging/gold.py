"""A gold query that was run again: what its item's answer is compared with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GoldAnswer:
    """A gold query run again.

    id: of the item; problem: how the answer differs from the stored one, empty if it does not. digest: of an
    answer that nothing stores; it is compared with that of the last accepted night.
    """

    id: str
    problem: str = ""
    digest: str = ""
