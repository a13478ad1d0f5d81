"""Tests that an interrupted run (stop, kill, lock, Prefect, full disk) continues to the same bytes."""

import shutil
import signal
from collections.abc import Iterator

import pytest
import yaml

from flows.run.prefect_server import SERVER, server_folder, start_server
from flows.run.servers import find_server, stop_servers
from tasks.errors import BenchloomError
from tests.flows.sample import (
    NOWHERE,
    Sample,
    interrupt,
    kill_family,
    make_datasets,
    replay_datasets,
    wait_for,
)
from tests.flows.small_disk import BALLAST, leave_room, mount_disk

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]
MEGABYTE = 1_000_000
SLOW_STAGE = """
  slow:
    cmd: sleep 40 && echo done > data/slow.txt
    outs: [data/slow.txt]
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Sample:
    return replay_datasets(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def undisturbed(sample) -> tuple[dict[str, str], object]:
    return sample.artifacts(), sample.lock()


@pytest.fixture
def blank(sample, undisturbed) -> Iterator[Sample]:
    """The project before its first run, without artifacts, record and cache."""
    wipe(sample)
    yield sample
    sample.end_all()


def wipe(sample: Sample) -> None:
    for folder in ("data/grammar", "data/reports", "data/raw/films", "data/raw/flights",
                   ".dvc/cache", ".dvc/tmp", ".benchloom/stages"):  # fmt: skip
        shutil.rmtree(sample.root / folder, ignore_errors=True)
    (sample.root / "dvc.lock").unlink(missing_ok=True)


def wait_until_held(sample: Sample, path: str) -> None:
    """Wait until the last started run writes an artifact."""
    locks = sample.root / ".dvc/tmp/rwlock"
    wait_for(lambda: locks.exists() and path in locks.read_text(), sample.begun[-1])


def check_record(sample: Sample, undisturbed) -> int:
    """Compare the record with the undisturbed run; return the number of recorded stages."""
    stages = sample.lock()["stages"] if (sample.root / "dvc.lock").exists() else {}
    whole = undisturbed[1]["stages"]
    assert stages == {name: whole[name] for name in stages}
    return len(stages)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_what_is_done_and_the_next_one_goes_on(blank, undisturbed, number):
    process = blank.start()
    wait_until_held(blank, "films/fill_in.parquet")
    said = interrupt(process, number)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "stopping: finished stages are kept" in said
    done = check_record(blank, undisturbed)
    assert done >= 2

    again = blank.run()
    assert f"{done} up to date" in again
    assert (blank.artifacts(), blank.lock()) == undisturbed


def test_after_a_kill_the_run_cache_brings_back_what_was_done(blank, undisturbed):
    process = blank.start()
    wait_until_held(blank, "films/fill_in.parquet")
    interrupt(process, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    recorded = check_record(blank, undisturbed)
    again = blank.run()
    assert f"{recorded} up to date" in again or "from the run cache" in again
    assert (blank.artifacts(), blank.lock()) == undisturbed


@pytest.mark.parametrize("order", ["run, run", "run, repro", "repro, run"])
def test_two_runs_at_once_never_spoil_each_others_work(blank, undisturbed, order):
    """`dvc repro` reports a lock with its own message and exit code; Benchloom exits with 6."""
    both = {}
    for number, kind in enumerate(order.split(", ")):
        both[number, kind] = blank.start() if kind == "run" else blank.start_dvc("repro")
        wait_for(lambda: (blank.root / ".dvc/tmp/rwlock").exists())
    ends = {question: (process.communicate()[1], process.returncode) for question, process in both.items()}
    print(f"two at once ({order}): exit codes {[code for _, code in ends.values()]}")
    for (_, kind), (said, code) in ends.items():
        assert "Traceback" not in said
        if kind == "repro":
            assert code == 0 or "lock" in said, said
            continue
        assert code in (0, 6), said
        assert "LockError" not in said
        assert "Unable to acquire" not in said
        if code == 6:
            print(said)
            assert "another run holds" in said
            assert "(PID " in said
    check_record(blank, undisturbed)
    blank.run()
    assert (blank.artifacts(), blank.lock()) == undisturbed
    assert "up to date" in blank.dvc("status")


@pytest.mark.parametrize("other", ["run", "repro"])
def test_a_second_run_names_the_one_that_is_at_work_and_goes_on_after_it(sample, undisturbed, other):
    """The first run's stage is a command that sleeps; it locks a path longer than the second run waits."""
    sample.edit("dvc.yaml", lambda text: text + SLOW_STAGE)
    first = sample.start("slow") if other == "run" else sample.start_dvc("repro", "slow")
    try:
        wait_until_held(sample, "data/slow.txt")
        second = sample.call("flows.cli", "run", "--replay", "--plain", "slow")
        print(second.stderr)
        assert second.returncode == 6
        assert f"another run holds data/slow.txt (PID {first.pid}: " in second.stderr
        assert "run the same command again" in second.stderr
        status = sample.call("flows.cli", "status", "--json")
        assert status.returncode == 0, status.stderr
        assert '"state": "running"' in status.stdout

        beside = sample.run("grammar")
        assert f"{len(undisturbed[1]['stages'])} up to date" in beside
        said = first.communicate()[1]
        assert first.returncode == 0, said
        assert "1 up to date" in sample.run("slow")
    finally:
        sample.end_all()
        sample.edit("dvc.yaml", lambda text: text.removesuffix(SLOW_STAGE))
        (sample.root / "data/slow.txt").unlink(missing_ok=True)
        lock = sample.lock()
        lock["stages"].pop("slow", None)
        (sample.root / "dvc.lock").write_text(yaml.safe_dump(lock))


