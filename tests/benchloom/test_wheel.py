"""Tests of the wheel in a separate environment, outside of any checkout."""

import os
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchloom.tree import list_tree
from tests.benchloom.scenes import LAUNCHER, ROOT, build_wheel
from tests.grammar.scripted import make_database

ENTRY = "databases={shop: {file: shop.sqlite, title: A shop}}"
SCRIPT = "import sys\nfrom benchloom.launcher import main\nsys.exit(main())\n"
LINES = '{"id": "1", "gold": "a b", "prediction": "a b"}\n'


@dataclass
class Installed:
    """A wheel, and an environment in which only the wheel is installed, not the checkout."""

    wheel: Path
    environment: Path

    @property
    def packages(self) -> Path:
        return next((self.environment / "lib").glob("python*")) / "site-packages"

    def call(self, folder, *words, path=""):
        return subprocess.run(
            [self.environment / "bin" / "benchloom", *words],
            cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": path, "BENCHLOOM_LEDGER": str(folder / "ledger.sqlite")},
        )  # fmt: skip

    def succeed(self, folder, *words, **more):
        done = self.call(folder, *words, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Build the wheel, and unpack it like pip, together with this environment's libraries."""
    folder = tmp_path_factory.mktemp("wheel")
    found = Installed(build_wheel(folder), folder / "environment")
    venv.create(found.environment, symlinks=True)
    with zipfile.ZipFile(found.wheel) as wheel:
        wheel.extractall(found.packages)
    script = found.environment / "bin" / "benchloom"
    script.write_text(f"#!{found.environment}/bin/python\n{SCRIPT}")
    script.chmod(0o755)
    # A .pth file adds folders to the path; Python ignores .pth files (of an editable install) inside them.
    (found.packages / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return found


@pytest.fixture(scope="session")
def shop(installed, tmp_path_factory):
    """A project made in an empty folder by the installed command."""
    folder = tmp_path_factory.mktemp("empty")
    installed.succeed(folder, "init", "shop")
    make_database(folder / "shop/shop.sqlite")
    return folder / "shop"


def test_the_wheel_holds_each_file_of_the_tree_once_and_installs_one_package(installed):
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/")]
    assert len(names) == len(set(names))
    top = {name.split("/")[0] for name in names}
    assert top == {"benchloom", "benchloom-0.1.0.dist-info"}
    held = sorted(name.removeprefix("benchloom/template/") for name in names if "/template/" in name)
    assert held == sorted(path.as_posix() for path in list_tree(ROOT))
    bare = {Path(name).name for name in names if name.startswith("benchloom/") and "/template/" not in name}
    assert bare == {path.name for path in LAUNCHER}


def test_an_own_database_in_an_empty_folder(installed, shop):
    looked = installed.succeed(shop, "run", "--plain", "--limit", "2", "--set", ENTRY, "grammar.schema")
    assert "data/.preview" in looked
    assert "3 stages: 3 ran" in installed.succeed(shop, "run", "--plain", "grammar.schema")
    assert "grammar-schema@shop" in installed.succeed(shop, "status", "--all")


@pytest.mark.drill
def test_dvc_calls_the_same_launcher(installed, shop):
    installed.succeed(shop, "run", "--plain", "--set", ENTRY, "grammar.schema")
    before = (shop / "data/grammar/shop/schema.parquet").read_bytes()
    (shop / "dvc.lock").unlink()
    path = os.pathsep.join([str(installed.environment / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        [installed.environment / "bin/python", "-m", "dvc", "repro", "--no-run-cache", "grammar-schema@shop"],
        cwd=shop, env={**os.environ, "PATH": path, "PYTHONPATH": ""},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "benchloom stage grammar.schema shop" in done.stdout, done.stderr
    assert done.returncode == 0, done.stderr
    assert (shop / "data/grammar/shop/schema.parquet").read_bytes() == before


def test_scoring_needs_no_project(installed, tmp_path):
    (tmp_path / "lines.jsonl").write_text(LINES)
    assert '"f1":1' in installed.succeed(tmp_path, "score", "hotpotqa", "lines.jsonl", "--json")


def test_beside_a_wheel_with_packages_of_the_same_names(installed, shop, tmp_path):
    for name in ("flows", "tasks"):
        (installed.packages / name).mkdir()
        (installed.packages / name / "__init__.py").write_text("raise SystemExit('a stranger ran')\n")
    try:
        installed.succeed(shop, "status")
        (tmp_path / "lines.jsonl").write_text(LINES)
        installed.succeed(tmp_path, "score", "hotpotqa", "lines.jsonl")
    finally:
        for name in ("flows", "tasks"):
            shutil.rmtree(installed.packages / name)


def test_beside_a_users_own_folder_of_that_name(installed, tmp_path):
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows/__init__.py").write_text("raise SystemExit('a stranger ran')\n")
    (tmp_path / "lines.jsonl").write_text(LINES)
    installed.succeed(tmp_path, "score", "hotpotqa", "lines.jsonl", path=str(tmp_path))
    done = installed.call(tmp_path, "run", path=str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
