"""What a kind of hostile input is thrown at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol


@dataclass(frozen=True)
class Outcome:
    """What came of an input: `kind` in a word (`refused`, `answered`, ...), `line` as the user is told."""

    kind: str
    line: str


class Subject(Protocol):
    """Takes inputs, one after another; what it holds ends with the context that opened it."""

    limit_s: float
    """How many seconds of CPU an input may take, ours and our processes' together; a second is added."""

    def throw(self, value: Any) -> Outcome:
        """Let the project meet an input; what is raised beside the project's own errors is a finding."""
        ...

    def look(self) -> object:
        """Give all that no input may change, to be compared."""
        ...


@dataclass(frozen=True)
class Kind:
    """A kind of input: `at_least` so many; `open` a subject in an empty folder; `make` one more input."""

    at_least: int
    open: Callable[[Path], AbstractContextManager[Subject]]
    make: Callable[[Random], Any]