def test_a_database_that_goes_while_it_is_read_fails_its_stage_and_comes_back(blank, undisturbed):
    films = blank.root / "data/raw/films/films.sqlite"
    process = blank.start()
    wait_until_held(blank, "films/fill_in.parquet")
    films.unlink()
    said = process.communicate()[1]
    print(said)
    failed = [line for line in said.splitlines() if " failed " in line]
    assert "Traceback" not in said
    assert process.returncode in (1, 2)
    assert any(line.startswith("grammar-fill-in@films ") for line in failed)
    assert all("films.sqlite" in line and "@films" in line for line in failed)
    assert not any("Error:" in line for line in failed)  # no Python error class
    assert "grammar-report@flights" in said
    assert not any("flights" in line for line in said.splitlines() if " skipped " in line)
    check_record(blank, undisturbed)

    blank.run()
    assert (blank.artifacts(), blank.lock()) == undisturbed


def test_without_its_prefect_server_a_run_goes_on_and_the_next_one_starts_another(blank, undisturbed):
    blank.environment.pop("PREFECT_API_URL", None)
    folder = server_folder(blank.root)
    wait_for(lambda: comes_up(blank))  # on a slow machine, a run would continue without the server
    process = blank.start(plain=False)
    try:
        wait_until_held(blank, "films/fill_in.parquet")
        first = find_server(folder, SERVER)
        kill_family(first.pid)
        said = process.communicate()[1]
        assert "Traceback" not in said
        assert said.count("Prefect's server no longer answers; this run continues without it") == 1
        assert process.returncode == 0, said
        assert (blank.artifacts(), blank.lock()) == undisturbed

        print("\n".join(line for line in said.splitlines() if "no longer answers" in line))
        again = blank.call("flows.cli", "run", "--replay")
        assert again.returncode == 0, again.stderr
        assert "starting a Prefect server" in again.stderr
        assert f"{len(undisturbed[1]['stages'])} up to date" in again.stderr
    finally:
        stop_servers(folder)


def comes_up(sample: Sample) -> bool:
    try:
        start_server(sample.root)
    except BenchloomError:
        return False
    return True


@pytest.fixture
def small_disk(tmp_path):
    with mount_disk(tmp_path / "disk", 120) as disk:
        yield disk


def test_on_a_full_disk_a_run_says_so_and_goes_on_when_there_is_room(small_disk, undisturbed):
    sample = make_datasets(small_disk / "project")
    sample.run("--set", NOWHERE, "sources.films")
    wipe(sample)
    for room in (0, 8_000, 100_000, MEGABYTE, 2 * MEGABYTE, 4 * MEGABYTE):  # each run keeps its finished work
        leave_room(small_disk, room)
        done = sample.call("flows.cli", "run", "--replay", "--plain")
        print(f"room {room}: exit {done.returncode}, {done.stderr.splitlines()[-1] if done.stderr else ''}")
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 1, done.stderr
        assert "disk is full" in done.stderr or "No space left on device" in done.stderr
        check_record(sample, undisturbed)
        (small_disk / BALLAST).unlink()
    sample.run()
    assert (sample.artifacts(), sample.lock()) == undisturbed
    assert yaml.safe_load((sample.root / "dvc.lock").read_text())["schema"] == "2.0"
