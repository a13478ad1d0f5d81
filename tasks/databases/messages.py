"""The JSON frames between `SafeDatabase` and its reading processes. Standard library only, as frames.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class Limits(TypedDict):
    """Limits in the first frame of a request: memory, written files and result, in bytes."""

    memory: int
    disk: int
    bytes: int


class SqliteSetup(Limits):
    """The first frame of a process that reads SQLite. uri: of the file."""

    uri: str


class ServerSetup(Limits):
    """The first frame of a process that reads a server.

    connect: arguments of its driver, with password. any_account: one that may write is not refused.
    """

    dialect: str
    connect: Mapping[str, Any]
    any_account: bool


class ReaderRequest(TypedDict, total=False):
    """A request: with `sql` it starts a statement, without it continues the last one.

    rows: the number of rows wanted. whole: the result is not streamed. seconds: the time limit. clock: the
    time that the statement is told, in seconds since 1970, where its engine can be told one; None is now.
    """

    sql: str
    parameters: list[str | int | float | None]
    rows: int
    whole: bool
    seconds: float
    clock: int | None


class ReaderReply(TypedDict, total=False):
    """A reply: rows of a result, or an error with its kind and text.

    types: of the columns on a server, by the engine's names; empty where unknown.
    more: there may be more rows. broken: the process has ended with the error.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[str | int | float | None]]
    more: bool
    error: str
    text: str
    broken: bool
