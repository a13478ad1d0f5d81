import json
import sys

import pytest
import yaml

from flows import extras
from flows.commands import doctor
from flows.commands.doctor import ROOM, check_python, check_room, doctor_command, examine

PYPROJECT = """
[tool.benchloom.bytes]
jinja2 = "{jinja2}"
"""


@pytest.fixture
def healthy(project, monkeypatch):
    from importlib.metadata import version

    project.write("pyproject.toml", PYPROJECT.format(jinja2=version("jinja2")))
    (project.root / "shop.sqlite").touch()
    write_params(project)
    return project


def write_params(project, databases=None, **endpoint):
    endpoints = {"hosted": {"url": "https://host/v1", **endpoint}}
    databases = {"shop": {"file": "shop.sqlite"}} if databases is None else databases
    project.write("params.yaml", yaml.safe_dump({"databases": databases, "run": {"endpoints": endpoints}}))


def find(project, what):
    return next(finding for finding in examine(project.root) if finding.what == what)


def test_where_nothing_is_missing_it_says_so_and_ends_with_0(healthy, capsys):
    assert doctor_command(as_json=False) == 0
    assert "Everything that a run needs is present." in capsys.readouterr().out


def test_for_machines_there_is_one_document(healthy, capsys):
    doctor_command(as_json=True)
    findings = json.loads(capsys.readouterr().out)
    assert {finding["state"] for finding in findings} <= {"ok", "optional"}
    assert all(finding["mend"] for finding in findings if finding["state"] != "ok")


def test_packages_are_held_against_what_the_installed_version_needs(healthy, monkeypatch):
    asked = ["pandas>=3", 'pyarrow>=1000; extra == "project"', 'no-such-package-at-all; extra == "dream"']
    monkeypatch.setattr(extras, "requires", lambda name: asked)
    monkeypatch.setattr(doctor, "list_extras", lambda: ["dream", "project"])
    found = find(healthy, "packages")
    assert "pyarrow>=1000 (installed: " in found.detail
    assert found.mend.endswith("pip install 'benchloom[project]'")
    assert find(healthy, "extra dream").detail == "no-such-package-at-all (not installed)"
    healthy.write("pyproject.toml", PYPROJECT.format(jinja2="0.1"))
    assert find(healthy, "byte pins").mend.endswith("pip install jinja2==0.1")


def test_a_database_without_its_file_or_password_is_named(healthy):
    write_params(healthy, {"shop": {"file": "gone.sqlite"}, "server": {"url": "nonsense"}})
    assert find(healthy, "database shop").detail == "the file gone.sqlite does not exist"
    assert find(healthy, "database server").state == "missing"
    write_params(healthy, {"server": {"url": "sqlite+nothing://host/x", "password_env": "NO_SUCH_VARIABLE"}})
    assert find(healthy, "database server").state == "missing"
    write_params(healthy, {})
    assert find(healthy, "databases").detail == "params.yaml lists no database"


def test_a_key_that_the_environment_lacks_is_named_and_never_shown(healthy, monkeypatch):
    write_params(healthy, key_env="SHOP_KEY")
    assert find(healthy, "model hosted").mend == "export SHOP_KEY=..."
    monkeypatch.setenv("SHOP_KEY", "sk-secret")
    assert find(healthy, "model hosted").state == "ok"
    assert "sk-secret" not in repr(list(examine(healthy.root)))


def test_a_lock_file_that_was_cut_short_is_mended_by_removing_it(healthy):
    locks = healthy.root / ".dvc" / "tmp" / "rwlock"
    locks.write_text("{")
    assert find(healthy, "DVC").mend == f"rm {locks}"


def test_parameters_that_cannot_be_read_are_a_finding_not_an_end(healthy):
    healthy.write("params.yaml", "run: {endpoints: {hosted: {url: 5}}}")
    assert find(healthy, "params.yaml").state == "missing"


def test_a_disk_with_little_room_and_an_old_interpreter_are_missing(healthy, monkeypatch):
    monkeypatch.setattr(doctor, "ROOM", ROOM * 10**9)
    assert check_room(healthy.root).state == "missing"
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    assert check_python().state == "missing"


def test_a_program_that_is_not_on_the_path_is_named(healthy, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert find(healthy, "git").mend == "apt-get install git"
    assert find(healthy, "benchloom on PATH").state == "optional"


def test_a_project_of_another_version_is_told_how_to_follow(healthy):
    before = (healthy.root / "pyproject.toml").read_text()
    healthy.write("pyproject.toml", f'[tool.benchloom]\nversion = "0.0.1"\n{before}')
    found = find(healthy, "code")
    assert (found.state, found.mend) == ("optional", "benchloom init --upgrade")
    assert "is version 0.0.1, but 0." in found.detail


def test_outside_of_a_project_it_looks_at_the_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert doctor_command(as_json=True) == 0
    findings = {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert findings["packages"]["state"] == "ok"
    assert findings["project"]["mend"] == "benchloom init DIR"
