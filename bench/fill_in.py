"""The fill-in of one template against one query per combination: at least 50 times faster at 10^6 pairs.

`python -m bench.fill_in 10000000` runs another size. The reference is timed on a sample of the combinations,
by plain sqlite3 in this process: without an index, as a schema has it, and with one made for the purpose.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tasks.artifacts.parquet import write_rows
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import Limits
from tasks.grammar.fill_in import FillIn, fill_in
from tasks.grammar.queries import Query, write_filled, write_template
from tasks.grammar.rows import Group, SqlTemplate

SIZES = (10_000, 1_000_000)
SAMPLE, SAMPLE_S = 2_000, 5.0
LIMITS = Limits(timeout_s=7_200, memory_mb=512, disk_mb=32_768, bytes=50_000_000)
QUERY = Query(("rooms.name",), (("rooms.room_id", "stays.room_id"),), ("stays.day", "stays.guest"))
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
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pairs, seconds, parent, child = pool.apply(fill, (path,))
            plain = time_query(path)
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE INDEX by_day_and_guest ON stays (day, guest)")
            indexed = time_query(path)
        each = seconds / pairs
        print(
            f"fill-in: {pairs:,} pairs in {seconds:.1f} s, {pairs / seconds:,.0f} pairs/s, "
            f"peak {parent:.0f} + {child:.0f} MiB (stage + its reader; bound 1,024 at 10^7); "
            f"one query per combination: {plain / each:,.0f} times as long (bound 50 at 10^6), "
            f"with an index for it {indexed / each:.1f} times, both by plain sqlite3 on a sample"
        )


def make_hotel(path: Path, size: int) -> None:
    """Write a database of `size` stays, each the only one of its guest on its day."""
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


def fill(path: Path) -> tuple[int, float, float, float]:
    """Fill the template and write the artifact; give pairs, seconds, and the peak MiB of both processes."""
    template = SqlTemplate(
        QUERY.id, write_template(QUERY), QUERY.tables, QUERY.projection, QUERY.placeholders, ()
    )
    began = time.perf_counter()
    database = DatabaseEntry(name="hotel", file=path)
    drafts = fill_in([template], SCHEMA, database, FillIn(cap=None, limits=LIMITS))
    pairs = write_rows(path.with_name("fill_in.parquet"), Group, drafts.rows)
    seconds = time.perf_counter() - began
    ours, theirs = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return pairs, seconds, ours, theirs


def time_query(path: Path) -> float:
    """Give the seconds that one query for one combination takes, over a sample: running it, no more."""
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
