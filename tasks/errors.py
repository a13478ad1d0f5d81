"""The errors of Benchloom as one class hierarchy, with their exit codes.

BenchloomError
├── BadInput            a file, parameter or argument is not as it must be      exit 2
├── BudgetSpent         the run stopped before it would pass its budget         exit 3
├── CallMissing         `--replay` met a call that no ledger holds              exit 4
├── Alarm               a nightly comparison found a real drop                  exit 5
├── LockHeld            another run holds the lock                              exit 6
├── ModelFailed         an endpoint gave no usable reply within its deadline    exit 1
│   └── ModelRefused    it refuses every request: another try gets the same
├── DatabaseGone        a database server cannot be reached, or went away       exit 1
├── StageFailed         a stage did not finish                                  exit 1
│   ├── ChangedWhileRunning   a dependency was edited while its stage ran
│   └── ContractBroken        an artifact does not hold what it must
└── SqlError            model-written SQL did not run
    ├── SqlRefused      it is not one SELECT over the snapshot
    ├── SqlTimeout      it did not end within its time
    ├── SqlTooLarge     its result or its memory passed the cap
    └── SqlFailed       the engine reported an error
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class BenchloomError(Exception):
    """Base of the tree; `exit_code` is what the command line ends with."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Send an error between processes as it is: not every class is made from its text alone."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[BenchloomError], args: tuple[Any, ...], state: dict[str, Any]) -> BenchloomError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class BadInput(BenchloomError):
    """An input, file or option that is not valid; the message says where, what and what to do."""

    exit_code = 2

    def __init__(self, where: str | Path, what: str, *, line: int | None = None, hint: str = "") -> None:
        place = f"{where}, line {line}" if line is not None else str(where)
        super().__init__(f"{place}: {what}" + (f" ({hint})" if hint else ""))


class BudgetSpent(BenchloomError):
    """The next call would pass the run's budget."""

    exit_code = 3


class CallMissing(BenchloomError):
    """A replayed stage needs a call that no ledger holds."""

    exit_code = 4

    def __init__(self, stage: str, row: str, prompt: str, key: str) -> None:
        super().__init__(
            f"{stage}: row {row}: no recorded answer to prompt {prompt!r} (call {key[:12]}); "
            "run without --replay to ask the model"
        )


class Alarm(BenchloomError):
    """A nightly comparison found a real drop."""

    exit_code = 5


class LockHeld(BenchloomError):
    """Another run works on the same artifacts."""

    exit_code = 6


class ModelFailed(BenchloomError):
    """An endpoint gave no usable reply within its deadline."""


class ModelRefused(ModelFailed):
    """An endpoint refuses every request, for its key or its model: another try gets the same."""


class DatabaseGone(BenchloomError):
    """A database server cannot be reached, or went away."""


class StageFailed(BenchloomError):
    """A stage did not finish."""


class ChangedWhileRunning(StageFailed):
    """A dependency was edited while its stage ran, so its result proves nothing."""

    def __init__(self, stage: str, path: str) -> None:
        super().__init__(f"{stage}: {path} changed while running; run it again")


class ContractBroken(StageFailed):
    """An artifact does not hold what it must; what depends on it is not made."""


class SqlError(BenchloomError):
    """Model-written SQL did not run."""


class SqlRefused(SqlError):
    """The statement is not one SELECT over the snapshot."""


class SqlTimeout(SqlError):
    """The statement did not end within its time."""


class SqlTooLarge(SqlError):
    """The statement's result or memory passed its cap."""


class SqlFailed(SqlError):
    """The engine reported an error."""
