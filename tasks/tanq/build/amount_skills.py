"""Skills of amounts: conversion to another unit or scale, and approximation (section 3.3, step 5)."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from tasks.tanq.build.unit_words import WORDS
from tasks.tanq.graph.showing import show_amount
from tasks.tanq.units import convert

SCALES = {"thousands": 3, "millions": 6, "billions": 9}
"""What plain numbers are told in -> the power of ten."""
STEPS = {
    10: "ten", 100: "hundred", 1_000: "thousand", 10_000: "ten thousand", 100_000: "hundred thousand",
    1_000_000: "million", 10_000_000: "ten million", 100_000_000: "hundred million",
    1_000_000_000: "billion",
}  # fmt: skip
"""What amounts are rounded to, with its word."""
DIGITS = 3
"""Digits that tell of a converted amount below a hundred."""


def convert_scale(amount: Decimal, scale: str) -> Decimal:
    """Tell a plain number in thousands, millions or billions. Raises KeyError for another scale."""
    return amount.scaleb(-SCALES[scale])


def convert_unit(amount: Decimal, unit: str, other: str) -> Decimal:
    """Convert an amount; unit, other: names in `unit_words.WORDS`. Raises ValueError if it cannot be done."""
    converted = convert(amount, WORDS[unit].pint, WORDS[other].pint)
    if converted is None:
        raise ValueError(f"{unit} is of another kind than {other}")
    return converted


def approximate(amount: Decimal, step: int) -> Decimal:
    """Round to the nearest multiple of a step; half of it goes away from zero, as taught at school."""
    return (amount / step).quantize(Decimal(1), ROUND_HALF_UP) * step


def round_converted(amount: Decimal) -> Decimal:
    """Round an amount for reading: from a hundred on to a whole one, below to three digits that tell."""
    if not amount:
        return Decimal(0)
    last = 0 if abs(amount) >= 100 else amount.adjusted() - DIGITS + 1
    return amount.quantize(Decimal(1).scaleb(last), ROUND_HALF_UP)


def say_number(amount: Decimal) -> str:
    """Write an amount as sentences have it: `500,000`, `2.5 million`."""
    for power, word in ((9, "billion"), (6, "million")):
        short = amount.scaleb(-power)
        if abs(short) >= 1 and short == short.quantize(Decimal("0.1")):
            return f"{show_amount(short)} {word}"
    return f"{Decimal(show_amount(amount)):,}"
