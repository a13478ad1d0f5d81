"""Tests of shards: the same bytes on every engine, and a killed process loses only its own shard."""

import pytest

from flows.run.engine.engines import require_engine
from flows.run.engine.prefect_shards import TASKS
from flows.run.prefect_server import server_folder
from flows.run.servers import stop_servers
from tasks.errors import BadInput
from tests.flows.run.engine_project import SHARDS, make_engine_project

LARGE = 2 * 2 * TASKS + 6
"""Number of shards for which a task has two shards with two workers, and one shard with four workers."""


@pytest.fixture
def project(tmp_path):
    made = make_engine_project(tmp_path)
    yield made
    stop_servers(server_folder(made.root))


@pytest.fixture
def large(tmp_path):
    """A project in which tasks have several shards with two workers."""
    made = make_engine_project(tmp_path, LARGE * 5)
    yield made
    stop_servers(server_folder(made.root))


def run_whole(project):
    """Run the stage undivided, like `dvc repro`."""
    done = project.stage()
    assert done.returncode == 0, done.stderr
    return project.digest()


def test_shards_give_the_bytes_of_an_undivided_run(project):
    whole = run_whole(project)
    done = project.run("threads", plain=True)
    assert done.returncode == 0, done.stderr
    assert "15 rows; dropped 28 has_e" in done.stderr
    assert project.digest() == whole
    assert len(set(project.read_done())) == len(project.read_done()) == SHARDS
    assert project.count_processes() == 2
    assert project.list_parts() == []


def test_a_shard_whose_process_is_killed_is_done_again_and_no_other(project):
    whole = run_whole(project)
    done = project.run("threads", plain=True, kill="even-20", times=1)
    assert done.returncode == 0, done.stderr
    assert "its process was killed; the shard is run again" in done.stderr
    assert project.digest() == whole
    (again,) = [text for text in set(project.read_done()) if project.read_done().count(text) == 2]
    assert len(project.read_done()) == SHARDS + 1
    killed = project.run("threads", plain=True, kill="even-20", times=2)
    assert killed.returncode == 1
    assert "the process was killed twice" in killed.stderr
    assert len(project.list_parts()) == SHARDS - 1
    before = len(project.read_done())
    assert project.run("threads", plain=True, again=True, kill="even-20", times=2).returncode == 0
    assert project.read_done()[before:] == [again]
    assert project.digest() == whole


def test_what_a_shard_raises_is_said_and_ends_the_others(project):
    done = project.run("threads", plain=True, refuse="odd-00")
    assert (done.returncode, done.stderr.count("words: odd-00 is refused")) == (2, 1)
    assert "Traceback" not in done.stderr


def test_an_engine_that_is_not_there_is_one_line(monkeypatch):
    with pytest.raises(BadInput, match=r"'spark' is not an engine \(use one of threads, dask, ray\)"):
        require_engine("spark")
    monkeypatch.setattr("flows.run.engine.engines.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"needs prefect-ray, .*\(run pip install 'benchloom\[ray\]'\)"):
        require_engine("ray")


@pytest.mark.drill
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("engine", "numbers"), [("dask", (2, 4)), ("ray", (2,))])
def test_clusters_give_the_same_bytes_and_a_killed_worker_costs_its_shard(large, engine, numbers):
    whole = run_whole(large)
    for workers in numbers:
        done = large.run(engine, workers=workers)
        assert done.returncode == 0, done.stderr
        assert f"shards run on {engine}: {workers} processes on this machine" in done.stderr
        assert "the connection was lost" not in done.stderr
        assert large.digest() == whole
        assert len(large.read_done()) == LARGE
        assert 2 <= large.count_processes() <= workers
    done = large.run(engine, kill="even-20", times=1)
    assert done.returncode == 0, done.stderr
    assert "the connection was lost" not in done.stderr
    assert large.digest() == whole
    (again,) = [text for text in set(large.read_done()) if large.read_done().count(text) == 2]
    assert len(large.read_done()) == LARGE + 1
    killed = large.run(engine, kill="even-20", times=2)
    assert killed.returncode == 1
    assert "the process was killed twice" in killed.stderr
    assert len(large.list_parts()) == LARGE - 1
    before = len(large.read_done())
    assert large.run("threads", plain=True, again=True, kill="even-20", times=2).returncode == 0
    assert large.read_done()[before:] == [again]
    refused = large.run(engine, refuse="odd-00")
    assert (refused.returncode, refused.stderr.count("words: odd-00 is refused")) == (2, 1), refused.stderr


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_an_address_where_no_cluster_answers_is_one_line(project):
    done = project.run("dask", address="tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "run.engine.dask.address: no cluster answers at tcp://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
