"""Run the gold SQL of a stream again, for nights: no answer is stored, so nights are held to each other."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tasks.artifacts.rows import make_id
from tasks.databases.execution import SafeDatabase
from tasks.errors import SqlError
from tasks.judging.gold import GoldAnswer
from tasks.streambench.build.items import StreamItem

SQL = "sql"


def gold(items: list[StreamItem], streambench: Path) -> list[GoldAnswer]:
    """Digest what the gold SQL of each item gives now, whatever the order of its rows.

    streambench: the folder of the datasets. Items of other kinds than SQL have no query.
    """
    answers = []
    with ExitStack() as stack:
        databases: dict[str, SafeDatabase] = {}
        for item in items:
            if item.kind != SQL:
                continue
            if item.file not in databases:
                databases[item.file] = stack.enter_context(SafeDatabase(streambench / item.file))
            try:
                rows = sorted(map(repr, databases[item.file].query(item.gold).rows))
            except SqlError as error:
                answers.append(GoldAnswer(item.id, f"its SQL does not run: {' '.join(str(error).split())}"))
                continue
            answers.append(GoldAnswer(item.id, digest=make_id(rows)))
    return answers
