"""The script of an evaluation: the replies of every agent, judge and person on 24 items."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import make_id
from tasks.longform.entries import MorePeers
from tasks.longform.labels import ERRORS

STEPS = ("IP", "TE", "IS")
CONCLUSIVE, INTERPRETIVE = 16, 8
NAMES = [f"i{number:02}" for number in range(1, CONCLUSIVE + INTERPRETIVE + 1)]
KIND = {name: "conclusive" if place < CONCLUSIVE else "interpretive" for place, name in enumerate(NAMES)}
LARGE = "i05"
"""The item whose records exceed any prompt."""
AGENTS = ("none", "sequential", "iterative", "guess")
WORKERS = ("sequential", "iterative")
WORD = {"P": "Perfect", "I": "Imperfect", "?": None}
RATERS = 3
STATISTICS = (
    "pearson(id, seats)",
    "spearman(id, seats)",
    "regression(seats, id)",
    "quantiles(seats, 0.25, 0.9)",
    "median(seats)",
    "",
)
"""Statistics that agents request, in rotation: four kinds, an unknown kind, none."""


@dataclass(frozen=True)
class PeerScript:
    """Verdicts on one step, one letter each: `P`, `I`, or `?` for a reply without a verdict."""

    reviewers: str
    metas: str
    revision: str
    error: str
    people: str


@dataclass(frozen=True)
class Play:
    """One interaction, with all verdicts on it."""

    item: str
    model: str
    agent: str
    plan: int
    """Number of words of a need, or of each part of a plan."""
    queries: tuple[str, ...]
    """Result of each query: `good`, `empty` (no rows) or `bad` (an error)."""
    statistics: tuple[str, ...]
    """Statistic requested by each query; empty for none."""
    words: int
    """Number of words of the answer; 0 if the agent's reply is not an answer."""
    grade: str
    """The reference verdict: `Match`, `Not Match`, `1` to `5`, or `?`."""
    people: tuple[str, ...]
    steps: Mapping[str, PeerScript]

    @property
    def id(self) -> str:
        return make_id(self.item, self.agent, self.model)

    @property
    def verdict(self) -> str:
        """The id of the row with the verdict."""
        return make_id("reference_verdicts", self.id)

    @property
    def answered(self) -> bool:
        return self.words > 0 and (self.agent, self.item) != ("none", LARGE)

    @property
    def reviewed(self) -> bool:
        """Whether peers review the interaction: it has an answer and a plan (with at least one query)."""
        return self.answered and self.agent in WORKERS and (self.agent == "sequential" or bool(self.queries))


@dataclass(frozen=True)
class Skill:
    """Probabilities of success, as fractions."""

    right: float = 0.5
    perfect: float = 0.6
    valid: float = 0.6
    broken: float = 0.05
    """Fraction of unreadable replies of agents and judges."""


class Writer:
    """Generates random plays."""

    def __init__(self, seed: int, more: MorePeers | None) -> None:
        self._chance, self._more = random.Random(seed), more

    def write(self, skill: Skill, item: str, model: str, agent: str) -> Play:
        works, chance = agent in WORKERS, self._chance
        kinds = ["good" if self._is(skill.valid) else chance.choice(["bad", "empty"]) for _ in range(3)]
        count = chance.randint(1, 3) if agent == "sequential" else chance.randint(0, 3)
        place = NAMES.index(item)
        statistics = [STATISTICS[(place + number) % len(STATISTICS)] for number in range(count)]
        return Play(
            item=item,
            model=model,
            agent=agent,
            plan=chance.randint(1, 6),
            queries=tuple(kinds[:count]) if works else (),
            statistics=tuple(statistics) if works else (),
            words=0 if self._is(skill.broken) else chance.randint(1, 40),
            grade="?" if self._is(skill.broken) else self._grade(item, skill),
            people=tuple(self._grade(item, skill) for _ in range(RATERS)),
            steps={step: self._write_step(item, step, skill) for step in STEPS if works},
        )

    def _write_step(self, item: str, step: str, skill: Skill) -> PeerScript:
        many = self._more is not None and NAMES.index(item) < self._more.items
        counts = (self._more.reviewers, self._more.meta_reviewers) if self._more and many else (1, 1)
        return PeerScript(
            *(self._write_letters(count, skill) for count in (*counts, 1)),
            error="?" if self._is(skill.broken) else self._chance.choice(ERRORS[step]),
            people="".join("P" if self._is(skill.perfect) else "I" for _ in range(RATERS)),
        )

    def _write_letters(self, count: int, skill: Skill) -> str:
        return "".join(
            "?" if self._is(skill.broken) else "P" if self._is(skill.perfect) else "I" for _ in range(count)
        )

    def _grade(self, item: str, skill: Skill) -> str:
        right = self._is(skill.right)
        if KIND[item] == "conclusive":
            return "Match" if right else "Not Match"
        return self._chance.choice("45" if right else "123")

    def _is(self, share: float) -> bool:
        return self._chance.random() < share
