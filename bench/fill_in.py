"""Benchmark the fill-in of a template against one query per combination (at least 50 times faster at 10^6).

`python -m bench.fill_in 10000000` runs another size. The two next stages, unbalanced and balanced, are
measured on the resulting groups: memory must not grow with their number. The reference runs a sample of the
combinations with plain sqlite3 in this process, without an index and with an index for the query.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import StoredRows, write_rows
from tasks.artifacts.rows import Drafts, Dropped
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits
from tasks.grammar.construct.balanced import Balanced, balanced
from tasks.grammar.construct.fill_in import FillIn, Group, fill_in
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.queries import Query, write_filled, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.construct.unbalanced import CriterionRule, Unbalanced, unbalanced

SIZES = (10_000, 1_000_000)
SAMPLE, SAMPLE_S = 2_000, 5.0
LIMITS = QueryLimits(timeout_s=7_200, memory_mb=512, disk_mb=32_768, bytes=50_000_000)
QUERY = Query(("rooms.name",), (("rooms.room_id", "stays.room_id"),), ("stays.day", "stays.guest"))
TEXTS = [TextTemplate("text", QUERY.id, "short", "Where was [stays.guest] on [stays.day]?", ())]
SCHEMA = [
    Column("rooms.name", "rooms", "name", "text", False, False, None, True),
    Column("rooms.room_id", "rooms", "room_id", "integer", False, True, None, False),
    Column("stays.day", "stays", "day", "text", False, False, None, True),
    Column("stays.guest", "stays", "guest", "text", False, False, None, True),
    Column("stays.room_id", "stays", "room_id", "integer", False, False, "rooms.room_id", False),
]


def main(sizes: Sequence[int] = SIZES) -> None:
    """Print pairs per second, the ratios and the peak memory of each size."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hotel.sqlite"
            make_hotel(path, size)
            filled = run_alone(fill, path)
            sets = {stage.__name__: run_alone(stage, path) for stage in (pair_all, pair_equally)}
            plain = time_query(path)
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE INDEX by_day_and_guest ON stays (day, guest)")
            indexed = time_query(path)
        per_row = filled.seconds / filled.rows
        print(
            f"fill-in: {filled.describe()} (stage + its reader; bound 1,024 at 10^7); "
            f"one query per combination: {plain / per_row:,.0f} times as long (bound 50 at 10^6), "
            f"with an index for it {indexed / per_row:.1f} times, both by plain sqlite3 on a sample"
        )
        for name, stage in (("unbalanced", "pair_all"), ("balanced", "pair_equally")):
            print(f"{name}: {sets[stage].describe()} (bound 1,024 at 10^7)")


@dataclass(frozen=True)
class Figures:
    """The cost of one stage: rows written, seconds, and peak MiB of its process and of its child."""

    rows: int
    seconds: float
    own_mib: float
    child_mib: float

    def describe(self) -> str:
        """Format the figures as part of a line."""
        return (
            f"{self.rows:,} rows in {self.seconds:.1f} s, {self.rows / self.seconds:,.0f} rows/s, "
            f"peak {self.own_mib:.0f} + {self.child_mib:.0f} MiB"
        )


def run_alone(stage: Callable[[Path], int], path: Path) -> Figures:
    """Run a stage in a separate process, to measure its peak memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (stage, path))


def measure(stage: Callable[[Path], int], path: Path) -> Figures:
    """Run a stage; return its rows, seconds, and peak memory of the process and its children."""
    began = time.perf_counter()
    rows = stage(path)
    seconds = time.perf_counter() - began
    own, child = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return Figures(rows, seconds, own, child)


def make_hotel(path: Path, size: int) -> None:
    """Write a database of `size` stays, each unique by guest and day."""
    guests = round(size**0.5)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("CREATE TABLE rooms (room_id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE stays (room_id INTEGER REFERENCES rooms, day TEXT, guest TEXT)")
        connection.executemany("INSERT INTO rooms VALUES (?, ?)", ((n, f"Room {n}") for n in range(500)))
        connection.executemany(
            "INSERT INTO stays VALUES (?, ?, ?)",
            ((n * 7 % 500, f"day {n // guests}", f"Guest {n % guests}") for n in range(size)),
        )
        connection.commit()


def fill(path: Path) -> int:
    """Fill the template and write the artifact; return the number of groups."""
    template = SqlTemplate(
        QUERY.id, write_template(QUERY), QUERY.tables, QUERY.projection, QUERY.placeholders, 0, ()
    )
    database = DatabaseEntry(name="hotel", file=path)
    drafts = fill_in([template], SCHEMA, database, FillIn(cap=None, limits=LIMITS))
    return write_rows(path.with_name("fill_in.parquet"), Group, drafts.rows)


def pair_all(path: Path) -> int:
    """Write the unbalanced set: one text for half of the groups; return the number of questions."""
    params = Unbalanced(rules={"short": CriterionRule(keep=0.5)})
    return write_set(path, "unbalanced", unbalanced(TEXTS, read_groups(path), [], params))


def pair_equally(path: Path) -> int:
    """Write the balanced set: one text per group; return the number of questions."""
    params = Balanced(criteria=("short",))
    return write_set(path, "balanced", balanced(TEXTS, read_groups(path), [], params))


def read_groups(path: Path) -> StoredRows[Group]:
    """Stream the groups as the runner does."""
    return StoredRows(path.with_name("fill_in.parquet"), Group)


def write_set(path: Path, name: str, drafts: Drafts[Question]) -> int:
    """Write a set and its dropped rows; return the number of questions."""
    write_rows(path.with_name(f"{name}.dropped.parquet"), Dropped, drafts.dropped)
    return write_rows(path.with_name(f"{name}.parquet"), Question, drafts.rows)


def time_query(path: Path) -> float:
    """Return the mean seconds of one query for one combination, over a sample."""
    draw = random.Random(0)
    with closing(sqlite3.connect(path)) as connection:
        days = [day for (day,) in connection.execute("SELECT DISTINCT day FROM stays")]
        guests = [guest for (guest,) in connection.execute("SELECT DISTINCT guest FROM stays")]
        drawn = [{"stays.day": draw.choice(days), "stays.guest": draw.choice(guests)} for _ in range(SAMPLE)]
        queries = [write_filled(QUERY, values) for values in drawn]
        count, began = 0, time.perf_counter()
        for sql in queries:
            connection.execute(sql).fetchall()
            count += 1
            if time.perf_counter() - began > SAMPLE_S:
                break
        return (time.perf_counter() - began) / count


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or SIZES)
