"""Tests of DVC's remotes (folder and S3): a pulled clone is fresh, and a remote's error is one line."""

import json
import shutil
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from flows.nights.preparation import list_objects
from flows.run.record.dvc_boundary import Moved, move_objects
from flows.run.record.recorder import Recorder
from tests.flows.conftest import Project
from tests.models.cut_network import cutting

EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


@dataclass
class Store:
    """A local S3 server. key: the accepted key, if key checks are enabled."""

    url: str
    key: tuple[str, str] = ("any", "any")

    def client(self, service: str):
        return boto3.client(
            service, endpoint_url=self.url, aws_access_key_id="any", aws_secret_access_key="any",
            region_name="us-east-1",
        )  # fmt: skip

    def look_at_keys(self) -> None:
        iam = self.client("iam")
        iam.create_user(UserName="one")
        made = iam.create_access_key(UserName="one")["AccessKey"]
        iam.put_user_policy(UserName="one", PolicyName="all", PolicyDocument=json.dumps(EVERYTHING))
        self.key = made["AccessKeyId"], made["SecretAccessKey"]
        told = urllib.request.Request(
            f"{self.url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}, method="POST"
        )
        urllib.request.urlopen(told).close()


@pytest.fixture(scope="module")
def store():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield Store(f"http://{host}:{port}")
    server.stop()


@pytest.fixture
def s3(store: Store, monkeypatch, tmp_path) -> Store:
    """The server, with this test's keys in the environment and no other keys."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    set_key(monkeypatch, store.key)
    return store


def set_key(monkeypatch, key: tuple[str, str]) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key[1])


def use_remote(project: Project, url: str, endpoint: str = "") -> None:
    (project.root / ".dvc/config").write_text(
        f"[core]\n    remote = store\n    analytics = false\n['remote \"store\"']\n    url = {url}\n"
        + (f"    endpointurl = {endpoint}\n" if endpoint else "")
    )


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True)


def push(project: Project) -> Moved:
    return move(project, "push")


def move(project: Project, way) -> Moved:
    recorder = Recorder(project.root)
    try:
        stages = [recorder.graph.find_stage(name) for name in recorder.nodes]
        return move_objects(recorder.repo, way, list_objects(stages))
    finally:
        recorder.close()


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_clone_is_fresh_after_a_pull_and_runs_nothing_again(project, tmp_path, kind, request, monkeypatch):
    if kind == "s3":
        server = request.getfixturevalue("s3")
        server.client("s3").create_bucket(Bucket="artifacts")
        use_remote(project, "s3://artifacts/here", server.url)
    else:
        use_remote(project, str(tmp_path / "store"))
    project.states()
    assert push(project) == Moved(3)
    project.dvc("push", "--run-cache")
    git(project.root, "add", "--all")
    git(project.root, "commit", "--quiet", "-m", "Begin")
    git(tmp_path, "clone", "--quiet", str(project.root), "clones/one")

    clone = Project(tmp_path / "clones/one")
    monkeypatch.chdir(clone.root)
    assert not (clone.root / "first.txt").exists()
    clone.dvc("pull", "--run-cache")
    said = subprocess.run(
        [sys.executable, "-m", "flows.cli", "status"],
        cwd=clone.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "All stages are fresh." in said.stdout, said.stderr
    before = clone.read("first.txt")
    clone.write("first.txt", "spoilt\n")
    assert clone.states() == {"first": "restored", "second": "fresh", "third": "fresh"}, clone.errors
    assert clone.read("first.txt") == before
    assert clone.count_runs("first") == 0


def test_a_bucket_that_is_missing_is_one_line(project, s3, capfd):
    use_remote(project, "s3://nowhere/here", s3.url)
    project.states()
    moved = push(project)
    assert moved.files == 0
    assert "The specified bucket does not exist" in moved.problem
    assert moved.problem.endswith("create the bucket, or correct the remote's URL (.dvc/config)")
    assert "failed to transfer" not in capfd.readouterr().err


def test_a_key_that_is_none_or_wrong_is_one_line_that_does_not_show_it(project, s3, monkeypatch):
    s3.client("s3").create_bucket(Bucket="guarded")
    use_remote(project, "s3://guarded/here", s3.url)
    project.states()
    s3.look_at_keys()
    set_key(monkeypatch, (s3.key[0], "a-wrong-secret"))
    refused = push(project)
    assert refused.files == 0
    assert refused.problem.startswith("store: The request signature we calculated does not match")
    assert refused.problem.endswith("; the key in the environment does not have permission")
    assert "a-wrong-secret" not in refused.problem

    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
    assert push(project) == Moved(0, f"store: Unable to locate credentials; {hint}")

    set_key(monkeypatch, s3.key)
    assert push(project) == Moved(3)


@pytest.mark.drill
@pytest.mark.timeout(900)
def test_over_a_failing_network_all_arrives_in_the_end_and_nothing_is_spoiled(project, s3, tmp_path, capfd):
    """Push and pull until all files arrive: missing files are counted, and no file is incomplete."""
    s3.client("s3").create_bucket(Bucket="failing")
    place = urlsplit(s3.url)
    files = "[Path(f'many/{n}').write_text(str(n) * 5000) for n in range(60)]"
    project.write("make.py", f"from pathlib import Path\n{files}\n")
    command = f"mkdir -p many && {sys.executable} make.py"
    stage = f"  many:\n    cmd: {command}\n    deps: [make.py]\n    outs: [many]\n"
    project.write("dvc.yaml", project.read("dvc.yaml") + stage)
    project.states()
    with cutting(place.hostname, place.port, seed=5, longest_s=2.0) as network:
        network.begin(connections=0)
        use_remote(project, "s3://failing/here", f"http://127.0.0.1:{network.port}")
        for way in ("push", "pull"):
            if way == "pull":
                shutil.rmtree(project.root / ".dvc/cache")
            tries = []
            while not tries or tries[-1].problem:
                assert len(tries) < 20, tries
                tries.append(move(project, way))
                assert "\n" not in tries[-1].problem
            print(way, [moved.files for moved in tries], dict(network.faults))
    assert "Traceback" not in "".join(capfd.readouterr())
    project.dvc("checkout", "--force")
    assert [(project.root / f"many/{n}").read_text() == str(n) * 5000 for n in range(60)] == [True] * 60
    assert set(project.states().values()) == {"fresh"}
