"""A database server as the source of `SafeDatabase`: how its reading process connects."""

from __future__ import annotations

from sqlalchemy.exc import NoSuchModuleError

from tasks.databases.child import ReaderProgram
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput

GRACE_S = 0.7
DRIVERS = {"postgres": ("postgresql+psycopg", "postgresql"), "mysql": ("mysql+pymysql", "mariadb")}
"""The reading process's driver, whatever driver the URL names, and the extra that installs it."""


class DatabaseServer:
    """A PostgreSQL or MariaDB server. Raises BadInput for other engines."""

    def __init__(self, entry: DatabaseEntry, any_account: bool = False) -> None:
        self.entry = entry
        self.any_account = any_account
        if entry.dialect not in DRIVERS:
            raise BadInput(
                f"{entry.label}.url",
                f"is {entry.dialect}: its schema can be read, but no query is safe there",
                hint="queries run on SQLite, PostgreSQL and MariaDB",
            )

    @property
    def program(self) -> ReaderProgram:
        """The program that reads it; the password is sent over a pipe."""
        driver, extra = DRIVERS[self.entry.dialect]
        url = self.entry.complete_url().set(drivername=driver)
        try:
            dialect = url.get_dialect()()
            _, options = dialect.create_connect_args(url)
            dialect.import_dbapi()
        except (NoSuchModuleError, ImportError) as error:
            raise BadInput(
                f"{self.entry.label}.url", f"has no driver here: {error}", hint=f"install the extra {extra}"
            ) from error
        setup = {"dialect": self.entry.dialect, "connect": options, "any_account": self.any_account}
        return ReaderProgram(self.entry.label, "tasks.databases.servers.server_child", setup, GRACE_S)

    def check(self) -> None:
        """Do nothing: a server's content is not compared between queries."""

    def close(self) -> None:
        """Do nothing: no resources are held here."""
