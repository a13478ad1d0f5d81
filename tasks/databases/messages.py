"""The JSON messages between `SafeDatabase` and its reading processes. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class Limits(TypedDict):
    """Resource limits in a process's first message: bytes of memory, written files and result."""

    memory: int
    disk: int
    bytes: int


class SqliteSetup(Limits):
    """The first message to a process that reads SQLite. `uri`: the URI of the database file."""

    uri: str


class ServerSetup(Limits):
    """The first message to a process that reads a server.

    `connect`: arguments for the driver, including the password. `any_account`: accept an account with write
    access.
    """

    dialect: str
    connect: Mapping[str, Any]
    any_account: bool


class ReaderRequest(TypedDict, total=False):
    """A request. With `sql` it starts a statement, without `sql` it continues the last statement.

    `rows`: maximum number of rows to return. `whole`: the result is not streamed. `seconds`: the time limit.
    `clock`: the time that the statement sees, in seconds since 1970, if its engine supports that; None uses
    the real time.
    """

    sql: str
    parameters: list[str | int | float | None]
    rows: int
    whole: bool
    seconds: float
    clock: int | None


class ReaderReply(TypedDict, total=False):
    """A reply: rows of a result, or an error with its kind and text.

    `types`: types of the columns on a server, with the engine's names; empty if unknown. `more`: whether
    there may be more rows. `broken`: whether the process has ended because of the error.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[str | int | float | None]]
    more: bool
    error: str
    text: str
    broken: bool
