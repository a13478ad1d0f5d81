"""Slow, destructive drills of the model layer with killed and concurrent processes.

Budgets and keys: tests/flows/test_live_drills.py.
"""

import itertools
import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from tasks.models.recording.ledger import Ledger
from tasks.models.serving.ledger_server import FAULTS
from tests.models.drilling import Watch, finish, settle
from tests.models.drilling import start as start_worker
from tests.models.scenes import LedgerServer, serving
from tests.models.worker import record_sums

pytestmark = [pytest.mark.drill, pytest.mark.timeout(1800)]

CALLS, IN_FLIGHT, KILLS, PROCESSES = 2_000, 16, 20, 4


@pytest.fixture
def scripted(tmp_path):
    """A ledger with 2,000 scripted answers for a server, and the keys."""
    with Ledger(tmp_path / "scripted.sqlite") as ledger:
        yield ledger, record_sums(ledger, tmp_path / "prompts", CALLS)


def start(
    folder: Path,
    url: str,
    *more: str,
    out: str = "out.calls.parquet",
    live: Path | str | None = None,
    **environment: str,
):
    limits = ["--in-flight", str(IN_FLIGHT), *more]
    return start_worker(live or folder / "live.sqlite", url, CALLS, folder / out, *limits, **environment)


def check_ledger(live: Path | str, keys: list[str]) -> None:
    with Ledger(live) as ledger:
        assert sorted(keys) == sorted(entry.key for entry in ledger.iterate())
        assert all(ledger.get(key).text == str(2 * number) for number, key in enumerate(keys))
    if isinstance(live, Path):
        with sqlite3.connect(live) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_every_call_is_accounted_for_under_faults_of_all_kinds(tmp_path, scripted):
    ledger, keys = scripted
    server = Watch(ledger, tmp_path / "live.sqlite", faults=0.3, seed=11, latency_s=0.01)
    with serving(server.application()) as url:
        report = finish(start(tmp_path, url, "--timeout", "10"))
        again = finish(start(tmp_path, url, out="again.calls.parquet"))
    counts = server.counts
    failed = sum(counts.faults.values())
    print(
        f"faults: {counts.report()}, asked after commit {server.asked_after_commit}, spent {report['tokens']}"
    )
    assert set(counts.faults) == set(FAULTS)
    assert 0.25 * CALLS < failed < 0.35 * CALLS
    assert report["values"] == [2 * number for number in range(CALLS)]
    assert report["live"] == CALLS
    # Every request has either a fault or the only answer for its key.
    assert (counts.requests, counts.paid_twice, len(counts.answered)) == (CALLS + failed, 0, CALLS)
    assert server.asked_after_commit == 0
    with Ledger(tmp_path / "live.sqlite") as live:
        possibly_paid = live.list_possibly_paid()
    unreadable = sum("not a chat completion" in call.problem for call in possibly_paid)
    lost = sum("lost the connection" in call.problem for call in possibly_paid)
    assert unreadable == counts.faults["cut"] + counts.faults["notjson"]
    assert lost == counts.faults["drop"]
    # On a busy machine, a call may time out before it is sent.
    assert len(possibly_paid) - unreadable - lost >= counts.faults["hang"]
    assert report["doubtful"] == sum(call.prompt_tokens + call.max_tokens for call in possibly_paid)
    assert report["tokens"] == 10 * CALLS + report["doubtful"]
    check_ledger(tmp_path / "live.sqlite", keys)
    assert (again["live"], again["tokens"]) == (0, 0)
    assert (tmp_path / "again.calls.parquet").read_bytes() == (tmp_path / "out.calls.parquet").read_bytes()


@pytest.mark.parametrize("way", ["single", "batch"])
def test_a_process_killed_at_random_moments_goes_on_to_the_same_bytes(tmp_path, scripted, way):
    ledger, keys = scripted
    more = ["--batch", "--rounds", "25"] if way == "batch" else []
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    with serving(LedgerServer(ledger).application()) as url:
        finish(start(undisturbed, url))
    # Slow enough for twenty kills during one workload.
    server = Watch(ledger, killed / "live.sqlite", latency_s=0.15, batch_s=0.8)
    dice, again = random.Random(5), []
    with serving(server.application()) as url:
        for kill in range(KILLS):
            process = start(killed, url, *more)
            before = server.progress()
            while process.poll() is None and server.progress() == before:
                time.sleep(0.01)
            time.sleep(dice.uniform(0, 0.5))
            assert process.poll() is None, f"the work ended before kill {kill}"
            process.send_signal(signal.SIGKILL)
            process.communicate()
            settle(server)
            again.append(server.asked_again)
        finish(start(killed, url, *more))
    rises = [after - before for before, after in itertools.pairwise([*again, server.asked_again])]
    print(f"kills ({way}): {len(again)}, calls asked again after each {rises}")
    print(f"asked after commit {server.asked_after_commit}, batches {len(server.batches.batches)}")
    assert again[0] == 0
    assert max(rises) <= (0 if way == "batch" else IN_FLIGHT)
    assert server.asked_after_commit == 0
    check_ledger(killed / "live.sqlite", keys)
    out = "out.calls.parquet"
    assert (killed / out).read_bytes() == (undisturbed / out).read_bytes()


def test_processes_share_one_ledger_and_no_call_is_made_twice(tmp_path, live, scripted):
    ledger, keys = scripted
    server = Watch(ledger, live, latency_s=0.02)
    with serving(server.application()) as url:
        processes = [
            start(tmp_path, url, out=f"{number}.calls.parquet", live=live) for number in range(PROCESSES)
        ]
        reports = [finish(process) for process in processes]
    print(f"processes: live calls {[report['live'] for report in reports]}, {server.counts.report()}")
    assert sum(report["live"] for report in reports) == CALLS
    assert (server.counts.requests, server.counts.paid_twice, server.asked_after_commit) == (CALLS, 0, 0)
    check_ledger(live, keys)
    assert len({(tmp_path / f"{number}.calls.parquet").read_bytes() for number in range(PROCESSES)}) == 1
