"""List the steps that peers judge, and summarise the peers' verdicts: majority, unanimity, pooled share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.longform.build.items import LongformItem
from tasks.longform.labels import STEPS, Verdict
from tasks.longform.solve.interaction import Interaction

REVIEWED = ("sequential", "iterative", "system")
"""The agents that query a database, whose steps are reviewed."""
Verdicts = Sequence[Verdict | None]
"""The verdicts of the reviewers or meta-reviewers of one step; None for a reply without a verdict."""


@dataclass(frozen=True)
class Review:
    """Row of the stages `reviews`, `meta_reviews` and `revisions`: one peer's verdict on one step."""

    id: str
    interaction: str
    item: str
    step: str
    """The step: `IP`, `TE` or `IS`."""
    reviewer: int
    """The number of the reviewer, from 0."""
    verdict: Verdict | None
    """Perfect or Imperfect; None if the reply had no verdict."""
    rationale: str
    problem: str
    origin: tuple[Origin, ...]


def list_steps(
    items: Iterable[LongformItem], interactions: Iterable[Interaction]
) -> Iterator[tuple[LongformItem, Interaction, str]]:
    """Yield (item, interaction, step) for every step of the interactions whose agent queries the database."""
    by_id = {item.id: item for item in items}
    for interaction in interactions:
        if interaction.agent in REVIEWED:
            yield from ((by_id[interaction.item], interaction, step) for step in STEPS)


def decide(verdicts: Verdicts) -> Verdict | None:
    """Return the majority verdict of the peers (section 4.2.2 of the paper).

    A tie counts as Imperfect. The majority is None if fewer than half of the replies have a verdict.
    """
    given = _list_given(verdicts)
    if not given:
        return None
    return Verdict.PERFECT if 2 * given.count(Verdict.PERFECT) > len(given) else Verdict.IMPERFECT


def agree(verdicts: Verdicts) -> bool | None:
    """Return whether all verdicts are the same (`Agree.` of Table 5).

    Returns None if there are fewer than two verdicts, or if fewer than half of the replies have a verdict.
    """
    given = _list_given(verdicts)
    return len(set(given)) == 1 if len(given) > 1 else None


def pool(groups: Iterable[Verdicts]) -> float | None:
    """Compute the share of Perfect verdicts among the verdicts of all steps, 0 to 1.

    Returns None if there are no verdicts.
    """
    given = [verdict for verdicts in groups for verdict in verdicts if verdict is not None]
    return given.count(Verdict.PERFECT) / len(given) if given else None


def group_reviews(reviews: Iterable[Review]) -> Mapping[tuple[str, str], tuple[Review, ...]]:
    """Group reviews by (interaction, step), each group in the order of its reviewers."""
    groups: defaultdict[tuple[str, str], list[Review]] = defaultdict(list)
    for review in sorted(reviews, key=lambda review: (review.interaction, review.step, review.reviewer)):
        groups[review.interaction, review.step].append(review)
    return {key: tuple(group) for key, group in groups.items()}


def list_verdicts(reviews: Iterable[Review]) -> tuple[Verdict | None, ...]:
    """List the verdicts of reviews, in the same order."""
    return tuple(review.verdict for review in reviews)


def rank_items(items: Iterable[LongformItem]) -> dict[str, int]:
    """Map each item's id to its rank in the order of ids, from 0, for `AgentEvaluation.count_peers`."""
    return {item: rank for rank, item in enumerate(sorted({item.id for item in items}))}


def _list_given(verdicts: Verdicts) -> list[Verdict]:
    given = [verdict for verdict in verdicts if verdict is not None]
    return given if 2 * len(given) >= len(verdicts) else []
