"""The interface between the server-reading process and its engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp


class AccountMayWrite(Exception):
    """The account may do more than read."""


class Engine(Protocol):
    """The operations that differ between PostgreSQL and MariaDB."""

    def connect(self) -> None:
        """Open the connection and set its limits. Raises AccountMayWrite, or the driver's error."""

    def set_clock(self, clock: int | None) -> None:
        """Tell the next statements a time, in seconds since 1970; None is now. PostgreSQL cannot."""

    def begin(self, sql: str, tree: exp.Query, seconds: float, *, whole: bool) -> list[str]:
        """Start one SELECT in its own transaction; return its column names.

        tree: what `sql` was parsed to. whole: it is not streamed. Raises SqlRefused if only the server
        can tell that the statement does more than read.
        """

    def list_types(self) -> list[str]:
        """List the types of the current statement's columns by the engine's names; empty if unknown."""

    def extend(self, seconds: float) -> None:
        """Give the current statement more time, in seconds."""

    def fetchmany(self, wanted: int) -> Sequence[Sequence[object]]:
        """Fetch the next rows."""

    def end(self, *, finished: bool) -> None:
        """End the transaction."""

    def cancel(self) -> None:
        """Make the server end the statement, from outside the connection."""

    def classify_error(self, error: Exception) -> str:
        """Return an error's kind, one that the parent knows."""

    def describe(self, error: Exception) -> str:
        """Return the server's message, in one line."""
