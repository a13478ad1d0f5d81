"""Tests of hostile replies instead of rows: resource limits and forbidden effects. More: tests/hostile."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from tasks.databases import child
from tasks.databases.child import ReaderProcess, ReaderProgram
from tasks.databases.scratch.scratch import ScratchLimits, build_scratch
from tasks.databases.scratch.scratch_inserts import read_inserts
from tasks.errors import SqlError, SqlRefused, SqlTimeout, SqlTooLarge
from tests.databases.test_scratch import GOOD, fail
from tests.hostile.kinds.scratch_replies import CREATE, TABLES
from tests.hostile.statements import read_statements

STATEMENTS = read_statements("statements_sqlite")


def test_a_reply_of_a_hundred_megabytes_reaches_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START", "raise SystemExit")
    assert "100,000,000 characters" in fail("(" * 100_000_000, SqlTooLarge)


def test_no_process_is_left() -> None:
    before = list_children()
    build_scratch(CREATE, GOOD)
    fail("INSERT INTO authors VALUES (1)")
    assert list_children() == before


def test_a_process_that_parses_on_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    change_reading(monkeypatch, "while True: pass")
    before = list_children()
    began = time.monotonic()
    assert "did not finish within 0.2 s; write fewer" in fail(GOOD, SqlTimeout, timeout_s=0.2)
    assert time.monotonic() - began < 3
    assert list_children() == before


def test_inserting_stops_at_the_time() -> None:
    rows = ",".join(f"({n}, 'A', 1)" for n in range(10_000))
    text = f"INSERT INTO authors VALUES {rows}"
    assert "did not finish" in fail(text, SqlTimeout, timeout_s=0.05, rows=10_000)
    assert build_scratch(CREATE, text, ScratchLimits(rows=10_000, timeout_s=60)).rows["authors"] == 10_000


def test_a_process_that_was_stopped_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(process: ReaderProcess, request: object, seconds: float) -> object:
        os.kill(process.pid, signal.SIGSTOP)
        return honest(process, request, seconds)  # type: ignore[arg-type]

    honest = ReaderProcess.ask
    monkeypatch.setattr(ReaderProcess, "ask", ask)
    before = list_children()
    fail(GOOD, SqlTimeout, timeout_s=0.2)
    assert list_children() == before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see a process's size")
@pytest.mark.parametrize(
    "text", ["(" * 2_000_000, "'" * 1_999_999, "INSERT INTO authors VALUES (1),\n" * 60_000]
)
def test_memory_stays_within_the_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [0]
    done = threading.Event()

    def watch(pid: int) -> None:
        while not done.wait(0.005):
            with contextlib.suppress(OSError, IndexError, ValueError):
                status = Path(f"/proc/{pid}/status").read_text()
                sizes.append(int(status.split("VmPeak:")[1].split()[0]))

    def ask(process: ReaderProcess, request: object, seconds: float) -> object:
        watcher = threading.Thread(target=watch, args=(process.pid,))
        watcher.start()
        try:
            return honest(process, request, seconds)  # type: ignore[arg-type]
        finally:
            done.set()
            watcher.join()

    honest = ReaderProcess.ask
    monkeypatch.setattr(ReaderProcess, "ask", ask)
    with pytest.raises(SqlError):
        build_scratch(CREATE, text, ScratchLimits(characters=2_000_000, memory_mb=96, timeout_s=10))
    assert 0 < max(sizes) <= 96 * 1024


@pytest.mark.parametrize("name", STATEMENTS)
def test_parsing_refuses_hostile_statements(name: str) -> None:
    text = STATEMENTS[name][:200_000]
    if name == "insert":
        assert read_inserts(text, TABLES, rows=10, value=100)[0].values["full_name"] == "'Mallory'"
        return
    with pytest.raises(SqlError) as caught:
        read_inserts(text, TABLES, rows=10, value=100)
    assert isinstance(caught.value, SqlRefused)


def test_the_engine_refuses_without_the_parser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raw = "return [type('Raw', (), dict(place='raw', table='authors', values=dict(), sql=text))()]"
    change_reading(monkeypatch, raw)
    setup = {"create": CREATE, "rows": 10, "value": 1_000}
    program = ReaderProgram("test", "tasks.databases.scratch.scratch_child", setup, 0.3)
    inserts = {
        "select": "INSERT INTO authors SELECT * FROM authors",
        "subquery": "INSERT INTO authors VALUES (5, (SELECT title FROM books), 1)",
        "function": "INSERT INTO authors VALUES (5, hex(randomblob(100)), 1)",
        "extension": f"INSERT INTO authors VALUES (5, load_extension('{tmp_path}/x'), 1)",
        "recursive": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r) "
        "INSERT INTO authors SELECT n, n, n FROM r",
        "upsert": "INSERT INTO books VALUES (1, 'x', 1, NULL) ON CONFLICT DO UPDATE SET price = 2",
        "schema": "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 2, 'x')",
        "temporary schema": "INSERT INTO temp.sqlite_master VALUES ('table', 'x', 'x', 2, 'x')",
        "two": "INSERT INTO authors VALUES (5, 'x', 1), (6, 'x', 1)",
        "none": "INSERT OR IGNORE INTO books VALUES (6, NULL, 1, NULL)",
        "file": f"VACUUM INTO '{tmp_path}/evil'",
        "end": "COMMIT",
    }
    kinds: dict[str, str] = {}
    process = ReaderProcess(program, memory=96 << 20, disk=0, max_bytes=800_000)
    for name, text in (STATEMENTS | inserts).items():
        if not process.usable:
            process = ReaderProcess(program, memory=96 << 20, disk=0, max_bytes=800_000)
        try:
            process.ask({"sql": text.replace("{folder}", str(tmp_path))}, 1.0)
            kinds[name] = "answered"
        except SqlError as error:
            kinds[name] = type(error).__name__
    process.kill()
    # A harmless row in an internal table: only the parser refuses it.
    assert {name for name, kind in kinds.items() if kind == "answered"} == {"insert", "replace"}
    failed = {name for name in inserts if kinds[name] != "SqlRefused"}
    assert failed == {"file"}, "there is no VACUUM in a transaction"
    assert list(tmp_path.iterdir()) == []


def change_reading(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Replace the body of the function with which the process reads a reply."""
    changed = "import tasks.databases.scratch.scratch_inserts as inserts\n"
    changed += f"def read(text, *_, **__):\n    {body}\ninserts.read_inserts = read\nfrom "
    monkeypatch.setattr(child, "START", child.START.replace("; ", "\n").replace("from ", changed))


def list_children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}
