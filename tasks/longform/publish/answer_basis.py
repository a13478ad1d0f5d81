"""Name the rows that an evaluation's figures are computed from."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import CellValue, Selection
from tasks.longform.build.classify import CONCLUSIVE, INTERPRETIVE
from tasks.longform.judge.labels import Verdict

INTERACTIONS = Selection("interactions")
"""All interactions of an evaluation."""


def choose_interactions(
    where: Mapping[str, CellValue | tuple[CellValue, ...]], *, kind: str = ""
) -> Selection:
    """Choose interactions by their columns and by the kind of their items; an empty kind means all."""
    through = {"item": Selection("items", {"kind": kind})} if kind else {}
    return Selection("interactions", where, through)


def derive_matches(interactions: Selection) -> Derivation:
    """Derive the match rate of some interactions."""
    rows = Selection("reference_verdicts", {"kind": CONCLUSIVE}, {"interaction": interactions})
    return Derivation("share", (rows,), "label", hit=Verdict.MATCH)


def derive_scores(interactions: Selection) -> Derivation:
    """Derive the mean score of some interactions."""
    rows = Selection("reference_verdicts", {"kind": INTERPRETIVE}, {"interaction": interactions})
    return Derivation("mean", (rows,), "score")


def derive_peers(
    measure: str, artifact: str, interactions: Selection, step: str = "", hit: CellValue = None
) -> Derivation:
    """Derive a figure from the peers' verdicts on some interactions. step: empty for all.

    artifact: `reviews`, `meta_reviews` or `revisions`.
    """
    rows = Selection(artifact, {"step": step} if step else {}, {"interaction": interactions})
    return Derivation(measure, (rows,), "verdict", hit=hit)
