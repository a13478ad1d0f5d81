"""dvc.yaml against the code: DVC does not follow imports, so its dependencies are held to them here."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
import yaml
from jinja2.meta import find_referenced_templates

from flows.papers import PAPERS
from flows.run.binding import argument_name, find_function
from flows.run.recorder import Recorder
from flows.run.selection import order_nodes, select_nodes
from tasks.errors import BadInput
from tasks.reports.frame import PAGES

ROOT = Path(__file__).parents[2]
WRITER = "tasks.artifacts.parquet"
ASK = ("tasks.models.ask", "tasks.models.calls", "tasks.models.request_builder")
"""What stands between a stage and its artifact's bytes without being imported by it."""

ONLY_EMBED = {"ragcheck.baselines"}
"""Stages that ask by no prompt: they embed texts as they are."""


SWITCHED_ON = {
    "ragcheck": {
        "sets": {"trial": {"kind": "lines", "path": "data/raw/trial"}},
        "correctness": {"trial": {"systems": ["good"], "ratings": "tasks/ragcheck/unrated.csv"}},
        "continuity": {"trial": {"systems": ["good", "single"]}},
    },
    "assessments": {"trial": {"database": "films", "system": "weak", "llm_only": "trial"}},
    "companies": {"trial": {"seed": 0}},
    "closed": {
        "films": {"file": "data/raw/films/films.sqlite", "documents": "data/grammar/films/documents.parquet"}
    },
}
"""Fan-outs that params.yaml leaves empty: their stages are held to the same rules."""


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
        patch.chdir(folder)  # DVC names stages by where one stands
        recorder = Recorder(folder)
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


def test_dependencies_name_every_prompt_that_a_stage_asks_by(nodes):
    for node in nodes.values():
        if any(out.endswith(".calls.parquet") for out in node.outs):
            # A stage that only puts questions to a system asks by the system's prompts.
            asks = any("prompts" in Path(dep).parts for dep in node.deps)
            assert asks or node.stage in ONLY_EMBED, node.name


def find_pages(modules: set[str]) -> set[str]:
    """List templates, styles and scripts that modules name, and the templates that these stand on."""
    folders = [ROOT / "tasks/ragcheck/pages", ROOT / "tasks/reports/pages"]
    texts = {file: (ROOT / file).read_text() for file in modules}
    frame = texts.pop("tasks/reports/frame.py", "")
    names = {name for text in texts.values() for name in re.findall(r'"([a-z_]+\.(?:html|css|js))"', text)}
    if any("write_folder(" in text for text in texts.values()):
        names |= set(re.findall(r'"([a-z]+\.(?:css|js))"', re.search(r"^SHARED = .*$", frame, re.M).group()))
    names.discard("index.html")  # as a file of that name is written: the template is the front page's
    found: set[str] = set()
    while names:
        places = [folder / name for name in names for folder in folders if (folder / name).is_file()]
        found |= {place.relative_to(ROOT).as_posix() for place in places}
        below = {
            name for place in places for name in find_referenced_templates(PAGES.parse(place.read_text()))
        }
        names = below - {Path(each).name for each in found}
    return found


def test_dependencies_name_every_page_that_a_stage_writes_and_no_other(nodes):
    written = 0
    for node in nodes.values():
        pages = find_pages({dep for dep in node.deps if dep.endswith(".py")})
        named = {dep for dep in node.deps if "/pages/" in dep}
        if "tasks/ragcheck/pages" in node.deps:  # a folder of its own
            pages = {page for page in pages if "ragcheck" not in page}
        if "tasks/reports/frame.py" in node.deps:
            written += 1
            assert named == pages, node.name
        else:
            assert not named, node.name
    assert written > 4


def test_stages_that_ask_systems_declare_them_their_prompts_and_the_night(nodes):
    for node in nodes.values():
        if "tasks/systems/build.py" in node.deps:
            assert any(dep.startswith("tasks/systems/prompts") for dep in node.deps), node.name
            assert any(name.split(".")[0] == "systems" for name in node.params), node.name
            assert "evaluation" in node.params, node.name


def test_construction_belongs_to_no_night(nodes):
    makes = ("schema", "templates", "check", "fill_in", "balanced", "dataset")
    building = [node for node in nodes.values() if node.stage.endswith(makes)]
    assert building
    assert all(not name.startswith("evaluation") for node in building for name in node.params)


def test_every_argument_of_a_stage_is_one_of_its_dependencies(nodes):
    given = {"params", "ask", "database", "settings", "limit", "out", "system", "systems", "entry", "key"}
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
        for node in (each for each in nodes.values() if each.stage in steps):
            for upstream in (nodes[each].stage for each in node.upstream):
                assert upstream not in steps or steps.index(upstream) < steps.index(node.stage)
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


HEAVY = """
import importlib, sys
from flows.run.binding import find_function
from flows.run.recorder import Recorder
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
