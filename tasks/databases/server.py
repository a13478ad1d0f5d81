"""A database server, as a reader of model-written SQL meets it."""

from __future__ import annotations

from sqlalchemy.exc import NoSuchModuleError

from tasks.databases.child import Program
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput

GRACE_S = 0.7
DRIVERS = {"postgres": ("postgresql+psycopg", "postgresql"), "mysql": ("mysql+pymysql", "mariadb")}
"""The driver of the reading process, whichever the URL names, and the extra that installs it."""


class Server:
    """The address of a PostgreSQL or MariaDB server. Raises BadInput where it is another engine."""

    def __init__(self, entry: DatabaseEntry) -> None:
        self.entry = entry
        if entry.dialect not in DRIVERS:
            raise BadInput(
                f"{entry.label}.url",
                f"is {entry.dialect}: its schema can be read, but no query is safe there",
                hint="queries run on SQLite, PostgreSQL and MariaDB",
            )

    @property
    def program(self) -> Program:
        """The process that reads it; the password goes there over a pipe."""
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
        setup = {"dialect": self.entry.dialect, "connect": options}
        return Program(self.entry.label, "tasks.databases.server_child", ("-I",), setup, GRACE_S)

    def check(self) -> None:
        """Leave it: a server's content is not compared between queries."""

    def close(self) -> None:
        """Nothing of it is kept here."""
