import asyncio
import multiprocessing
import os
import re
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.models.recording.entries import UNANSWERED
from tasks.models.recording.ledger import Ledger, ModelStats, OpenBatch, PossiblyPaid
from tasks.models.recording.shipped import write_shipped
from tests.models.ledger_places import damage
from tests.models.scenes import make_entry, make_request


def test_a_recorded_call_is_found_again_by_another_opening(live):
    entry = make_entry(
        make_request(), "nul \0 é 🜨", extra={"logprobs": [0.5]}, latency_s=1.5, attempts=2, at=12.0
    )
    with Ledger(live) as ledger:
        ledger.put(entry)
    with Ledger(live) as ledger:
        assert ledger.get(entry.key) == entry
        assert ledger.get("no such key") is None


def test_the_first_answer_stays(live):
    with Ledger(live) as ledger:
        ledger.put(make_entry(make_request(), "first"))
        ledger.put(make_entry(make_request(), "second"))
        assert ledger.get(make_request().key()).text == "first"


def test_a_shipped_answer_comes_before_a_live_one(tmp_path, live):
    request = make_request()
    write_shipped(tmp_path / "s.jsonl.gz", [make_entry(request, "shipped")])
    with Ledger(live, [tmp_path / "s.jsonl.gz"]) as ledger:
        ledger.put(make_entry(request, "live"))
        assert ledger.get(request.key()).text == "shipped"


def test_every_part_of_a_request_makes_another_key():
    base = make_request()
    others = [
        make_request(1), make_request(sample=1), make_request(attempt=1), make_request(epoch="2026-01-01"),
        make_request(identity="ab"), make_request(constraint={"grammar": "root ::= [a-z]"}),
    ]  # fmt: skip
    assert len({request.key() for request in [base, *others]}) == 7


def write_many(live, worker, count):
    with Ledger(live) as ledger:
        for number in range(count):
            # All workers share half of the keys; the other half belongs to this worker.
            request = make_request(number if number % 2 else 1_000 * (worker + 1) + number)
            ledger.put(make_entry(request, f"answer {request.messages[0]['content']}"))


