"""The interface between the process that reads a server and the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp


class AccountMayWrite(Exception):
    """Raised if the account has more than read access."""


class Engine(Protocol):
    """The operations that differ between PostgreSQL and MariaDB."""

    def connect(self) -> None:
        """Open the connection and set its limits. Raises AccountMayWrite, or the driver's error."""

    def set_clock(self, clock: int | None) -> None:
        """Set the current time for later statements, as a Unix timestamp in seconds (None: the real time).

        PostgreSQL does not support a time other than the real time.
        """

    def begin(self, sql: str, tree: exp.Query, seconds: float, *, whole: bool) -> list[str]:
        """Start one SELECT in its own transaction; return its column names.

        `tree`: the parse tree of `sql`. `whole`: whether the result is returned in one batch. Raises
        SqlRefused if a check on the server shows that the statement may do more than read.
        """

    def list_types(self) -> list[str]:
        """Return the engine's name for the type of each column in the current statement.

        The name is "" for an unknown type. MariaDB also returns "" for a type with only one text format.
        """

    def extend(self, seconds: float) -> None:
        """Set the remaining time of the current statement, in seconds."""

    def fetchmany(self, wanted: int) -> Sequence[Sequence[object]]:
        """Fetch at most `wanted` more rows."""

    def end(self, *, finished: bool) -> None:
        """End the transaction; `finished`: whether the result was read to its end."""

    def cancel(self) -> None:
        """Cancel the running statement on the server, from outside the connection."""

    def classify_error(self, error: Exception) -> str:
        """Return an error's kind, one that the parent process knows."""

    def describe(self, error: Exception) -> str:
        """Return the server's error message on one line."""
