"""Tests of this repository's graph with every fan-out enabled."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from flows.code import ROOMS
from flows.discovery import find_stage, list_evaluating, list_flows, list_stages
from flows.graph import FROM_PARAMS, DeclaredGraph
from flows.graph_file import compare_graph, split_own
from flows.night_settings import EvaluatedEntry
from flows.nights.preparation import select_night
from flows.run.binding import find_function
from flows.run.record.recorder import Recorder
from flows.run.selection import order_nodes, select_nodes
from flows.stage import name_argument
from tasks.errors import BadInput

ROOT = Path(__file__).parents[2]
SWITCHED_ON = {
    "ragcheck": {
        "sets": {"trial": {"kind": "lines", "path": "data/raw/trial"}},
        "correctness": {"trial": {"systems": ["good"], "ratings": "tasks/ragcheck/unrated.csv"}},
        "continuity": {"trial": {"systems": ["good", "single"]}},
    },
    "qa": {
        "sets": {"trial": {"file": "data/raw/trial.csv"}},
        "systems": {"trial": {"set": "trial", "system": "alone"}},
    },
    "longform": {
        "databases": {
            "trial": {"file": "data/raw/films/films.sqlite", "questions": "tasks/longform/no_questions.json"}
        },
        "sets": {"trial": {"databases": ["trial"]}},
        "evaluations": {"trial": {"set": "trial"}},
        "systems": {"trial": {"set": "trial", "system": "good"}},
    },
    "tanq": {
        "sets": {"trial": {"source": "countries"}},
        "evaluations": {"trial": {"set": "trial"}},
        "systems": {"trial": {"set": "trial", "system": "good"}},
    },
    "streambench": {
        "databases": {
            "trial": {
                "questions": "data/grammar/films/balanced.parquet",
                "file": "data/raw/films/films.sqlite",
            }
        },
        "streams": {"trial": {"datasets": ["trial"]}},
        "evaluations": {"trial": {"stream": "trial", "methods": ["zero_shot"]}},
        "systems": {"trial": {"stream": "trial", "system": "good"}},
        "overviews": {"trial": {}},
    },
    "assessments": {"trial": {"database": "films", "system": "weak", "llm_only": "trial"}},
    "companies": {"trial": {"seed": 0}},
    "closed": {
        "films": {"file": "data/raw/films/films.sqlite", "documents": "data/grammar/films/documents.parquet"}
    },
}
"""Entries for sections that params.yaml leaves empty, to check their stages, too."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    (folder / ".dvc").mkdir()
    (folder / ".dvc" / "config").write_text("[core]\n    no_scm = True\n")
    shutil.copy(ROOT / "dvc.yaml", folder)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    for name, entries in SWITCHED_ON.items():
        params[name] |= entries
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # DVC names stages relative to the current folder
        recorder = Recorder(folder)
        yield recorder.nodes
        recorder.close()


def test_the_committed_graph_is_what_the_flows_declare():
    before, after = compare_graph(ROOT, yaml.safe_load((ROOT / "params.yaml").read_text()))
    assert before == after


def test_a_stage_depends_on_what_it_imports_starts_and_shows(nodes):
    deps = set(next(node for node in nodes.values() if node.stage == "grammar.report").deps)
    assert "tasks/grammar/publish/report.py" in deps
    assert "tasks/artifacts/parquet.py" in deps  # an indirect dependency
    assert {"tasks/reports/pages/page.html", "tasks/reports/pages/viewer.js"} <= deps  # named in its code
    assert "tasks/reports/pages/base.html" in deps  # extended by a named template
    assert "tasks/reports/pages/night.html" not in deps
    deps = set(next(node for node in nodes.values() if node.stage == "grammar.fill_in").deps)
    started = {
        "tasks/databases/sqlite_child.py",
        "tasks/databases/servers/server_child.py",
    }  # not imported
    assert started <= deps


def test_every_room_has_its_place_in_the_import_layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if "downwards" in contract["name"])
    named = {name.strip().removeprefix("tasks.") for layer in layers for name in layer.split("|")}
    assert named - {"disk", "files", "errors", "limits", "lines", "plugs", "processes"} == ROOMS


def test_packages_hold_no_code_that_a_dependency_could_miss():
    for file in ROOT.glob("tasks/**/__init__.py"):
        assert not re.search(r"^(import|from|def|class|\w+ =)", file.read_text(), re.MULTILINE), file


def test_stages_that_ask_systems_declare_them_their_prompts_and_the_night(nodes):
    for node in nodes.values():
        if "tasks/systems/build.py" in node.deps:
            assert any(dep.startswith("tasks/systems/prompts") for dep in node.deps), node.name
            assert any(name.split(".")[0] == "systems" for name in node.params), node.name
            night = "baselines" if find_stage(node.stage).asks_once else "evaluation"
            assert night in node.params, node.name


