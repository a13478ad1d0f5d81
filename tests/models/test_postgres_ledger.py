"""Tests of a PostgreSQL ledger shared by independent processes."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from sqlalchemy import text

from tasks.errors import BadInput, DatabaseGone
from tasks.models.recording.ledger import Ledger, PossiblyPaid
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tests.databases.servers import open_place
from tests.models.drilling import ROOT, Watch, finish, settle, start
from tests.models.ledger_places import cut_connections, name_database
from tests.models.scenes import (
    MODEL,
    answering,
    make_endpoint,
    make_entry,
    make_request,
    say,
    serving,
)
from tests.models.worker import record_sums

GRACE_S = pytest.importorskip("tasks.models.recording.postgres_store", reason="an extra's driver").GRACE_S
CALLS, IN_FLIGHT = 50, 4
LIMIT = ("--in-flight", str(IN_FLIGHT))
KEY = "ab" * 32
HOLD = """
import sys
from tasks.models.recording.ledger import Ledger
locks = Ledger(sys.argv[1]).open_locks()
print(locks.acquire(sys.argv[2]), flush=True)
for _ in sys.stdin:
    print(locks.acquire(sys.argv[2]), flush=True)
"""


@pytest.fixture
def place():
    with open_place("postgresql") as place:
        yield place


@pytest.fixture
def address(place):
    return name_database(place)


@pytest.fixture
def scripted(tmp_path):
    """A ledger with scripted answers for a server."""
    with Ledger(tmp_path / "scripted.sqlite") as ledger:
        record_sums(ledger, tmp_path / "prompts", CALLS)
        yield ledger


@contextlib.contextmanager
def holding(address):
    """Make another process lock a call; for each line sent to it, it locks the call again."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, address, KEY],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == "True\n"
        yield holder
    finally:
        holder.kill()
        holder.wait()


def wait_for_lock(locks) -> float:
    """Lock the call as soon as possible; return the seconds of waiting."""
    begun = time.monotonic()
    while not locks.acquire(KEY):
        assert time.monotonic() - begun < 60
        time.sleep(0.05)
    return time.monotonic() - begun


def open_dispatcher(url, ledger):
    return Dispatcher(ledger, ModelClient({MODEL: make_endpoint(url, timeout_s=60.0)}, Budget()))


def test_processes_with_nothing_in_common_but_the_server_ask_nothing_twice(address, scripted, tmp_path):
    server = Watch(scripted, address, latency_s=0.4)
    homes = [tmp_path / "one", tmp_path / "other"]
    with serving(server.application()) as url:
        processes = []
        for home in homes:
            home.mkdir()
            own = {
                "HOME": str(home),
                "XDG_DATA_HOME": str(home / "data"),
                "XDG_CACHE_HOME": str(home / "cache"),
            }
            processes.append(start(address, url, CALLS, home / "out.calls.parquet", *LIMIT, **own))
        reports = [finish(process) for process in processes]
    assert (server.counts.requests, server.counts.paid_twice, server.asked_after_commit) == (CALLS, 0, 0)
    assert sum(report["live"] for report in reports) == CALLS
    assert min(report["live"] for report in reports) > 0
    for report in reports:
        assert report["values"] == [2 * number for number in range(CALLS)]
    assert len({(home / "out.calls.parquet").read_bytes() for home in homes}) == 1
    assert not list(tmp_path.rglob("ledger.sqlite"))


@pytest.mark.drill
def test_after_a_kill_nothing_that_was_answered_is_asked_again(address, scripted, tmp_path):
    server = Watch(scripted, address, latency_s=0.2)
    out = tmp_path / "out.calls.parquet"
    with serving(server.application()) as url:
        process = start(address, url, CALLS, out, *LIMIT)
        while len(server.counts.answered) < CALLS // 3:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        settle(server)
        report = finish(start(address, url, CALLS, out, *LIMIT))
        again = finish(start(address, url, CALLS, out, *LIMIT))
    assert report["values"] == [2 * number for number in range(CALLS)]
    assert server.asked_after_commit == 0
    assert server.asked_again <= IN_FLIGHT  # their replies were lost with the process
    assert server.counts.requests == CALLS + server.asked_again
    assert 0 < report["live"] < CALLS
    assert again["live"] == 0


def test_a_call_under_way_stays_ours_when_every_connection_is_lost(place, address, caplog):
    asked, go_on = [], threading.Event()

    async def answer(request):
        asked.append(1)
        while not go_on.is_set():  # noqa: ASYNC110 - set in another thread
            await asyncio.sleep(0.01)
        return say("ok")

    async def ask_both(ours, theirs):
        first = asyncio.create_task(ours.ask(make_request()))
        while not asked:  # noqa: ASYNC110 - the server counts in a thread of its own
            await asyncio.sleep(0.01)
        second = asyncio.create_task(theirs.ask(make_request()))
        await asyncio.sleep(0.5)
        cut = await asyncio.to_thread(cut_connections, place)
        await asyncio.sleep(GRACE_S + 2)
        go_on.set()
        return cut, await first, await second

    with (
        answering(answer) as url,
        Ledger(address) as one,
        Ledger(address) as other,
        open_dispatcher(url, one) as ours,
        open_dispatcher(url, other) as theirs,
    ):
        cut, first, second = asyncio.run(ask_both(ours, theirs))
    assert cut == 6  # per process: connections for reading, locking and writing
    assert (len(asked), first.live, second.live) == (1, True, False)
    lost = [record.getMessage() for record in caplog.records if "was lost" in record.getMessage()]
    assert len(lost) == 2
    assert lost[0] == (
        f"{address}: the connection that holds the locks on calls was lost (terminating connection due to "
        "administrator command); nothing new is asked before it is back"
    )
    back = f"{address}: connected again; the calls under way are still ours"
    assert [record.getMessage() for record in caplog.records].count(back) == 2


