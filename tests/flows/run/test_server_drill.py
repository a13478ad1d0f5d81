"""Drill: run the whole flow on flights in PostgreSQL and MariaDB, with killed connections.

The real commands run on a copy of the project with the shipped ledger. The artifacts must have the same bytes
as with the SQLite file, and no file may contain the password.
"""

import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

from tasks.artifacts.parquet import count_rows
from tests.databases.gate import open_gate
from tests.databases.servers import PASSWORD, PASSWORD_ENV, Place, copy_tables, open_place
from tests.flows.sample import COMPARED, make_datasets

TARGET = "grammar-dataset@flights"
BRING_ALL_UP = ("flows.cli", "run", "--replay", "--plain")
BRING_UP = ("flows.cli", "run", "--replay", "--plain", TARGET)


class Project:
    """The sample's films and flights, with a separate home folder; the password is in the environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root.parent / "home"
        self.home.mkdir()
        self.outputs: list[str] = []
        self.sample = make_datasets(root)
        places = {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"), PASSWORD_ENV: PASSWORD}
        self.sample.environment |= places

    def run(self, *words: str) -> tuple[int, str]:
        done = self.sample.call(*words)
        output = done.stdout + done.stderr
        self.outputs.append(output)
        return done.returncode, output

    def move(self, fields: dict[str, object]) -> None:
        """Change the location of the flights database."""
        path = self.root / "params.yaml"
        params = yaml.safe_load(path.read_text())
        kept = {name: value for name, value in params["databases"]["flights"].items() if name != "file"}
        kept = {name: value for name, value in kept.items() if name not in ("url", "password_env")}
        params["databases"]["flights"] = {**kept, **fields}
        path.write_text(yaml.safe_dump(params, sort_keys=False))

    def read_artifacts(self) -> dict[str, bytes]:
        folder = self.root / "data/grammar/flights"
        return {name: (folder / f"{name}.parquet").read_bytes() for name in COMPARED}

    def walk_back(self) -> tuple[int, str]:
        """Commit, and trace every question about flights to its sources; return exit code and output."""
        identity = ("-c", "user.name=drill", "-c", "user.email=drill@localhost")
        for words in (("add", "-A"), (*identity, "commit", "-qm", "The flights as they stand")):
            subprocess.run(["git", *words], cwd=self.root, check=True)
        return self.run("flows.cli", "lineage", "data/grammar/flights/balanced.parquet", "--all")

    def forget_fill_in(self) -> None:
        """Remove the artifact that is computed from the server, and DVC's copies."""
        for path in (self.root / "data/grammar/flights").glob("fill_in*"):
            path.unlink()
        shutil.rmtree(self.root / ".dvc/cache")

    def forget_both_fill_ins(self) -> None:
        """Also make the films stale, which need no server."""
        for path in (self.root / "data/grammar/films").glob("fill_in*"):
            path.unlink()
        self.forget_fill_in()

    def bring_up_kicked(self, place: Place) -> tuple[int, str]:
        """Run while the reader's connections are ended repeatedly."""
        process = self.sample.start(*BRING_UP[4:])
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(process.communicate)
            while process.poll() is None:
                place.kick()
                time.sleep(0.05)
            output = str(said.result()[1])
        self.outputs.append(output)
        return process.returncode, output


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The sample's flights, built from their SQLite file."""
    root = tmp_path_factory.mktemp("drill") / "project"
    root.mkdir()
    project = Project(root)
    code, output = project.run(*BRING_UP)
    assert code == 0, output
    return project


@pytest.mark.drill
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_the_same_artifacts_from_a_server_that_goes_away(project: Project, kind: str) -> None:
    expected = project.read_artifacts()
    assert count_rows(project.root / "data/grammar/flights/balanced.parquet") >= 300
    with open_place(kind) as place:
        copy_tables(project.root / "data/raw/flights/flights.sqlite", place)
        project.move({"url": place.entry.url, "password_env": PASSWORD_ENV, "file": f"snapshots/{kind}.json"})
        code, output = project.run(*BRING_UP)
        assert code == 0, output
        assert "fill-in@flights" in output
        assert project.read_artifacts() == expected
        code, output = project.walk_back()
        assert code == 0, output[-2000:]
        assert f"source {kind}.json#" in output  # a source of the printed rows
        assert output.rstrip().endswith("no gap")

        project.forget_fill_in()
        code, output = project.bring_up_kicked(place)
        assert code == 1, output
        assert "databases.flights: the server does not respond" in output
        assert "Traceback" not in output
        code, output = project.run(*BRING_UP)
        assert code == 0, output
        assert project.read_artifacts() == expected
        assert "databases.flights: 5 tables" in output
        assert "unchanged" in output
    assert all(PASSWORD not in output for output in project.outputs)
    assert find_password(project.root.parent) == []


@pytest.mark.drill
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_server_that_stops_while_it_is_read_fails_its_stage_alone(project: Project, kind: str) -> None:
    """The server is behind a gate that shuts during the fill-in."""
    code, output = project.run(*BRING_ALL_UP)
    assert code == 0, output
    expected = project.read_artifacts()
    with open_place(kind) as place:
        copy_tables(project.root / "data/raw/flights/flights.sqlite", place)
        address = make_url(place.entry.url)
        with open_gate(address.host, address.port) as gate:
            url = address.set(host="127.0.0.1", port=gate.port).render_as_string(hide_password=False)
            project.move({"url": url, "password_env": PASSWORD_ENV, "file": f"snapshots/gate-{kind}.json"})
            code, output = project.run(*BRING_ALL_UP)
            assert code == 0, output
            assert project.read_artifacts() == expected
            gate.passed = 0
            project.run(*BRING_ALL_UP)
            looking = gate.passed
            project.forget_both_fill_ins()
            gate.passed = 0
            project.run(*BRING_ALL_UP)
            reading = gate.passed - looking
            assert reading > 10_000

            project.forget_both_fill_ins()
            gate.passed, gate.limit = 0, looking + reading // 2
            code, output = project.run(*BRING_ALL_UP)
            print(output)
            assert code == 1, output
            assert "Traceback" not in output
            failed = [line for line in output.splitlines() if " failed " in line]
            assert failed
            assert all("@flights " in line for line in failed)  # any stage that was reading the database
            assert all("databases.flights: the server does not respond" in line for line in failed)
            held_up = [line for line in output.splitlines() if " skipped " in line]
            assert all("@flights " in line for line in held_up)
            assert any(line.startswith("grammar-fill-in@films ") for line in output.splitlines())

            gate.limit = None
            gate.open()
            code, output = project.run(*BRING_ALL_UP)
            assert code == 0, output
            assert project.read_artifacts() == expected
    assert all(PASSWORD not in output for output in project.outputs)
    assert find_password(project.root.parent) == []


def find_password(folder: Path) -> list[Path]:
    """List all files that contain the password."""
    secret = PASSWORD.encode()
    own = Path("tests/databases/servers.py")  # included in the copy of the project
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.match(str(own)) and secret in path.read_bytes()
    ]
