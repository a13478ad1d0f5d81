"""Run the SQL of all groups again, so that nightly evaluations check that the answers are still right."""

from __future__ import annotations

from dataclasses import asdict

from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.publish.rerun import Rerun
from tasks.judging.gold import GoldAnswer


def gold(fill_in: list[Group], schema: list[Column], database: DatabaseEntry) -> list[GoldAnswer]:
    """Compare the answer of each group with the current result of the group's SQL.

    Database errors are not caught.
    """
    with SafeDatabase(database) as safe:
        rule = Rerun(safe, schema).rule()
        return [GoldAnswer(group.id, rule.check(asdict(group)) or "") for group in fill_in]
