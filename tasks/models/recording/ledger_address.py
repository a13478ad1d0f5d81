"""Find the live ledger: a SQLite file, or a PostgreSQL database.

The database's URL must not contain a password.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import platformdirs

from tasks.errors import BadInput

SCHEMES = frozenset({"postgresql", "postgres"})
PASSWORD_HINT = "put the password into PGPASSWORD or ~/.pgpass"  # noqa: S105 - where it belongs

Address = Path | str
"""The path of a SQLite file, or the URL of a PostgreSQL database."""


def find_ledger(setting: str | None = None) -> Address:
    """Return the live ledger's address: BENCHLOOM_LEDGER, otherwise `setting`, otherwise a default file.

    The default file is in the user's data folder. Raises BadInput if BENCHLOOM_LEDGER is not valid, and
    ValueError if `setting` is not valid.
    """
    if named := os.environ.get("BENCHLOOM_LEDGER"):
        try:
            return read_address(named)
        except ValueError as error:
            raise BadInput("BENCHLOOM_LEDGER", str(error)) from None
    if setting:
        return read_address(setting)
    return Path(platformdirs.user_data_dir("benchloom", appauthor=False)) / "ledger.sqlite"


def read_address(text: str) -> Address:
    """Parse an address. Raises ValueError if the address is not valid.

    The error message omits the address, which may contain a password.
    """
    if "://" not in text:
        return Path(text).expanduser()
    try:
        parts = urlsplit(text)
        has_password = parts.password is not None
    except ValueError:
        raise ValueError("is not a database URL (postgresql://user@host/database)") from None
    if parts.scheme not in SCHEMES:
        raise ValueError("must be a file path or postgresql://user@host/database")
    # The option passfile names a file, but password and sslpassword contain secrets.
    if has_password or any("password" in name.lower() for name, _ in parse_qsl(parts.query)):
        raise ValueError(f"contains a password: {PASSWORD_HINT}")
    return text
