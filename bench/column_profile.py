"""Benchmark the profile of a table of 10 million rows against a plain query: seconds and peak memory.

`python -m bench.column_profile 1000000` runs another size. The plain query is
`SELECT COUNT(*), COUNT(DISTINCT column), ...` with sqlite3, in a separate process of the same run.
"""

from __future__ import annotations

import multiprocessing
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from bench.measure import describe_machine
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import profile_columns

SIZES = (1_000_000, 10_000_000)
COLUMNS = ("visit_id", "guest", "town", "price", "arrived", "left_on", "code")
ROWS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {size})
INSERT INTO visits SELECT i, 'Guest ' || i % 1000003, 'Town ' || i % 40,
    CASE WHEN i % 100 = 0 THEN 'n/a' ELSE (i * 7919 % 100000) / 100.0 END,
    printf('%02d/%02d/%04d', i % 28 + 1, i % 12 + 1, 1990 + i % 30),
    date('1990-01-01', '+' || i % 11000 || ' days'), printf('%010d', i * 7919 % 10000000) FROM n
"""


def main(sizes: Sequence[int] = SIZES) -> None:
    """Print the seconds and the peak memory of the profile and of the plain query, and the ratio."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hotel.sqlite"
            make_visits(path, size)
            plain_s, plain_mib = run_alone(count_plainly, path)
            seconds, mib = run_alone(profile, path)
            print(
                f"{size:,} rows of {len(COLUMNS)} columns, {path.stat().st_size / 2**20:,.0f} MiB: profile "
                f"{seconds:.1f} s, peak {mib:.0f} MiB; plain counts {plain_s:.1f} s, "
                f"peak {plain_mib:.0f} MiB; {seconds / plain_s:.1f} times as long",
                flush=True,
            )


def make_visits(path: Path, size: int) -> None:
    """Write a table with keys, names, categories, prices, dates in two formats, and digits."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(
            "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, guest TEXT, town TEXT, price REAL, "
            "arrived DATE, left_on DATE, code TEXT)"
        )
        connection.execute(ROWS.format(size=size))
        connection.commit()


def profile(path: Path) -> None:
    """Profile the table as the stage does."""
    kinds = {
        column.column: column.reading for column in profile_columns(DatabaseEntry(file=path), ColumnRules())
    }
    expected = {"price": "number", "arrived": "%d/%m/%Y", "left_on": "", "code": ""}
    if expected != {name: kinds[name] for name in expected}:
        raise SystemExit(f"the profile read other columns than were written: {kinds}")


def count_plainly(path: Path) -> None:
    """Count the rows, and the distinct values of every column."""
    counts = ", ".join(f"COUNT(DISTINCT {name})" for name in COLUMNS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"SELECT COUNT(*), {counts} FROM visits").fetchall()


def run_alone(work: Callable[[Path], None], path: Path) -> tuple[float, float]:
    """Run a function in a separate process; return its seconds and its peak memory in MiB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (work, path))


def _measure(work: Callable[[Path], None], path: Path) -> tuple[float, float]:
    begun = time.perf_counter()
    work(path)
    seconds = time.perf_counter() - begun
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(describe_machine())
    main([int(size) for size in sys.argv[1:]] or SIZES)
