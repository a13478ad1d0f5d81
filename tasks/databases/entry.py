"""The entry of a database in params.yaml: `databases: {<name>: {file | url, title, licence, ...}}`."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from tasks.errors import BadInput, BenchloomError, DatabaseGone
from tasks.settings import VariableName

# Importing SQLAlchemy takes half a second, and most commands read entries without connecting.
if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

SECRET = re.compile(r"pass(?!file)|pwd|secret|token|api_?key", re.IGNORECASE)
"""Matches URL options that contain a secret: password, passwd, sslpassword, ssl_key_password and so on."""
WORLDS = ("data", "worlds")
"""The folder that contains the larger databases (`DatabaseEntry.world`), relative to the project."""
EXTRAS = {"postgresql": "postgresql", "mariadb": "mariadb", "mysql": "mariadb"}
"""SQLAlchemy's name for an engine -> the extra that installs its driver."""
DRIVERS = {"postgresql": "psycopg", "mariadb": "pymysql", "mysql": "pymysql"}
"""SQLAlchemy's name for an engine -> the driver to use if the URL names no driver."""
DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mysql": "mysql"}
"""SQLAlchemy's name for an engine -> its sqlglot dialect."""


class DatabaseEntry(BaseModel):
    """A database: a SQLite file, or a SQLAlchemy URL whose password is in the environment."""

    # A rejected URL may contain a password, so error messages must not repeat the input.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: str = ""
    file: Path | None = None
    """The file that DVC hashes: a SQLite file or, if `url` is set, the record of the server's content."""
    url: str | None = None
    """A SQLAlchemy URL without a password, instead of a SQLite file: `postgresql://user@host/name`."""
    password_env: VariableName | None = None
    """The environment variable that holds the URL's password."""
    title: str = ""
    """The title on pages and on the dataset's card."""
    licence: str = ""
    """The licence of the data, as an SPDX id. Publishing requires a licence."""
    source: str = ""
    """The source of the data, for the dataset's card."""
    attribution: str = ""
    """The author to credit for the data on the dataset's card."""
    description: str = ""
    """One sentence about the content, for the dataset's card and the pages."""
    world: Path | None = None
    """The SQLite file in data/worlds that contains this database. Each question must have the same answer
    in both databases."""
    templates: Literal["beside", "instead"] | None = None
    """Whether user-written templates (data/templates/<name>.jsonl) are added to the model-written templates,
    or replace the model-written templates."""
    templates_by: str = ""
    """The author of the user-written templates, for the dataset's card and page, such as "the project's
    authors"."""
    strict_templates: bool = False
    """Whether every rule for model-written templates also applies to user-written templates."""
    glossary: Mapping[str, str] = {}
    """Table or column (`table.column`, or the column's name) -> the term that people use for it."""
    leave_out: tuple[str, ...] = ()
    """Tables and columns (`table.column`) that questions must not use, such as telephone numbers or technical
    codes. Keys in these tables and columns are still used to join tables."""
    columns: Mapping[str, str] = {}
    """Column (`table.column`, or the column's name) -> its correct kind, if the profile is wrong: text,
    integer, real, date, boolean, other (no questions), or a date format such as %d/%m/%Y."""
    kinds: tuple[str, ...] | None = None
    """The kinds of SQL templates to use, named as in `grammar.sql_templates.kinds`; null uses all kinds."""
    scope: Mapping[str, str | tuple[str, str]] = {}
    """Table -> a phrase that limits a question to this database: `in the catalogue`. The phrase appears in
    questions that may have another answer in a larger database. The answers to these questions are not
    compared with `world`. A second phrase, if given, applies to questions about a single date."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, text: str | None) -> str | None:
        if text is None:
            return None
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise PydanticCustomError(
                "url", "is not a SQLAlchemy URL (dialect://user@host/database)"
            ) from None
        if url.password is not None:
            raise PydanticCustomError(
                "password",
                "contains a password (put it into an environment variable, and name that in password_env)",
            )
        if any(SECRET.search(name) for name in url.query):
            raise PydanticCustomError(
                "secret",
                "contains a password or another secret among its options (name the password in password_env; "
                "put other secrets into a driver file that `service` or `passfile` names)",
            )
        if url.get_backend_name() == "sqlite":
            raise PydanticCustomError("sqlite", "is a SQLite file (name it by file, which DVC can hash)")
        return text

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.file is None and self.url is None:
            raise PydanticCustomError("place", "needs a file (SQLite) or a url (SQLAlchemy)")
        if self.world is not None and self.world.parts[:2] != WORLDS and not self.world.is_absolute():
            raise PydanticCustomError("world", "has a world outside data/worlds, the folder that stages read")
        if self.url is not None and self.file is not None and self.file.suffix != ".json":
            raise PydanticCustomError(
                "record",
                "needs a file that ends in .json in addition to its url, for the record of its content",
            )
        return self

    def resolve_under(self, root: Path) -> DatabaseEntry:
        """Return the entry with file paths resolved relative to a project's root folder."""
        files = {"file": self.file, "world": self.world}
        return self.model_copy(update={name: root / file for name, file in files.items() if file is not None})

    def find_world(self) -> DatabaseEntry | None:
        """Return the entry of the larger database in `world`; None if `world` is not set."""
        return None if self.world is None else DatabaseEntry(name=self.name, file=self.world)

    def locate_file(self) -> Path:
        """Return the path of the SQLite file.

        Raises BadInput if the database is a server, or if the file does not exist.
        """
        if self.file is None or self.url is not None:
            raise BadInput(self.label, "is not a SQLite file")
        if not self.file.is_file():
            raise BadInput(
                self.file,
                "no such database file",
                hint=(
                    f"{self.label} names this file; if a stage creates the file, first run: "
                    "benchloom run sources"
                ),
            )
        return self.file

    def connect(self) -> Engine:
        """Create an engine without a connection pool; a SQLite file is opened read-only.

        Raises BadInput if the file, the driver or the password is missing.
        """
        if self.url is None:
            return _open_file(self.locate_file())
        from sqlalchemy import create_engine
        from sqlalchemy.exc import NoSuchModuleError
        from sqlalchemy.pool import NullPool

        self.require_driver()
        try:
            url = self.complete_url()
            # Without this option, psycopg returns text as bytes if the server has no encoding (SQL_ASCII).
            options = {"client_encoding": "utf8"} if url.drivername.endswith("+psycopg") else {}
            engine = create_engine(url, poolclass=NullPool, connect_args=options)
        except (NoSuchModuleError, ImportError) as error:
            hint = "install the extra postgresql (psycopg) or mariadb (pymysql)"
            raise BadInput(
                f"{self.label}.url", f"needs a driver that is not installed: {error}", hint=hint
            ) from error
        if engine.driver == "psycopg":
            from sqlalchemy import event

            from tasks.databases.odd_dates import read_odd_dates

            event.listen(engine, "connect", lambda connection, _: read_odd_dates(connection))
        return engine

    def require_driver(self, driven: URL | None = None) -> None:
        """Raise BadInput, with the extra to install, if the URL's driver is not installed.

        `driven`: check the driver of this URL instead of the entry's URL.
        """
        url = driven or self.parse_url()
        driver = url.drivername.partition("+")[2]
        extra = EXTRAS.get(url.get_backend_name())
        if extra and driver in ("psycopg", "pymysql") and find_spec(driver) is None:
            raise BadInput(
                f"{self.label}.url",
                f"needs {driver}, which is not installed here",
                hint=f"run pip install 'benchloom[{extra}]'",
            )

    def explain(self, error: Exception, what: str) -> BenchloomError:
        """Convert a driver's error to DatabaseGone or BadInput, with the password masked in the message.

        `what`: a clause that says what failed, such as "its schema cannot be read".
        """
        from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

        text = name_cause(error)
        if password := os.environ.get(self.password_env or ""):
            text = text.replace(password, "***")
        lost = isinstance(error, DBAPIError) and (
            isinstance(error, (OperationalError, InterfaceError)) or error.connection_invalidated
        )
        if self.url is not None and lost:
            return DatabaseGone(
                f"{self.label}: the server does not respond: {text}; run the same command again once the "
                "server is up"
            )
        return BadInput(self.label if self.url is not None else self.file or self.label, f"{what}: {text}")

    @property
    def label(self) -> str:
        """Return the entry's name for error messages."""
        return f"databases.{self.name}" if self.name else f"database {self.title or self.file or 'by url'}"

    @property
    def dialect(self) -> str:
        """Return the sqlglot dialect (sqlite, postgres, mysql), or SQLAlchemy's name for another backend."""
        if self.url is None:
            return "sqlite"
        from sqlalchemy import make_url

        backend = make_url(self.url).get_backend_name()
        return DIALECTS.get(backend, backend)

    def parse_url(self) -> URL:
        """Return the URL without a password; if the URL names no driver, add the engine's driver."""
        from sqlalchemy import make_url

        url = make_url(self.url or "sqlite://")
        driver = DRIVERS.get(url.drivername)
        return url.set(drivername=f"{url.drivername}+{driver}") if driver else url

    def complete_url(self) -> URL:
        """Return the URL with the password from the environment.

        Raises BadInput if the environment variable is not set.
        """
        url = self.parse_url()
        if self.password_env is None:
            return url
        password = os.environ.get(self.password_env)
        if password is None:
            raise BadInput(self.label, f"the environment variable {self.password_env} is not set")
        return url.set(password=password)


def name_cause(error: Exception) -> str:
    """Return the first line of a driver's error message, which names the cause."""
    # An error of PyMySQL has the arguments (number, message), so the message is last.
    cause = getattr(error, "orig", None) or error
    return next(iter(str(cause.args[-1] if cause.args else cause).strip().splitlines()), "no word")


def read_entry(name: str, fields: Mapping[str, object]) -> DatabaseEntry:
    """Parse an entry of `databases:`. Raises BadInput with the names of the entry and the invalid field."""
    try:
        return DatabaseEntry.model_validate({**fields, "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["databases", name, *map(str, first["loc"])])
        raise BadInput(where, first["msg"]) from None


def _open_file(path: Path) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    return create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(uri, uri=True, check_same_thread=False),
        poolclass=NullPool,
    )
