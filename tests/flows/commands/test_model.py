import hashlib
import json

import pytest
import yaml
from typer.testing import CliRunner

from flows.commands.model import app
from tasks.errors import BadInput

CONTENT = b"weights" * 100


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHLOOM_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    model = {"file": "m.gguf", "bytes": 700, "sha256": hashlib.sha256(CONTENT).hexdigest(), "licence": "MIT"}
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"models": {"small": model}}))


def invoke(*arguments):
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_model_is_listed_before_and_after_it_is_pulled(tmp_path):
    (before,) = json.loads(invoke("list", "--json").stdout)
    assert (before["name"], before["here"], before["server"]) == ("small", False, None)
    (tmp_path / "own").write_bytes(CONTENT)
    invoke("pull", "--file", str(tmp_path / "own"))
    (after,) = json.loads(invoke("list", "--json").stdout)
    assert after["here"]
    assert (tmp_path / "models/m.gguf").read_bytes() == CONTENT


def test_an_unknown_model_names_those_there_are():
    with pytest.raises(BadInput, match=r"model large: is not in params\.yaml \(known: small\)"):
        invoke("serve", "large")


def test_stopping_nothing_says_so():
    assert invoke("stop").stdout == "no server was running\n"


@pytest.mark.parametrize("command", ["pull", "serve", "list", "stop"])
def test_every_help_has_an_example(command):
    assert "Example: benchloom model" in invoke(command, "--help").stdout
