"""Throws a statement at a database, with the parser or without."""

from __future__ import annotations

import pytest

from tasks.databases import child
from tasks.databases.execution import SafeDatabase
from tasks.errors import SqlError


def throw(database: SafeDatabase, sql: str) -> tuple[str, bool]:
    """Run a statement; give what came of it in a line, and whether it answered."""
    try:
        return str(database.query(sql).rows), True
    except SqlError as error:
        return str(error), False


def skip_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading processes run what they are given: what is refused then, the engine refuses."""
    unchecked = "import sqlglot, tasks.databases.checking as checking; "
    unchecked += "checking.check_select = lambda *_: sqlglot.select('1'); from "
    monkeypatch.setattr(child, "START", child.START.replace("from ", unchecked))
