"""A database server as a source for `SafeDatabase`, with the settings of its reader process."""

from __future__ import annotations

from tasks.databases.child import ReaderProgram
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput

GRACE_S = 0.7
"""Seconds after the time limit until the reader process is killed.

During this time, the process can cancel the statement.
"""
DRIVERS = {"postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}
"""Dialect -> the driver in the reader process, regardless of the driver in the URL."""


class DatabaseServer:
    """A PostgreSQL or MariaDB server. Raises BadInput for other engines."""

    def __init__(self, entry: DatabaseEntry, any_account: bool = False) -> None:
        self.entry = entry
        self.any_account = any_account
        if entry.dialect not in DRIVERS:
            raise BadInput(
                f"{entry.label}.url",
                f"is {entry.dialect}: Benchloom can read its schema, but cannot query it safely",
                hint="use SQLite, PostgreSQL or MariaDB",
            )

    @property
    def program(self) -> ReaderProgram:
        """Return the program that reads the server. The program receives the password through a pipe."""
        url = self.entry.complete_url().set(drivername=DRIVERS[self.entry.dialect])
        self.entry.require_driver(url)
        _, options = url.get_dialect()().create_connect_args(url)
        setup = {"dialect": self.entry.dialect, "connect": options, "any_account": self.any_account}
        return ReaderProgram(self.entry.label, "tasks.databases.servers.server_child", setup, GRACE_S)

    def check(self) -> None:
        """Do nothing, because a server's content is not compared between queries."""

    def close(self) -> None:
        """Do nothing, because the object holds no resources."""
