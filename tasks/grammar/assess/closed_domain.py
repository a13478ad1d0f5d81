"""Stage: find the groups of which a system answered nothing; for a model alone, its closed domain."""

from __future__ import annotations

from collections import defaultdict

from tasks.artifacts.rows import Drafts, Origin
from tasks.grammar.assessment_rows import ClosedDomain, Judgement


def closed_domain(judgements: list[Judgement]) -> Drafts[ClosedDomain]:
    """Determine for each group whether the system answered none of its texts; unscored rows do not count."""
    groups: defaultdict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        groups[judgement.group].append(judgement)
    return Drafts([_summarise_group(group, rows) for group, rows in groups.items()])


def _summarise_group(group: str, rows: list[Judgement]) -> ClosedDomain:
    scored = [row.judgement for row in rows if row.judgement is not None]
    correct = scored.count("Correct")
    origin = tuple(Origin("row", f"judgements#{row.id}") for row in rows)
    return ClosedDomain(group, len(scored), correct, not correct if scored else None, origin)
