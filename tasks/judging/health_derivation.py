"""Define the source rows of each figure in a judge's canary results."""

from __future__ import annotations

from dataclasses import replace

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection


def derive_health(place: str, canaries: Selection) -> dict[str, Derivation]:
    """Return the derivations of the figures in a `CanaryHealth`, by JSON pointer.

    place: the JSON pointer of the `CanaryHealth`. canaries: the selected rows of canaries.
    """
    rows = (canaries,)
    return {
        f"{place}/n": Derivation("count", rows),
        f"{place}/n_scored": Derivation("count", (_restrict(canaries, (True, False)),)),
        f"{place}/n_failed": Derivation("count", (_restrict(canaries, (None,)),)),
        f"{place}/agreement": Derivation("share", rows, "agreed", hit=True),
        f"{place}/n_ruled": Derivation("canaries that a rule decides", rows, "rule"),
        f"{place}/judge_right": Derivation("canaries whose verdict is an accepted one", rows, "given"),
    }


def _restrict(canaries: Selection, agreed: tuple[bool | None, ...]) -> Selection:
    # A single value is passed without a list, because Arrow's `is_in` does not accept null.
    return replace(canaries, where={**canaries.where, "agreed": agreed if len(agreed) > 1 else agreed[0]})
