"""A run that is stopped, killed, crowded, cut off from Prefect or out of disk goes on to the same bytes."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
import yaml

from flows.prefect_server import SERVER, server_folder
from flows.servers import find_server, stop_servers
from tasks.artifacts.parquet import count_rows
from tests.flows.sample import NOWHERE, Sample, interrupt, make_sample, wait_for

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Sample:
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    sample.run("--set", NOWHERE)
    for name in ("films", "flights"):
        assert count_rows(sample.root / f"data/grammar/{name}/unbalanced.parquet") >= 300
    return sample


@pytest.fixture(scope="module")
def undisturbed(sample) -> tuple[dict[str, str], object]:
    return sample.artifacts(), sample.lock()


@pytest.fixture
def blank(sample, undisturbed) -> Sample:
    """The project before its first run: no artifact, no record, no cache."""
    wipe(sample)
    return sample


def wipe(sample: Sample) -> None:
    for folder in ("data/grammar", "data/reports", "data/raw/films", "data/raw/flights",
                   ".dvc/cache", ".dvc/tmp", ".benchloom/stages"):  # fmt: skip
        shutil.rmtree(sample.root / folder, ignore_errors=True)
    (sample.root / "dvc.lock").unlink(missing_ok=True)


def wait_until_held(sample: Sample, path: str) -> None:
    locks = sample.root / ".dvc/tmp/rwlock"
    wait_for(lambda: locks.exists() and path in locks.read_text())


def check_record(sample: Sample, undisturbed) -> int:
    """Hold what is recorded against the undisturbed run; return the number of stages."""
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
    assert "stopping: what has finished is kept" in said
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


def test_two_runs_at_once_never_spoil_each_others_work(blank, undisturbed):
    both = [blank.start(), blank.start()]
    ends = [(process.communicate()[1], process.returncode) for process in both]
    for said, code in ends:
        assert "Traceback" not in said
        assert code in (0, 6), said
        if code == 6:
            assert "another run holds" in said
            assert "(PID " in said
    check_record(blank, undisturbed)
    blank.run()
    assert (blank.artifacts(), blank.lock()) == undisturbed


def test_without_its_prefect_server_a_run_goes_on_and_the_next_one_starts_another(blank, undisturbed):
    blank.environment.pop("PREFECT_API_URL", None)
    folder = server_folder(blank.root)
    command = blank.command("flows.cli", "run", "--replay")
    process = subprocess.Popen(
        command, cwd=blank.root, env=blank.environment, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until_held(blank, "films/fill_in.parquet")
        first = find_server(folder, SERVER)
        kill_family(first.pid)
        said = process.communicate()[1]
        assert "Traceback" not in said
        assert said.count("Prefect's server no longer answers, and this run goes on without it") == 1
        assert process.returncode == 0, said
        assert (blank.artifacts(), blank.lock()) == undisturbed

        again = blank.call("flows.cli", "run", "--replay")
        assert again.returncode == 0, again.stderr
        assert "starting a Prefect server" in again.stderr
        assert f"{len(undisturbed[1]['stages'])} up to date" in again.stderr
    finally:
        stop_servers(folder)


def kill_family(pid: int) -> None:
    parent = psutil.Process(pid)
    for process in [*parent.children(recursive=True), parent]:
        process.kill()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 120 MB that the drill may fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() or mount is None:
        pytest.skip("mounting a tmpfs takes root")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=120m", "tmpfs", str(folder)], check=False)
    if done.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def leave_room(disk: Path, size: int) -> None:
    """Fill a disk up to `size` bytes."""
    free = shutil.disk_usage(disk).free
    with (disk / "ballast").open("ab") as ballast:
        os.posix_fallocate(ballast.fileno(), ballast.tell(), free - size)


def test_on_a_full_disk_a_run_says_so_and_goes_on_when_there_is_room(small_disk, undisturbed):
    sample = make_sample(small_disk / "project")
    sample.run("--set", NOWHERE, "sources.films")
    wipe(sample)
    for room in (0, 8_000, 100_000, MEGABYTE, 2 * MEGABYTE, 4 * MEGABYTE, 6 * MEGABYTE):
        leave_room(small_disk, room)
        done = sample.call("flows.cli", "run", "--replay", "--plain")
        assert "Traceback" not in done.stderr
        assert done.returncode == 1, done.stderr
        assert "disk is full" in done.stderr or "No space left on device" in done.stderr
        check_record(sample, undisturbed)
        (small_disk / "ballast").unlink()
    sample.run()
    assert (sample.artifacts(), sample.lock()) == undisturbed
    assert yaml.safe_load((sample.root / "dvc.lock").read_text())["schema"] == "2.0"
