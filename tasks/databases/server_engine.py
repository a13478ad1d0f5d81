"""What the process that reads a server asks of its driver."""

from __future__ import annotations

from typing import Any, Protocol


class Privileged(Exception):
    """The account may do more than read."""


class Engine(Protocol):
    """What differs between the two servers."""

    def connect(self) -> None:
        """Open the connection and set its limits. Raises Privileged, or the driver's error."""

    def begin(self, sql: str, seconds: float, *, whole: bool) -> list[str]:
        """Start one SELECT in a transaction of its own; give its columns. whole: it will not be streamed."""

    def go_on(self, seconds: float) -> None:
        """Give the statement under way so much more time."""

    def fetchmany(self, wanted: int) -> list[Any]:
        """Fetch the next rows."""

    def end(self, *, finished: bool) -> None:
        """End the transaction."""

    def cancel(self) -> None:
        """Have the server end what it does, from outside the connection."""

    def name_error(self, error: Exception) -> str:
        """Sort an error into one of the parent's kinds."""

    def describe(self, error: Exception) -> str:
        """Give the server's own words, in one line."""
