"""The types of the JSON messages between `SafeDatabase` and its reader processes. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class Limits(TypedDict):
    """The limits in the first message to a process, in bytes: memory, size of a written file, result size."""

    memory: int
    disk: int
    bytes: int


class SqliteSetup(Limits):
    """The first message to a process that reads a SQLite file. `uri`: the file's URI."""

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
    """A request. With `sql`, a request starts a statement; without `sql`, it continues the last statement.

    `rows`: maximum number of rows to return. `whole`: whether the result is returned in one batch. `seconds`:
    the time limit. `clock`: the current time for the statement as a Unix timestamp in seconds, if the engine
    supports this; None uses the real time.
    """

    sql: str
    parameters: list[str | int | float | None]
    rows: int
    whole: bool
    seconds: float
    clock: int | None


class ReaderReply(TypedDict, total=False):
    """A reply: rows of a result, or an error with its kind and text.

    `types`: the engine's names for the column types on a server; empty on SQLite. `more`: whether there may
    be more rows. `broken`: whether the process has ended because of the error.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[str | int | float | None]]
    more: bool
    error: str
    text: str
    broken: bool
