"""The interface between the process that reads a server and the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp


class AccountMayWrite(Exception):
    """Raised if the account may do more than read."""


class Engine(Protocol):
    """The operations that differ between PostgreSQL and MariaDB."""

    def connect(self) -> None:
        """Open the connection and set its limits. Raises AccountMayWrite, or the driver's error."""

    def set_clock(self, clock: int | None) -> None:
        """Set the time that later statements see, in seconds since 1970 (None: now).

        PostgreSQL ignores it.
        """

    def begin(self, sql: str, tree: exp.Query, seconds: float, *, whole: bool) -> list[str]:
        """Start one SELECT in its own transaction; return its column names.

        `tree`: the parse tree of `sql`. `whole`: the result is not streamed. Raises SqlRefused if the server
        shows that the statement may do more than read.
        """

    def list_types(self) -> list[str]:
        """List the types of the current statement's columns by the engine's names; empty if unknown."""

    def extend(self, seconds: float) -> None:
        """Give the current statement more time, in seconds."""

    def fetchmany(self, wanted: int) -> Sequence[Sequence[object]]:
        """Fetch at most `wanted` further rows."""

    def end(self, *, finished: bool) -> None:
        """End the transaction; `finished`: whether the result was read to its end."""

    def cancel(self) -> None:
        """Make the server end the running statement, from outside the connection."""

    def classify_error(self, error: Exception) -> str:
        """Return an error's kind, which must be known to the parent process."""

    def describe(self, error: Exception) -> str:
        """Return the server's error message in one line."""
