"""Tests of the memory that hostile SQL uses on SQLite. Other attacks: tests/hostile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.databases.execution import SafeDatabase
from tasks.errors import SqlError
from tests.hostile.statements import LIMITS, read_statements

STATEMENTS = read_statements("statements_sqlite")


@pytest.fixture
def database(library: Path) -> Iterator[SafeDatabase]:
    with SafeDatabase(library, LIMITS, children=1) as opened:
        yield opened


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see a process's size")
@pytest.mark.parametrize(
    "name", ["endless sort", "cross join sort", "doubling replace", "group_concat", "json table"]
)
def test_memory_stays_within_the_limit(name: str, database: SafeDatabase) -> None:
    with database._borrow() as child:
        status = Path(f"/proc/{child.pid}/status")
    sizes = [0]
    done = threading.Event()

    def watch() -> None:
        ended = False
        while not ended:
            ended = done.wait(0.005)
            with contextlib.suppress(OSError, IndexError, ValueError):
                sizes.append(int(status.read_text().split("VmPeak:")[1].split()[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with pytest.raises(SqlError):
        database.query(STATEMENTS[name])
    done.set()
    watcher.join()
    assert 0 < max(sizes) <= LIMITS.memory_mb * 1024
