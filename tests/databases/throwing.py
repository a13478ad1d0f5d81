"""Run hostile statements on a database, with or without the parser."""

from __future__ import annotations

import pytest

from tasks.databases import child
from tasks.databases.execution import SafeDatabase
from tasks.errors import SqlError


def throw(database: SafeDatabase, sql: str) -> tuple[str, bool]:
    """Run a statement; return the outcome as one line, and whether it returned an answer."""
    try:
        return str(database.query(sql).rows), True
    except SqlError as error:
        return str(error), False


def skip_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the parser in reader processes, so that only the engine can refuse statements."""
    unchecked = "import sqlglot, tasks.databases.checking as checking; "
    unchecked += "checking.check_select = lambda *_: sqlglot.select('1'); from "
    monkeypatch.setattr(child, "START", child.START.replace("from ", unchecked))
