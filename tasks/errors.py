"""The errors of Benchloom as one class hierarchy, with their exit codes.

BenchloomError
├── BadInput            a file, parameter or argument is not valid              exit 2
├── BudgetSpent         the next call would exceed the run's budget             exit 3
├── CallMissing         `--replay` needs a call that no ledger contains         exit 4
├── Alarm               a nightly comparison found a significant drop           exit 5
├── LockHeld            another run holds the lock                              exit 6
├── ModelFailed         an endpoint gave no usable reply within its deadline    exit 1
│   └── ModelRefused    the endpoint refuses every request; retries are useless
├── DatabaseGone        a database server cannot be reached, or disconnected    exit 1
├── StageFailed         a stage did not finish                                  exit 1
│   ├── ChangedWhileRunning   a dependency was edited while its stage ran
│   └── ContractBroken        an artifact violates its contract
└── SqlError            model-written SQL could not be run
    ├── SqlRefused      the statement is not a single SELECT over the snapshot
    ├── SqlTimeout      the statement exceeded its time limit
    ├── SqlTooLarge     the statement's result or memory exceeded its limit
    └── SqlFailed       the database engine reported an error
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class BenchloomError(Exception):
    """Base class of all Benchloom errors; `exit_code` is the exit status of the command."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle an error by its attributes, since some subclasses' constructors take several arguments."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[BenchloomError], args: tuple[Any, ...], state: dict[str, Any]) -> BenchloomError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class BadInput(BenchloomError):
    """An invalid input, file or option. The message states the location, the problem and the fix."""

    exit_code = 2

    def __init__(self, where: str | Path, what: str, *, line: int | None = None, hint: str = "") -> None:
        place = f"{where}, line {line}" if line is not None else str(where)
        super().__init__(f"{place}: {what}" + (f" ({hint})" if hint else ""))


class BudgetSpent(BenchloomError):
    """The next call would exceed the run's budget."""

    exit_code = 3


class CallMissing(BenchloomError):
    """A replayed stage needs a call that no ledger contains."""

    exit_code = 4

    def __init__(self, stage: str, row: str, prompt: str, key: str) -> None:
        super().__init__(
            f"{stage}: row {row}: no recorded answer to prompt {prompt!r} (call {key[:12]}); "
            "run without --replay to ask the model"
        )


class Alarm(BenchloomError):
    """A nightly comparison found a significant drop."""

    exit_code = 5


class LockHeld(BenchloomError):
    """Another run is working on the same artifacts."""

    exit_code = 6


class ModelFailed(BenchloomError):
    """An endpoint gave no usable reply within its deadline."""


class ModelRefused(ModelFailed):
    """An endpoint refuses every request because of the API key or the model, so retries are useless."""


class DatabaseGone(BenchloomError):
    """A database server cannot be reached, or has disconnected."""


class StageFailed(BenchloomError):
    """A stage did not finish."""


class ChangedWhileRunning(StageFailed):
    """A dependency was edited while its stage ran, so the stage's result cannot be trusted."""

    def __init__(self, stage: str, path: str) -> None:
        super().__init__(f"{stage}: {path} changed while running; run it again")


class ContractBroken(StageFailed):
    """An artifact violates its contract, so the stages that depend on the artifact do not run."""


class SqlError(BenchloomError):
    """Model-written SQL could not be run."""


class SqlRefused(SqlError):
    """The statement is not a single SELECT over the snapshot."""


class SqlTimeout(SqlError):
    """The statement exceeded its time limit."""


class SqlTooLarge(SqlError):
    """The statement's result or memory exceeded its limit."""


class SqlFailed(SqlError):
    """The database engine reported an error."""
