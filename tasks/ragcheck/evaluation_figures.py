"""The figures of `benchloom evaluate ragcheck` as figures.json holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class WrittenEstimate(TypedDict):
    """A mean or share with its 95% interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None


class IntervalFigure(WrittenEstimate):
    """A figure with the rows that it was computed from (`tasks/lineage/derivation.py`)."""

    basis: dict[str, object]


class MeasureFigure(IntervalFigure):
    """A measure's mean over answers. n = scored + unsure + failed + skipped."""

    n: int
    scored: int
    unsure: int
    failed: int
    skipped: int
    note: str


class ContinuityFigure(IntervalFigure):
    """A measure's mean over conversations, or a rate over guards. n: how many; failed: not among them."""

    n: int
    failed: int


class RagFigures(TypedDict):
    """An evaluation's figures. correctness, continuity: dataset (or `all`) -> measure -> figure.

    continuity: None without Part II.
    """

    warnings: Sequence[str]
    canaries: dict[str, object]
    counts: dict[str, int]
    correctness: dict[str, dict[str, MeasureFigure]]
    continuity: dict[str, dict[str, ContinuityFigure]] | None


class WrittenRagFigures(RagFigures):
    """The figures with what was evaluated. turns: the turn limit; None without Part II."""

    system: str
    dataset: str
    turns: int | None
