"""The page of a comparison of synthetic systems with hostile texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page

from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import Comparison, ScoredSystem, compare_scored_systems
from tasks.judging.pair_analysis import analyse_pairs, price_means
from tasks.judging.priced_means import AnswerCost
from tasks.reports.comparison import write_comparison

HOSTILE = "<img src=x onerror=alert(1)>"


def make_scored_system(name: str, right: Sequence[bool], say: str) -> ScoredSystem:
    """Return a system's scored answers. right: whether each answer is correct."""
    answers = [
        (Scored(f"q{number}", f"g{number}", float(mark)),
         Answered(f"q{number}", f"q{number}", name, "accuracy", f"What of {number}? {HOSTILE}", "true",
                  f"it is {say} {HOSTILE}", "Correct"))
        for number, mark in enumerate(right)
    ]  # fmt: skip
    return ScoredSystem("trial", "entry", name, answers)


def write_compared(path: Path, n: int = 40) -> Comparison:
    """Write the page of two systems; n: number of items."""
    a = make_scored_system("weak", [number % 2 == 0 for number in range(n)], "red")
    b = make_scored_system("good", [number % 3 != 0 for number in range(n)], "blue")
    comparison = compare_scored_systems([(a, b)], names=(HOSTILE, "good"), draws=200)
    write_comparison(comparison, path, alone={"A": ["trial.lost"], "B": []})
    return comparison


def write_three(path: Path, n: int = 40, price: float | None = None) -> Comparison:
    """Write the page of three systems. n: number of items. price: of the best system's answer, or None."""
    weak = make_scored_system("weak", [number % 2 == 0 for number in range(n)], "red")
    good = make_scored_system("good", [number % 3 != 0 for number in range(n)], "blue")
    best = make_scored_system("best", [number % 7 != 0 for number in range(n)], "green")
    pairs = [(weak, good), (weak, best), (good, best)]
    letters = [("A", "B"), ("A", "C"), ("B", "C")]
    comparison = compare_scored_systems(pairs, names=(HOSTILE, "good", "best"), draws=200, letters=letters)
    analysed = analyse_pairs(pairs, draws=200)
    prices = {
        name: AnswerCost(tokens, usd, 0.5, "" if usd is not None else HOSTILE)
        for name, tokens, usd in (("weak", 90.0, 0.0004), ("good", 700.0, 0.003), ("best", 900.0, price))
    }
    means = [
        price_means(scored_systems, found, lambda scored_system: prices[scored_system.system])
        for scored_systems, found in analysed
    ]
    comparison = replace(comparison, items=[found for _, found in analysed], means=means)
    write_comparison(comparison, path)
    return comparison


def open_changed(page: Page) -> None:
    """Open the first changed item."""
    page.click("details.case >> nth=0 >> summary")
    page.wait_for_selector("details.case[open] mark")
