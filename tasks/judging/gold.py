"""Define the result of re-running a gold query, which is compared with an item's answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GoldAnswer:
    """The result of a gold query that was run again.

    - id: the id of the item.
    - problem: the difference from the stored answer, or the query's error; empty if there is no problem.
    - digest: the hash of the result; empty if the answer is stored. The hash is compared with the hash from
      the last accepted nightly run.
    """

    id: str
    problem: str = ""
    digest: str = ""
