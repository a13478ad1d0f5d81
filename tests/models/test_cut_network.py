"""Tests of a PostgreSQL ledger on a failing network, shared by processes with different clocks."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tasks.models.recording import postgres_session
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.postgres_session import PostgresSession
from tests.databases.servers import open_place
from tests.models.cut_network import cutting
from tests.models.drilling import Watch, start
from tests.models.ledger_places import name_database
from tests.models.scenes import serving
from tests.models.worker import record_sums

TAKEN = re.compile(r"another process has taken over (\d+) calls")
HOUR = 3600
IN_FLIGHT = 16


@pytest.fixture
def address():
    with open_place("postgresql") as place:
        yield name_database(place)


def lead(address: str, port: int) -> str:
    return make_url(address).set(host="127.0.0.1", port=port).render_as_string()


@pytest.mark.parametrize("calls", [400, pytest.param(10_000, marks=pytest.mark.drill)])
@pytest.mark.timeout(1500)
def test_behind_a_failing_network_no_call_is_paid_twice_unless_it_is_said(address, tmp_path, calls):
    server_url = make_url(address)
    homes = [tmp_path / "ahead", tmp_path / "behind"]
    with Ledger(tmp_path / "scripted.sqlite") as scripted:
        record_sums(scripted, tmp_path / "prompts", calls)
        watch = Watch(scripted, address, latency_s=0.02)
        with (
            serving(watch.application()) as url,
            cutting(server_url.host, server_url.port or 5432, seed=7, longest_s=3.0) as network,
        ):
            network.begin(connections=0)
            with ThreadPoolExecutor(2) as pool:

                def ask(home: Path, clock: int) -> tuple[list[str], int]:
                    """Run the process until it succeeds; return the messages, and the number of restarts."""
                    words = ("--in-flight", str(IN_FLIGHT), "--clock-ahead", str(clock))
                    said: list[str] = []
                    for turn in range(30):
                        out = home / "out.calls.parquet"
                        process = start(lead(address, network.port), url, calls, out, *words)
                        said += process.communicate(timeout=1200)[1].splitlines()
                        if process.returncode == 0:
                            return said, turn
                        assert "cannot connect to the ledger's server" in said[-1], said[-5:]
                    raise AssertionError(said[-5:])

                for home in homes:
                    home.mkdir()
                ends = list(pool.map(ask, homes, (HOUR, -HOUR)))
    said, restarts = [line for lines, _ in ends for line in lines], sum(turn for _, turn in ends)
    taken = sum(int(found[1]) for line in said if (found := TAKEN.search(line)))
    assert sum(network.faults.values()) >= 3
    assert watch.asked_after_commit == 0
    # Calls in flight when a process gave up may be lost.
    assert watch.asked_again <= taken + restarts * IN_FLIGHT
    assert watch.counts.requests == calls + watch.asked_again
    assert len({(home / "out.calls.parquet").read_bytes() for home in homes}) == 1
    print(
        dict(network.faults),
        f"{watch.asked_again} asked again, {taken} said to be taken over, {restarts} restarts",
    )


def test_a_network_that_swallows_everything_is_noticed(address, monkeypatch):
    monkeypatch.setattr(postgres_session, "SILENT_S", 1.0)
    server_url, lost = make_url(address), []
    # The only fault is the one below.
    with cutting(server_url.host, server_url.port or 5432, seed=1, longest_s=0.1) as network:
        session = PostgresSession(lead(address, network.port), lambda connection: None, on_loss=lost.append)
        try:
            assert session.run(lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)
            network.swallow(1.5)
            assert session.run(lambda connection: connection.execute("SELECT 2").fetchone()) == (2,)
        finally:
            session.close()
    assert len(lost) == 1