def test_a_night_can_ask_every_scope_that_evaluates(nodes):
    for scope in list_evaluating():
        chosen = select_night(nodes, EvaluatedEntry("trial", scope, "trial"))
        stages = [nodes[name].stage for name in chosen]
        assert scope.evaluates in stages, scope.over
        assert not scope.canaries or scope.canaries in stages, scope.over


def test_no_stage_depends_on_what_cannot_change_its_bytes(nodes):
    read = {name.split(".")[0] for node in nodes.values() for name in node.params}
    assert "roles" in read
    assert not {"run", "nightly"} & read


def test_a_stage_depends_on_what_plugs_use_and_on_their_folder_not_on_each_of_them():
    """Plug-in files are found by name and not declared."""
    deps = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["streambench-steps"]["do"]["deps"]
    assert {"tasks/streambench/methods", "tasks/scoring/execution.py"} <= set(deps)
    assert [dep for dep in deps if dep.startswith("tasks/streambench/methods/")] == []
    assert "tasks/models/sending/dispatcher.py" not in deps


def test_construction_belongs_to_no_night(nodes):
    makes = ("schema", "templates", "check", "fill_in", "balanced", "dataset")
    building = [node for node in nodes.values() if node.stage.endswith(makes)]
    assert building
    assert all(not name.startswith("evaluation") for node in building for name in node.params)


def test_every_argument_of_a_stage_is_one_of_its_dependencies(nodes):
    for node in nodes.values():
        _, function = find_function(node)
        names = set(function.__annotations__) - {"return", "evaluated"} - FROM_PARAMS
        covered = {name_argument(path) for path in find_stage(node.stage).covered}
        files = {name_argument(dep) for dep in node.deps if not dep.startswith("tasks/")} | covered
        assert names <= files, node.name


def test_flows_name_the_stages_of_the_graph_in_its_order(nodes):
    order = [nodes[name].stage for name in order_nodes(nodes)]
    for flow in list_flows():
        own = [stage.name for stage in flow.stages]
        assert set(own) <= set(order)
        for node in (node for node in nodes.values() if node.stage in own):
            for upstream in (nodes[name].stage for name in node.upstream):
                assert upstream not in own or own.index(upstream) < own.index(node.stage)
    assert {stage.name for stage in list_stages()} == set(order)


def test_parameters_stand_under_their_stages_name(nodes):
    for node in nodes.values():
        _, function = find_function(node)
        if "params" in function.__annotations__:
            assert any(node.stage == key or node.stage.startswith(f"{key}.") for key in node.params), (
                node.name
            )


@pytest.mark.parametrize(
    ("target", "stages"),
    [
        (
            "grammar.closed_names",
            {"sources.packages", "sources.films", "sources.flights", "grammar.closed_names"},
        ),
        (
            "grammar-schema@films",
            {"sources.packages", "sources.films", "grammar.glossary", "grammar.columns", "grammar.schema"},
        ),
        (
            "data/grammar/films/schema.parquet",
            {"sources.packages", "sources.films", "grammar.glossary", "grammar.columns", "grammar.schema"},
        ),
    ],
)
def test_a_target_brings_what_it_stands_on(nodes, target, stages):
    assert {nodes[name].stage for name in select_nodes(nodes, [target])} == stages


def test_an_unknown_target_is_told_what_there_is(nodes):
    with pytest.raises(BadInput, match=r"did you mean grammar\? flows: grammar, longform, .* and \d+ more"):
        select_nodes(nodes, ["gramar"])


def test_a_graph_file_with_marks_of_a_conflict_is_named_with_its_line():
    with pytest.raises(BadInput, match=r"dvc\.yaml, line \d: is not valid YAML .*git checkout dvc\.yaml"):
        split_own("stages:\n  a: {cmd: x}\n<<<<<<< ours\n=======\n", DeclaredGraph(ROOT, []))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.parquet", "b"),
        ("a/b.calls.parquet", "b_calls"),
        ("a/flights.csv.zip", "flights"),
        ("x/movies.db", "movies"),
    ],
)
def test_arguments_are_named_by_their_files(path, name):
    assert name_argument(path) == name


HEAVY = """
import importlib, sys
from flows.run.binding import find_function
from flows.run.record.recorder import Recorder
from pathlib import Path
recorder = Recorder(Path.cwd())
for node in recorder.nodes.values():
    find_function(node)
import flows.commands.status, flows.commands.plan, flows.commands.report
assert "great_expectations" not in sys.modules
"""


def test_no_stage_imports_great_expectations_before_it_validates():
    done = subprocess.run(
        [sys.executable, "-c", HEAVY], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
