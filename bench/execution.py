"""Benchmark scoring SQL by execution against a loop that opens the database for each pair of queries.

The loop is the simplest implementation: open, run both queries, compare the sets of rows, close. It has no
limit on time or memory, and reads the schema again for each pair, which is slow for large schemas. Pairs are
distinct queries over synthetic databases, or Spider's development set if BENCHLOOM_SHARED contains a copy.
Predictions are worded differently from the gold queries, so that no result is reused.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tasks.scoring.execution import Execution, QueryItem, TestSuites

ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"
ROUNDS = 3
TIMEOUT = 1.0
Triple = tuple[str, str, str]
"""The name of a database, the gold query, and the prediction."""


def main() -> None:
    """Measure three sizes, then the delay that endless queries cause for other queries."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        make_databases(small, tables=12)
        for size in (1_000, 4_000, 16_000):
            compare(f"{size:,} pairs over 20 databases of 12 tables", small, make_pairs(size))
        make_databases(large, tables=48)
        compare("16,000 pairs over 20 databases of 48 tables", large, make_pairs(16_000))
        endure(small, make_pairs(1_000))
    if shared := os.environ.get("BENCHLOOM_SHARED"):
        spider = Path(shared, "spider")
        records = json.loads((spider / "dev.json").read_text())
        gold = [(record["db_id"], record["query"]) for record in records]
        compare("Spider dev, gold against itself", spider / "database", [(*g, g[1]) for g in gold])
        compare("Spider dev, worded otherwise", spider / "database", [(*g, reword(g[1])) for g in gold])


def reword(sql: str) -> str:
    """Return a query that is worded differently but has the same result."""
    return f"SELECT * FROM ({sql.rstrip().rstrip(';')})"


def make_databases(folder: Path, tables: int) -> None:
    """Create 20 databases of `tables` tables with 8 columns and 50 rows."""
    chance = random.Random(0)
    for number in range(20):
        place = folder / f"d{number}" / f"d{number}.sqlite"
        place.parent.mkdir(parents=True)
        with closing(sqlite3.connect(place)) as connection:
            for table in range(tables):
                connection.execute(f"CREATE TABLE t{table} ({', '.join(f'c{c} INTEGER' for c in range(8))})")
                rows = [[chance.randrange(100) for _ in range(8)] for _ in range(50)]
                connection.executemany(f"INSERT INTO t{table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.commit()


def make_pairs(size: int) -> list[Triple]:
    """Generate distinct queries, each with a reworded query that has the same result."""
    chance = random.Random(size)
    pairs = []
    for number in range(size):
        table, a, b, c = chance.randrange(12), *chance.sample(range(8), 3)
        rest = f"c{a}, c{b} FROM t{table} WHERE c{c} < {chance.randrange(100)} AND {number} = {number}"
        pairs.append((f"d{number * 20 // size}", f"SELECT {rest}", f"SELECT DISTINCT {rest}"))
    return pairs


def compare(title: str, databases: Path, triples: Sequence[Triple]) -> None:
    """Time the loop and the pool alternately; print medians and ratios of wall-clock and CPU seconds."""
    runs = (run_loop, run_pool)
    times: dict[str, list[tuple[float, float]]] = {run.__name__: [] for run in runs}
    for _ in range(ROUNDS):
        for run in runs:
            began, used = time.perf_counter(), count_processor_seconds()
            correct = run(databases, triples)
            passed = time.perf_counter() - began, count_processor_seconds() - used
            times[run.__name__].append(passed)
            assert correct > len(triples) / 2
    (loop, loop_used), (pool, pool_used) = (
        map(statistics.median, zip(*times[run.__name__], strict=True)) for run in runs
    )
    print(
        f"execution: {title}: {pool:.3f} s ({len(triples) / pool:,.0f} pairs/s, processes' start included); "
        f"a loop that opens the database for each pair: {loop:.3f} s; {loop / pool:.1f} times; "
        f"processor time {pool_used:.3f} s, the loop's {loop_used:.3f} s"
    )


def count_processor_seconds() -> float:
    """Return the CPU seconds of this process and of its finished child processes."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def run_loop(databases: Path, triples: Sequence[Triple]) -> int:
    """Score with the plain loop; return the number of correct predictions."""
    correct = 0
    for name, gold, predicted in triples:
        with closing(sqlite3.connect(databases / name / f"{name}.sqlite")) as connection:
            given = connection.execute(predicted).fetchall()
            right = connection.execute(gold).fetchall()
        correct += bool(given) and bool(right) and set(given) == set(right)
    return correct


def run_pool(databases: Path, triples: Sequence[Triple], timeout: float = 30.0) -> int:
    """Score as `benchloom score execution` does."""
    metric, suites = Execution(databases, timeout=timeout), TestSuites(databases)
    items = (QueryItem(gold, predicted, suites.locate(name)) for name, gold, predicted in triples)
    return sum(scores[0].outcome == "correct" for _, scores in metric.score(items, ("streambench",)))


def endure(databases: Path, triples: list[Triple]) -> None:
    """Print the delay that 20 endless predictions cause for other predictions, adjacent and spread out."""
    began = time.perf_counter()
    run_pool(databases, triples, TIMEOUT)
    without = time.perf_counter() - began
    workers = os.cpu_count() or 1
    for title, places in (("in a row", range(100, 120)), ("spread", range(0, 1_000, 50))):
        spoilt = [
            (name, gold, f"{ENDLESS} WHERE i <> {-place}" if place in places else predicted)
            for place, (name, gold, predicted) in enumerate(triples)
        ]
        began = time.perf_counter()
        run_pool(databases, spoilt, TIMEOUT)
        taken = time.perf_counter() - began
        print(
            f"execution: 20 endless among 1,000, {title}: {taken:.2f} s, without them {without:.2f} s; "
            f"their own timeouts over {workers} workers: {20 * TIMEOUT / workers:.2f} s"
        )


if __name__ == "__main__":
    main()
