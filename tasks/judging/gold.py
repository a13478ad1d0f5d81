"""The result of running a gold query again, which is compared with an item's answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GoldAnswer:
    """The result of a gold query that was run again.

    - id: the id of the item.
    - problem: how the result differs from the stored answer; empty if it does not.
    - digest: the hash of a result that is not stored, for comparison with the last accepted night.
    """

    id: str
    problem: str = ""
    digest: str = ""
