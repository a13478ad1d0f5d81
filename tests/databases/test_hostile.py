from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import SqlError
from tests.databases.hostile import MAY_ANSWER, STATEMENTS
from tests.databases.throwing import throw_in_time

LIMITS = QueryLimits(timeout_s=0.25, rows=1_000, bytes=1_000_000, memory_mb=128)
HONEST = "SELECT title FROM books WHERE book_id = 7"


@pytest.fixture
def database(library: Path) -> Iterator[SafeDatabase]:
    with SafeDatabase(library, LIMITS, children=1) as opened:
        opened.query(HONEST)
        yield opened


@pytest.mark.parametrize("name", STATEMENTS)
def test_nothing_changes_and_it_ends(name: str, library: Path, database: SafeDatabase) -> None:
    sql = STATEMENTS[name].replace("{folder}", str(library.parent))
    before = hashlib.sha256(library.read_bytes()).hexdigest()
    (outcome, answered), seconds = throw_in_time(database, sql, LIMITS.timeout_s + 1)
    assert not answered or name in MAY_ANSWER
    assert seconds < LIMITS.timeout_s + 1
    assert 0 < len(outcome) < 1_000
    assert "\n" not in outcome
    assert hashlib.sha256(library.read_bytes()).hexdigest() == before
    assert [path.name for path in library.parent.iterdir()] == [library.name]
    assert database.query(HONEST).rows == [("Book 7",)]


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
