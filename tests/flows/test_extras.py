"""Tests that an extra suffices for its commands, and that a one-line error names a missing extra."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from flows.extras import explain_missing, list_extras, list_requirements
from tests.flows.conftest import make_folder

RUN = """
import sys
for name in {hidden}:
    sys.modules[name] = None  # an import of it fails as where it is not installed
sys.argv = ["benchloom", *{words}]
from flows.cli import main
main()
"""


def list_brought(extra):
    """Return the distributions that an extra installs, including their dependencies."""
    todo, brought = (
        [Requirement(text) for text in (*list_requirements(), *list_requirements(extra))],
        {"benchloom"},
    )
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if name in brought:
            continue
        brought.add(name)
        try:
            needs = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:  # a package for another platform
            continue
        extras = requirement.extras or {""}
        todo += [
            need
            for need in needs
            if not need.marker or any(need.marker.evaluate({"extra": e}) for e in extras)
        ]
    return brought


def call_with(extra, *words):
    brought = list_brought(extra)
    hidden = [
        module
        for module, names in packages_distributions().items()
        if not brought & {canonicalize_name(name) for name in names}
    ]
    code = RUN.format(hidden=hidden, words=list(words))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_command_line_needs_no_extra():
    done = call_with("", "--help")
    assert done.returncode == 0, done.stderr
    assert "score" in done.stdout


@pytest.mark.parametrize(
    ("metric", "item"),
    [
        ("rms", {"gold": "a|b\nc|1", "prediction": "a|b\nc|1"}),
        ("hotpotqa", {"gold": "yes", "prediction": "yes"}),
        ("ddxplus", {"gold": 1, "prediction": "1"}),
        ("correlation", {"human": 1, "judge": 2}),
        ("agreement", {"ratings": [1, 1]}),
        ("multiturn", {"scores": [0.5]}),
    ],
)
def test_the_extra_score_is_enough_to_score(metric, item, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps({"id": n, **item}) + "\n" for n in range(3)))
    done = call_with("score", "score", metric, str(path), "--ci", "--draws", "10")
    assert done.returncode == 0, done.stderr
    assert "figure" in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["score", "rms", "x.jsonl"], "score"),
        (["status"], "project"),
        (["publish", "shop", "--to", "x"], "publish"),
    ],
)
def test_a_command_whose_libraries_are_missing_names_their_extra(words, extra):
    done = call_with("", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"benchloom: benchloom {words[0]}: needs ")
    assert done.stderr.endswith(f"(run pip install 'benchloom[{extra}]')\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("source", ["texts", "dump.xml"])
def test_articles_of_wikipedia_name_the_extra_before_anything_is_read(source, tmp_path, monkeypatch):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text("{}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    (root / "texts").mkdir()
    (root / "texts/Dublin.txt").write_text("Dublin is a city.")
    (root / "dump.xml").write_text("<mediawiki/>")
    monkeypatch.chdir(root)
    monkeypatch.setenv("BENCHLOOM_IMPORT", str(os.getpid()))  # this process reads the source
    done = call_with("project", "import", "wikipedia", source)
    assert done.returncode == 2
    assert done.stderr.endswith("is not installed here (run pip install 'benchloom[wiki]')\n")
    assert done.stderr.count("\n") == 1
    assert not (root / "data").exists() or not list((root / "data").rglob("*.*"))


def test_every_extra_stands_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs/install.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z0-9]+)`|\[([a-z0-9,]+)\]", text)
    assert set(list_extras()) <= {extra for pair in named for part in pair for extra in part.split(",")}


def test_a_library_of_the_users_own_code_is_no_matter_of_extras():
    assert explain_missing(ModuleNotFoundError(name="torch"), ["run"]) is None


def test_every_extra_stands_on_the_ones_it_names():
    assert {
        "embedded",
        "japanese",
        "mariadb",
        "postgresql",
        "project",
        "publish",
        "retrieval",
        "score",
    } <= set(list_extras())
    assert set(list_requirements("score")) < set(list_requirements("project"))
    assert not any("sudachi" in text for text in list_requirements("retrieval"))


def test_what_shapes_bytes_is_installed_as_it_is_pinned():
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    pins = settings["tool"]["benchloom"]
    asked = {
        "bytes": "project", "contracts": "project", "english": "project", "retrieval": "japanese",
        "calculator": "project", "names": "project", "units": "project",
    }  # fmt: skip
    for section, extra in asked.items():
        assert {f"{name}=={pin}" for name, pin in pins[section].items()} <= set(list_requirements(extra))
    assert pins.keys() == asked.keys()
