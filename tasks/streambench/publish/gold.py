"""Re-run the gold SQL of a stream, to detect changed results between nightly runs.

Datasets contain gold queries without results, so each nightly run is compared with the previous one.
"""

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
    """Return a digest of the current result of each item's gold SQL, independent of row order.

    streambench: the folder of the datasets. Items of kinds other than SQL are skipped.
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
                answers.append(GoldAnswer(item.id, f"its SQL fails: {' '.join(str(error).split())}"))
                continue
            answers.append(GoldAnswer(item.id, digest=make_id(rows)))
    return answers
