"""Implement the open agent's calculator, which evaluates arithmetic only. It uses the library simpleeval."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from math import isfinite

from simpleeval import SimpleEval

LONGEST = 200
"""Maximum length of an expression in characters."""
MOST = 1e18
"""Maximum absolute value of every intermediate result."""
MOST_POWER = 64
"""Maximum exponent of a power, because 9**9**9 would take too long to compute."""
FORM = re.compile(r"(?:[\d.,+\-*/%() \t]|[eE](?=[+-]?\d)|\b(?:round|abs|min|max)\b)+")
GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?!\d)")
SIGNS = {0xD7: "*", 0x2212: "-", ord("^"): "**"}
"""Map common signs for multiplication, minus and power to Python's operators."""
DIGITS = 12
"""Number of significant digits in a result, and maximum number of digits for `round`."""
Number = int | float


class NoArithmetic(ValueError):
    """Raised if an expression cannot be computed; the message tells the agent the reason."""


def calculate(expression: str) -> str:
    """Compute an arithmetic expression, such as `round((2024 - 1879) / 3, 1)`, and return the number as text.

    Numbers may have thousands separators (`385,207`), except in an expression with a function. Raises
    NoArithmetic for anything else: names, strings, attributes, numbers beyond 1e18, powers beyond 64, and
    expressions of more than 200 characters.
    """
    text = " ".join(expression.split()).strip("` ").translate(SIGNS)
    if len(text) > LONGEST:
        raise NoArithmetic(f"the expression has more than {LONGEST} characters")
    # In a call such as `max(1,234)`, the comma separates two arguments.
    if not any(name in text for name in FUNCTIONS):
        text = GROUPED.sub(lambda found: found[0].replace(",", ""), text)
    # The library must never parse names, strings or attributes that an untrusted model writes.
    if not FORM.fullmatch(text):
        raise NoArithmetic(
            "an expression may contain only numbers, + - * / // % ** ( ) and round, abs, min, max"
        )
    try:
        # The default functions of simpleeval include `str` and random numbers.
        value = SimpleEval(operators=OPERATORS, functions=FUNCTIONS, names={}).eval(text)
    except NoArithmetic:
        raise
    except ZeroDivisionError:
        raise NoArithmetic("the expression divides by zero") from None
    except Exception as error:  # noqa: BLE001 - whatever the library raises, it is no arithmetic
        raise NoArithmetic(f"the expression cannot be computed ({type(error).__name__})") from None
    return _write(_check(value))


def _write(value: Number) -> str:
    whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if whole else format(value, f".{DIGITS}g")


def _check(value: object) -> Number:
    """Return the value if it is a number within the limit, otherwise raise NoArithmetic.

    Every intermediate value is checked.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoArithmetic("a value is not a number")
    if not isfinite(value) or abs(value) > MOST:
        raise NoArithmetic("an intermediate value is too large")
    return value


def _hold(compute: Callable[..., Number]) -> Callable[..., Number]:
    return lambda *values: _check(compute(*map(_check, values)))


def _raise(base: Number, power: Number) -> Number:
    """Compute a power, after checking the exponent, because 9**9**9 would take too long."""
    if abs(power) > MOST_POWER:
        raise NoArithmetic(f"an exponent must be from -{MOST_POWER} to {MOST_POWER}")
    return _check(_check(base) ** power)


def _round(value: Number, digits: int = 0) -> Number:
    return round(value, max(-DIGITS, min(DIGITS, int(digits))))


OPERATORS: Mapping[type[ast.AST], Callable[..., Number]] = {
    ast.Add: _hold(operator.add),
    ast.Sub: _hold(operator.sub),
    ast.Mult: _hold(operator.mul),
    ast.Div: _hold(operator.truediv),
    ast.FloorDiv: _hold(operator.floordiv),
    ast.Mod: _hold(operator.mod),
    ast.USub: _hold(operator.neg),
    ast.UAdd: _hold(operator.pos),
    ast.Pow: _raise,
}
FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "round": _hold(_round),
    "abs": _hold(abs),
    "min": _hold(min),
    "max": _hold(max),
}
