"""Tests that the launcher runs only the code of the current project."""

import os
import shutil
import subprocess
import sys

import pytest

from benchloom.making import init_command
from tests.benchloom.scenes import ROOT, call

STRANGER = "raise SystemExit('a stranger ran')\n"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "shop"
    init_command(folder)
    return folder


@pytest.fixture
def strangers(tmp_path):
    """A folder with other packages named `flows` and `tasks`, as a wheel or a user may have."""
    for name in ("flows", "tasks"):
        (tmp_path / "lib" / name).mkdir(parents=True)
        (tmp_path / "lib" / name / "__init__.py").write_text(STRANGER)
    return tmp_path / "lib"


def make_checkout(folder):
    """A second checkout of the repository, with the files that the launcher reads."""
    init_command(folder)
    shutil.copytree(ROOT / "benchloom", folder / "benchloom")
    return folder


def assert_refused(done, *words):
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("benchloom: ")
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr


def test_the_projects_own_code_runs_from_any_folder_inside_it(project):
    (project / "flows/commands/status.py").write_text(
        "def status_command(*_, **__):\n    print('edited here')\n    return 0\n"
    )
    assert call(project / "tasks" / "grammar", "status").stdout == "edited here\n"


def test_outside_of_any_project_the_installed_code_runs(tmp_path):
    (tmp_path / "lines.jsonl").write_text('{"id": "1", "gold": "a b", "prediction": "a b"}\n')
    done = call(tmp_path, "score", "hotpotqa", "lines.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    assert '"em":1,' in done.stdout
    assert_refused(call(tmp_path, "status"), "is not in a Benchloom project")


def test_packages_of_the_same_names_on_the_path_are_not_taken(project, strangers):
    done = call(project, "status", path=str(strangers))
    assert done.returncode == 0, done.stderr
    assert call(strangers, "--help", path=str(strangers)).returncode == 0


def test_a_users_own_dvc_project_with_a_flows_folder_is_no_project(strangers):
    for name in ("dvc.yaml", "params.yaml"):
        (strangers / name).write_text("{}\n")
    (strangers / "lines.jsonl").write_text('{"id": "1", "gold": "a", "prediction": "b"}\n')
    assert call(strangers, "score", "hotpotqa", "lines.jsonl", "--json").returncode == 0
    assert_refused(call(strangers, "run", "--plain"), "not from this project")


def test_it_refuses_what_was_imported_before_it(project, strangers):
    (strangers / "tasks/__init__.py").write_text("")
    (strangers / "sitecustomize.py").write_text("import tasks\n")
    done = call(project, "status", path=str(strangers))
    assert_refused(done, str(project), str(strangers / "tasks/__init__.py"), "sitecustomize")


def test_it_refuses_a_namespace_package_that_another_would_hide(project, strangers):
    (project / "tasks/__init__.py").unlink()
    done = call(project, "status", path=str(strangers))
    assert_refused(done, str(strangers / "tasks/__init__.py"), "tasks/__init__.py is missing")


def test_it_refuses_a_checkout_whose_environment_is_anothers(tmp_path):
    mine, theirs = make_checkout(tmp_path / "mine"), make_checkout(tmp_path / "theirs")
    assert_refused(call(mine, "run", "--replay", launcher=theirs), str(mine), str(theirs), "make setup")
    assert call(mine, "status", launcher=mine).returncode == 0
    made = tmp_path / "made"
    init_command(made)
    assert call(made, "status", launcher=theirs).returncode == 0


def test_python_that_is_led_to_another_checkout_records_nothing(project, tmp_path):
    other = tmp_path / "other"
    init_command(other)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flows.cli", "run", "--plain"],
        cwd=project, env={**os.environ, "PYTHONPATH": str(other)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_refused(done, str(project), str(other), "not from this project")


def test_a_folder_that_is_gone_is_one_line(tmp_path):
    (tmp_path / "gone").mkdir()
    code = "import os; os.rmdir(os.getcwd()); from benchloom.launcher import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
    )
    assert_refused(done, "the current folder no longer exists")
