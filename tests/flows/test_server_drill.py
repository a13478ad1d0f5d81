"""Drill: the sample's flights on PostgreSQL and on MariaDB, through the whole flow, with the server kicked.

Runs the real commands on a copy of the project, from the shipped ledger: the same artifacts as from the
SQLite file, to the byte, and the password in no file.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.databases.servers import PASSWORD, PASSWORD_ENV, copy_tables, open_place

ROOT = Path(__file__).parents[2]
TARGET = "grammar-dataset@flights"
COMPARED = ("schema", "sql_templates", "text_templates", "back_check", "fill_in", "unbalanced", "balanced")
KICKS = 5


class Project:
    """A copy of this project with its sample data."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root.parent / "home"
        self.home.mkdir()
        self.outputs: list[str] = []
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.split():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)

    @property
    def environment(self) -> dict[str, str]:
        places = {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "BENCHLOOM_LEDGER": str(self.home / "ledger.sqlite"),
        }
        return {**os.environ, **places, PASSWORD_ENV: PASSWORD}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        output, _ = process.communicate()
        self.outputs.append(output)
        return process.returncode, output

    def bring_up(self) -> tuple[int, str]:
        return self.run("flows.cli", "run", TARGET, "--replay", "--plain")

    def move(self, fields: dict[str, object]) -> None:
        """Point the flights at another place."""
        path = self.root / "params.yaml"
        params = yaml.safe_load(path.read_text())
        kept = {name: value for name, value in params["databases"]["flights"].items() if name != "file"}
        kept = {name: value for name, value in kept.items() if name not in ("url", "password_env")}
        params["databases"]["flights"] = {**kept, **fields}
        path.write_text(yaml.safe_dump(params, sort_keys=False))

    def read_artifacts(self) -> dict[str, bytes]:
        folder = self.root / "data/grammar/flights"
        return {name: (folder / f"{name}.parquet").read_bytes() for name in COMPARED}

    def forget(self) -> None:
        """Let go of every artifact of the flow and of DVC's memory of them."""
        for path in ("data/grammar", "dvc.lock", ".dvc/cache"):
            target = self.root / path
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)


@pytest.mark.drill
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_the_same_artifacts_from_a_server_that_is_kicked(tmp_path, kind):
    root = tmp_path / "project"
    root.mkdir()
    project = Project(root)
    code, output = project.run("tasks.sources.packages")
    if code:
        pytest.skip(f"the sample's packages are not here: {output.splitlines()[-1]}")
    code, output = project.bring_up()
    assert code == 0, output
    expected = project.read_artifacts()
    with open_place(kind) as place:
        copy_tables(root / "data/raw/flights/flights.sqlite", place)
        project.move({"url": place.entry.url, "password_env": PASSWORD_ENV, "file": "snapshots/flights.json"})
        draw = random.Random(0)
        lines = [run_and_kick(project, place, draw.uniform(0.0, 2.0)) for _ in range(KICKS)]
        for line in filter(None, lines):
            assert "databases.flights: the server does not answer" in line
            assert "Traceback" not in line
        assert any(lines), "no kick met a reader at work"
        code, output = project.bring_up()
        assert code == 0, output
        assert project.read_artifacts() == expected
        code, output = project.bring_up()
        assert " ran" not in output
    assert all(PASSWORD not in output for output in project.outputs)
    assert find_password(tmp_path) == []


def run_and_kick(project: Project, place, delay: float) -> str:
    """Run from nothing and end the reader's connections once there are some; give the output if it failed."""
    project.forget()
    process = project.start("flows.cli", "run", TARGET, "--replay", "--plain")
    kicked = 0
    while process.poll() is None and not kicked:
        time.sleep(0.02)
        kicked = place.kick() if delay <= 0 else 0
        delay -= 0.02
    output, _ = process.communicate()
    project.outputs.append(output)
    return output if process.returncode else ""


def find_password(folder: Path) -> list[Path]:
    """List the files that hold the password, whatever they are."""
    secret = PASSWORD.encode()
    return [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]