def test_four_processes_share_one_ledger(live):
    count = 60
    workers = [
        multiprocessing.get_context("spawn").Process(target=write_many, args=(live, worker, count))
        for worker in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    with Ledger(live) as ledger:
        assert ledger.stats().live_calls == 30 + 4 * 30
        assert all(entry.text.startswith("answer question") for entry in ledger.iterate())
    if isinstance(live, Path):
        assert sqlite3.connect(live).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_killed_process_loses_no_finished_call(live):
    code = (
        "import os, signal, sys\n"
        "from tasks.models.recording.ledger import Ledger\n"
        "from tasks.models.recording.ledger_address import read_address\n"
        "from tests.models.scenes import make_entry, make_request\n"
        "ledger = Ledger(read_address(sys.argv[1]))\n"
        "for number in range(20):\n"
        "    ledger.put(make_entry(make_request(number)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(live)], check=False, env={**os.environ, "PYTHONPATH": "."}
    )
    assert result.returncode == -signal.SIGKILL
    with Ledger(live) as ledger:
        assert all(ledger.get(make_request(number).key()) for number in range(20))


def test_a_file_that_is_no_ledger_is_bad_input(tmp_path):
    path = tmp_path / "l.sqlite"
    path.write_bytes(b"this is no database, but it is long enough to be taken for one by its name alone" * 20)
    with pytest.raises(BadInput, match=r"l\.sqlite: cannot be used as the ledger"):
        Ledger(path)


def test_possibly_paid_calls_are_booked(live):
    call = PossiblyPaid("k", "m", "no reply in time", 10, 20, 5.0)
    with Ledger(live) as ledger:
        ledger.record_possibly_paid(call)
        assert ledger.list_possibly_paid() == [call]
        assert ledger.stats().possibly_paid == 1


def test_pruning_deletes_what_is_old_and_nothing_else(live):
    with Ledger(live) as ledger:
        ledger.put_many(make_entry(make_request(number), at=float(number)) for number in range(10))
        assert [group.calls for group in ledger.prune(4.0, dry_run=True)] == [4]
        assert ledger.stats().live_calls == 10
        assert [group.calls for group in ledger.prune(4.0)] == [4]
        assert [entry.at for entry in sorted(ledger.iterate(), key=lambda e: e.at)] == [4, 5, 6, 7, 8, 9]


def test_calls_are_counted_and_pruned_by_model_and_way(live):
    with Ledger(live) as ledger:
        ledger.put_many(
            make_entry(make_request(number), at=float(number), model="ab"[number % 2], batch=number >= 8)
            for number in range(10)
        )
        ledger.record_possibly_paid(PossiblyPaid("k", "a", "no reply in time", 10, 20, 1.0))
        ledger.record_possibly_paid(PossiblyPaid("l", "b", "no reply in time", 10, 20, 1.0))
        # make_entry: 7 + 3 tokens. Of the even numbers, 0, 2, 4, 6 are single calls and 8 is a batch call.
        assert ledger.count_models() == [
            ModelStats("a", False, 4, 28, 12), ModelStats("a", True, 1, 7, 3),
            ModelStats("b", False, 4, 28, 12), ModelStats("b", True, 1, 7, 3),
        ]  # fmt: skip
        assert ledger.prune(5.0, model="a") == [ModelStats("a", False, 3, 21, 9)]
        assert sorted(entry.at for entry in ledger.iterate()) == [1, 3, 5, 6, 7, 8, 9]
        assert [call.model for call in ledger.list_possibly_paid()] == ["b"]


def test_a_ledger_of_an_earlier_version_goes_on(tmp_path):
    path = tmp_path / "l.sqlite"
    entry = make_entry(make_request(), at=1.0)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE calls (key TEXT PRIMARY KEY, text TEXT NOT NULL, finish_reason TEXT NOT NULL, "
            "prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, estimated INTEGER NOT NULL, "
            "extra TEXT NOT NULL, latency_s REAL NOT NULL, attempts INTEGER NOT NULL, at REAL NOT NULL"
            ") WITHOUT ROWID"
        )
        values = (entry.key, entry.text, "stop", 7, 3, 0, "{}", 0.0, 1, 1.0)
        connection.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    for _ in range(2):
        with Ledger(path) as ledger:
            assert ledger.get(entry.key) == entry
            assert ledger.count_models()[0] == ModelStats("", False, 1, 7, 3)
            ledger.put(make_entry(make_request(1), model="m"))
            assert ledger.get(make_request(1).key()).model == "m"


@pytest.mark.parametrize("new", [b"Verdict: Korrect", b"Verdict: \xfforrect"])
def test_changed_bytes_are_no_answer_and_can_be_deleted(live, new):
    kept = make_request(1)
    with Ledger(live) as ledger:
        ledger.put_many([make_entry(make_request(), "Verdict: Correct"), make_entry(kept)])
    damage(live, b"Verdict: Correct", new)
    with Ledger(live) as ledger:
        with pytest.raises(
            BadInput, match=rf"^{re.escape(str(live))}: call '{make_request().key()[:12]}' is damaged"
        ):
            ledger.get(make_request().key())
        assert ledger.list_damaged() == [make_request().key()]
        ledger.delete(ledger.list_damaged())
        assert ledger.get(make_request().key()) is None
        assert ledger.get(kept.key()).text == "an answer"


def test_a_damaged_batch_is_bad_input(live):
    with Ledger(live) as ledger:
        asyncio.run(ledger.book_batch(OpenBatch("token", "m", "id", ("key",), 0.0)))
    damage(live, b'["key"]', b'["key"?')
    with (
        Ledger(live) as ledger,
        pytest.raises(BadInput, match=rf"^{re.escape(str(live))}: an open batch is damaged"),
    ):
        ledger.list_batches()


def test_calls_without_an_answer_are_counted(live):
    with Ledger(live) as ledger:
        ledger.put(make_entry(make_request(1)))
        ledger.put(replace(make_entry(make_request(2)), finish_reason=UNANSWERED))
        stats = ledger.stats()
    assert (stats.live_calls, stats.unanswered_calls) == (2, 1)


def test_a_key_that_is_no_text_can_be_deleted_too(live):
    key = make_request().key()
    with Ledger(live) as ledger:
        ledger.put(make_entry(make_request()))
    damage(live, key.encode(), b"\xff" + key[1:].encode())
    with Ledger(live) as ledger:
        ledger.delete(ledger.list_damaged())
        assert (ledger.stats().live_calls, ledger.list_damaged()) == (0, [])


def test_a_file_whose_pages_are_damaged_is_bad_input(tmp_path):
    path = tmp_path / "l.sqlite"
    with Ledger(path) as ledger:
        ledger.put_many(make_entry(make_request(number)) for number in range(200))
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\x07" * (len(content) - 3 * 4096)
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"l\.sqlite: can"):
        find_all(path, 200)


def find_all(path, count):
    with Ledger(path) as ledger:
        return [ledger.get(make_request(number).key()) for number in range(count)]


def test_nobody_else_may_read_it(tmp_path):
    path = tmp_path / "new" / "l.sqlite"
    path.parent.mkdir()
    path.touch(mode=0o644)
    (tmp_path / "new" / "l.sqlite-claims").touch(mode=0o644)
    previous = os.umask(0)
    try:
        with Ledger(path) as ledger:
            ledger.put(make_entry(make_request()))
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        with Ledger(tmp_path / "other" / "l.sqlite"):
            assert (tmp_path / "other").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(previous)
    assert modes == dict.fromkeys(["l.sqlite", "l.sqlite-wal", "l.sqlite-shm", "l.sqlite-claims"], 0o600)
