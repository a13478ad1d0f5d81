"""Simulate histories of nightly runs: items of random difficulty, a system that drifts, a judge that errs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.scoring.metric import FloatArray, IntArray

BISECTIONS = 40
WORST = 8.0
"""Maximum drop of an ability, in logits."""
KEPT = 0.3
"""Fraction of its probability that an item of a broken template keeps."""


@dataclass(frozen=True)
class ItemShape:
    """The items of a history: number of templates, and number of items per template."""

    templates: int
    per_template: int

    @property
    def items(self) -> int:
        """The number of items."""
        return self.templates * self.per_template

    @property
    def clusters(self) -> IntArray:
        """The template of each item; shape (items,)."""
        return np.repeat(np.arange(self.templates), self.per_template)


class Histories:
    """Simulated histories in parallel, each with separate items, a separate system and a separate judge.

    An item is answered correctly with probability 1 / (1 + exp(-a (theta - b))), the two-parameter logistic
    model. The discrimination a is lognormal (0.4). The difficulty b is normal, with standard deviations 0.8
    for the template and 0.8 for the item, and a mean that is normal (-1, 0.5). The ability theta drifts from
    night to night (autoregressive, 0.9 of the previous night plus up to 0.05), and each template separately
    (up to 0.3 logits). In 60% to 95% of cases, an answer depends on a random number that is fixed for all
    nights, otherwise on a new one. The judge errs on 1% to 5% of answers.
    """

    def __init__(self, shape: ItemShape, number: int, rng: np.random.Generator) -> None:
        """Sample the items and the systems."""
        self.shape, self.number, self.rng = shape, number, rng
        size, clusters = (number, shape.items), shape.clusters
        ease = rng.normal(1, 0.5, (number, 1))
        by_template = rng.normal(0, 0.8, (number, shape.templates))[:, clusters]
        self.difficulty = by_template + rng.normal(0, 0.8, size) - ease
        self.discrimination = np.exp(rng.normal(0, 0.4, size))
        self.luck = rng.random(size)
        """Each item's random number for all nights; below the item's probability, the answer is correct."""
        self.repeats = rng.uniform(0.6, 0.95, (number, 1))
        self.judge_errs = rng.uniform(0.01, 0.05, (number, 1))
        self.drift = rng.uniform(0, 0.05, (number, 1))
        self.shock = rng.uniform(0, 0.3, (number, 1))
        self.ability = np.zeros((number, 1))
        self.fall = np.zeros((number, 1))
        self.kept = np.ones(size)

    def score_night(self) -> FloatArray:
        """Return the scores of the next night: 1 is correct; shape (histories, items)."""
        rng, size = self.rng, (self.number, self.shape.items)
        self.ability = 0.9 * self.ability + self.drift * rng.normal(size=(self.number, 1))
        by_template = self.shock * rng.normal(size=(self.number, self.shape.templates))
        chance = self._find_chance(by_template[:, self.shape.clusters])
        luck = np.where(rng.random(size) < self.repeats, self.luck, rng.random(size))
        wrong_verdict = rng.random(size) < self.judge_errs
        scores: FloatArray = ((luck < chance) != wrong_verdict).astype(np.float64)
        return scores

    def drop(self, points: float) -> None:
        """Make each system permanently worse: the mean probability drops by `points` (0.1 for 10 points).

        In half of the histories the ability drops. In the other half, some templates break: their items keep
        30% of their probability, or more in the last broken template.
        """
        before = self._find_chance(0.0)
        low, high = np.zeros((self.number, 1)), np.full((self.number, 1), WORST)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            self.fall = middle
            short = (before - self._find_chance(0.0)).mean(1, keepdims=True) < points
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        breaks = np.arange(self.number) % 2 == 1
        self.fall = np.where(breaks[:, None], 0.0, low)
        self.kept = np.where(breaks[:, None], self._break_templates(before, points), 1.0)

    def _break_templates(self, chance: FloatArray, points: float) -> FloatArray:
        """Sample broken templates for a drop of `points`; return the fraction that each item keeps."""
        shape = (self.number, self.shape.templates, self.shape.per_template)
        losses = chance.reshape(shape).sum(2) * (1 - KEPT)
        order = self.rng.random(losses.shape).argsort(1)
        lost = np.take_along_axis(losses, order, 1)
        wanted = points * self.shape.items
        share = np.clip((wanted - (lost.cumsum(1) - lost)) / lost, 0, 1)
        broken = np.zeros(losses.shape)
        np.put_along_axis(broken, order, share, 1)
        kept: FloatArray = (1 - broken * (1 - KEPT))[:, self.shape.clusters]
        return kept

    def _find_chance(self, shift: FloatArray | float) -> FloatArray:
        logit = self.discrimination * (self.ability - self.fall + shift - self.difficulty)
        chance: FloatArray = self.kept / (1 + np.exp(-logit))
        return chance