@pytest.mark.drill
def test_what_a_killed_process_held_is_free_after_the_grace(address):
    with Ledger(address) as ledger, contextlib.closing(ledger.open_locks()) as locks:
        with holding(address):
            assert not locks.acquire(KEY)
            assert locks.acquire("cd" * 32)
        assert wait_for_lock(locks) >= GRACE_S - 0.5


@pytest.mark.drill
def test_a_process_that_was_cut_off_for_long_learns_that_it_lost_its_calls(place, address):
    with (
        Ledger(address) as ledger,
        contextlib.closing(ledger.open_locks()) as locks,
        holding(address) as holder,
    ):
        os.kill(holder.pid, signal.SIGSTOP)
        cut_connections(place)
        assert wait_for_lock(locks) >= GRACE_S - 0.5
        os.kill(holder.pid, signal.SIGCONT)
        holder.stdin.write("again\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "False\n"
        _, said = holder.communicate(timeout=30)
        assert holder.returncode == 0
    assert "connected again; another process has taken over 1 calls that were under way here" in said
    assert "Traceback" not in said


def test_what_is_released_may_be_taken(address):
    with Ledger(address) as ledger, contextlib.closing(ledger.open_locks()) as locks:
        assert locks.acquire(KEY)
        assert locks.acquire(KEY)  # this process already holds the lock
        locks.release(KEY)
        locks.release("cd" * 32)
        with holding(address):
            assert not locks.acquire(KEY)


def test_half_a_surrogate_pair_is_kept(address):
    call = PossiblyPaid("k", "m", "said \ud83d and \udcff, and \0", 10, 20, 5.0)
    with Ledger(address) as ledger:
        ledger.record_possibly_paid(call)
        assert ledger.list_possibly_paid() == [call]


def test_a_server_that_is_not_there_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"postgresql://team@127.0.0.1:{taken.getsockname()[1]}/ledger"
        with pytest.raises(DatabaseGone) as caught:
            Ledger(address)
    said = str(caught.value)
    assert said.startswith(f"{address}: cannot connect to the ledger's server: connection failed: ")
    assert "Connection refused" in said
    assert said.endswith("(no model is called without the ledger)")
    assert "\n" not in said


def test_a_server_that_goes_away_is_waited_for_once(place, address):
    with Ledger(address) as ledger:
        ledger.put(make_entry(make_request()))
        run_as_admin(place, f"DROP DATABASE {place.name} WITH (FORCE)")
        for least, most in ((9, 30), (0, 2)):
            begun = time.monotonic()
            with pytest.raises(
                DatabaseGone, match=r"cannot connect to the ledger's server: .* does not exist"
            ):
                ledger.get(make_request().key())
            assert least <= time.monotonic() - begun < most
    run_as_admin(place, f"CREATE DATABASE {place.name}")  # dropped later


def run_as_admin(place, statement):
    with place.admin.connect() as connection:
        connection.execute(text(statement))


def test_a_reply_is_recorded_by_a_server_that_comes_back(place, address):
    with Ledger(address) as ledger:
        ledger.put(make_entry(make_request(0)))
        for number in (1, 2):
            assert cut_connections(place) == 2
            ledger.put(make_entry(make_request(number)))
            assert ledger.get(make_request(number).key()).text == "an answer"


def test_an_account_that_may_make_no_tables_uses_those_there_are(place, address):
    reader = address.replace(f"{place.owner.url.username}@", f"{place.reader}@")
    with pytest.raises(BadInput, match="cannot be used as the ledger: permission denied for schema public"):
        Ledger(reader)
    with Ledger(address) as ledger:
        ledger.put(make_entry(make_request()))
    place.grant()
    with Ledger(reader) as ledger:
        assert ledger.get(make_request().key()).text == "an answer"
        with pytest.raises(BadInput, match="cannot be used as the ledger: permission denied for table calls"):
            ledger.put(make_entry(make_request(1)))


def test_without_the_driver_a_line_says_what_to_install(monkeypatch):
    for name in ("postgres_store", "postgres_session"):
        monkeypatch.delitem(sys.modules, f"tasks.models.recording.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BadInput) as caught:
        Ledger("postgresql://team@server/ledger")
    assert str(caught.value) == (
        "postgresql://team@server/ledger: needs psycopg, which is not installed here "
        "(run pip install 'benchloom[postgresql]')"
    )


def test_a_write_is_tried_before_the_first_call(place, address):
    with Ledger(address) as ledger:
        ledger.require_room()
        assert ledger.stats().possibly_paid == 0
        with place.admin.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {place.name} SET default_transaction_read_only = on"))
        cut_connections(place)
        with pytest.raises((BadInput, DatabaseGone), match="read-only transaction"):
            ledger.require_room()
