"""Scores for conversations: quality of the answers, and number of turns (RAG correctness, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tasks.errors import BadInput
from tasks.scoring.items import BadItem, Record, describe_type, is_number
from tasks.scoring.metric import MeanAccumulator, Metric, Score

TOP_SCORE = 5
"""Maximum score of a turn."""

Scores = tuple[float, ...]


@dataclass(frozen=True)
class MultiTurn(Metric[Scores]):
    """Means of wscore, lscore and mscore over conversations of at most `turns` turns.

    The scores of a conversation are s_0..s_k with k < n, where n is `turns`. Each score is between 0 and 5,
    and "not sure" counts as 0.

    - wscore = (sum_{i=0..k} (n - i) s_i + sum_{i=1..n-k-1} (n - k - i) s_k) / (n(n + 1) / 2). The last score
      also counts for the remaining, unused turns.
    - lscore = k + 1, the number of turns; lower is better.
    - mscore is the maximum score.
    """

    name: ClassVar[str] = "multiturn"
    columns: ClassVar[tuple[str, ...]] = ("id", "scores")
    texts: ClassVar[frozenset[str]] = frozenset({"id"})
    own_scale: ClassVar[frozenset[str]] = frozenset({"wscore", "lscore", "mscore"})

    turns: int = 5

    def __post_init__(self) -> None:
        """Raise BadInput if the number of turns is less than 1."""
        if self.turns < 1:
            raise BadInput("--turns", f"is {self.turns}", hint="expected at least 1")

    def read(self, record: Record) -> Scores:
        """Read a list of 1 to `turns` scores. Raises BadItem if the list is not valid."""
        scores = record.get("scores")
        if not isinstance(scores, list):
            raise BadItem(f"scores is {describe_type(scores)}; expected a list of numbers")
        if not 1 <= len(scores) <= self.turns:
            raise BadItem(
                f"scores has {len(scores)} entries; expected 1 to {self.turns}, the limit of --turns"
            )
        for score in scores:
            if not is_number(score) or not 0 <= score <= TOP_SCORE:
                raise BadItem(f"scores contains {score!r:.40}; expected numbers from 0 to {TOP_SCORE}")
        return tuple(scores)

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("wscore", "lscore", "mscore"))

    def score_item(self, item: Scores, rule: str) -> Score:
        """Score one conversation."""
        wscore = compute_wscore(item, self.turns)
        return Score({"wscore": wscore, "lscore": float(len(item)), "mscore": float(max(item))})


def compute_wscore(scores: Sequence[float], turns: int) -> float:
    """Compute wscore, a number from 0 to 5, from 1 to `turns` scores."""
    filled = [*scores, *[scores[-1]] * (turns - len(scores))]
    return sum((turns - i) * score for i, score in enumerate(filled)) / (turns * (turns + 1) / 2)
