"""The interface to the code under test (subject) for a kind of hostile input."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol


@dataclass(frozen=True)
class Outcome:
    """The outcome of an input. kind: a word (`refused`, `answered`, ...). line: the user's message."""

    kind: str
    line: str


class Subject(Protocol):
    """Code under test that receives inputs in sequence, until the context that opened it ends."""

    limit_s: float
    """Maximum CPU seconds for an input, including child processes; one second is added."""

    def throw(self, value: Any) -> Outcome:
        """Run the project on an input; an exception other than the project's own errors is a violation."""
        ...

    def look(self) -> object:
        """Return the state that no input may change, for comparison."""
        ...


@dataclass(frozen=True)
class Kind:
    """A kind of input. at_least: minimum number. open: opens a subject. make: generates an input."""

    at_least: int
    open: Callable[[Path], AbstractContextManager[Subject]]
    make: Callable[[Random], Any]
