"""dvc.yaml against the code: DVC does not follow imports, so its dependencies are held to them here."""

import re
from pathlib import Path

import grimp
import pytest

from flows.binding import argument_name, find_function, prompts_folder
from flows.papers import PAPERS
from flows.recorder import Recorder
from flows.selection import order_nodes, select_nodes
from tasks.errors import BadInput

ROOT = Path(__file__).parents[2]
WRITER = "tasks.artifacts.parquet"
ASK = ("tasks.models.ask", "tasks.models.calls", "tasks.models.desk")
"""What stands between a stage and its artifact's bytes without being imported by it."""


@pytest.fixture(scope="module")
def nodes():
    recorder = Recorder(ROOT)
    yield recorder.nodes
    recorder.close()


@pytest.fixture(scope="module")
def imports():
    return grimp.build_graph("tasks", cache_dir=None)


def find_modules(stage: str, outs: tuple[str, ...], imports) -> set[str]:
    """List the files of all modules that shape a stage's bytes; packages hold no code of their own."""
    roots = {f"tasks.{stage}"}
    if any(out.endswith(".parquet") for out in outs):
        roots.add(WRITER)
    if any(out.endswith(".calls.parquet") for out in outs):
        roots.update(ASK)
    modules = roots.union(*(imports.find_upstream_modules(root) for root in roots))
    if "tasks.databases.child" in modules:
        for reader in ("tasks.databases.sqlite_child", "tasks.databases.server_child"):  # named, not imported
            modules |= {reader, *imports.find_upstream_modules(reader)}
    files = {module.replace(".", "/") + ".py" for module in modules}
    return {file for file in files if (ROOT / file).exists()}


def test_dependencies_name_every_module_that_a_stage_imports_and_no_other(nodes, imports):
    for node in nodes.values():
        named = {dep for dep in node.deps if dep.endswith(".py")}
        assert named == find_modules(node.stage, node.outs, imports), node.name


def test_packages_hold_no_code_that_a_dependency_could_miss():
    for file in ROOT.glob("tasks/**/__init__.py"):
        assert not re.search(r"^(import|from|def|class|\w+ =)", file.read_text(), re.MULTILINE), file


def test_dependencies_name_every_prompt_and_every_page_that_a_stage_reads(nodes):
    for node in nodes.values():
        if any(out.endswith(".calls.parquet") for out in node.outs):
            module, _ = find_function(node)
            folder = prompts_folder(module).relative_to(ROOT)
            assert any(Path(dep).is_relative_to(folder) for dep in node.deps), node.name


def test_every_argument_of_a_stage_is_one_of_its_dependencies(nodes):
    given = {"params", "ask", "database", "settings", "limit", "out"}
    for node in nodes.values():
        _, function = find_function(node)
        names = set(function.__annotations__) - {"return"} - given
        files = {argument_name(dep) for dep in node.deps if not dep.startswith("tasks/")}
        assert names <= files, node.name


def test_flows_name_the_stages_of_the_graph_in_its_order(nodes):
    order = [nodes[name].stage for name in order_nodes(nodes)]
    for paper in PAPERS:
        steps = [step.stage for step in paper.steps]
        assert set(steps) <= set(order)
        for node in nodes.values():
            for upstream in node.upstream:
                assert steps.index(nodes[upstream].stage) < steps.index(node.stage)
    assert {step.stage for paper in PAPERS for step in paper.steps} == set(order)


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
        ("grammar.schema", {"sources.films", "sources.flights", "grammar.schema"}),
        ("grammar-schema@films", {"sources.films", "grammar.schema"}),
        ("data/grammar/films/schema.parquet", {"sources.films", "grammar.schema"}),
    ],
)
def test_a_target_brings_what_it_stands_on(nodes, target, stages):
    assert {nodes[name].stage for name in select_nodes(nodes, [target])} == stages


def test_an_unknown_target_is_told_what_there_is(nodes):
    with pytest.raises(BadInput, match=r"grammar-schema"):
        select_nodes(nodes, ["gramar"])


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
    assert argument_name(path) == name
