import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchloom.making import ASKERS, empty_databases, init_command, write_project
from benchloom.places import find_template
from benchloom.tree import list_tree
from benchloom.yaml_files import load_yaml
from flows.settings import set_params
from tasks.artifacts.parquet import count_rows
from tasks.errors import BadInput
from tests.benchloom.scenes import ROOT, call, git
from tests.grammar.scripted import SCHEMA, make_database


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "my shop"
    assert init_command(folder) == 0
    return folder


def test_the_graph_is_empty_until_there_is_a_database(own):
    params = yaml.safe_load((own / "params.yaml").read_text())
    assert params["databases"] == {}
    text = (own / "params.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=params.schema.json\n")
    assert (own / "params.schema.json").read_bytes() == (ROOT / "params.schema.json").read_bytes()
    assert "# my_shop: {file:" in text
    assert not [
        name for name in yaml.safe_load((own / "dvc.yaml").read_text())["stages"] if "sources" in name
    ]
    graph = call(own, "graph", "--check")
    assert graph.returncode == 0, graph.stdout
    run = call(own, "run", "--plain")
    assert run.returncode == 2, run.stderr
    assert "params.yaml has no entries to run: add an entry to one of" in run.stderr


def test_it_is_committed_whole_and_names_what_it_was_made_from(own):
    assert git(own, "status", "--porcelain") == ""
    assert git(own, "log", "--format=%an %s") == "Benchloom Take the code of Benchloom 0.1.0"
    listed = set(git(own, "ls-files").splitlines())
    assert {
        "LICENSE",
        "README.md",
        ".dvc/config",
        "flows/cli.py",
        "tasks/grammar/pages/made.html",
    } <= listed
    assert not {"setup.py", "Makefile", "benchloom/launcher.py"} & listed
    settings = (own / "pyproject.toml").read_text()
    assert 'name = "my-shop"' in settings
    assert 'dependencies = ["benchloom[project]==0.1.0"]' in settings
    assert "[tool.benchloom.bytes]" in settings
    assert "[tool.ruff]" not in settings


def test_dvc_takes_it_for_a_repository_of_its_own(own):
    before = git(own, "ls-files", "-s", ".dvc")
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "status"], cwd=own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert git(own, "status", "--porcelain") == ""
    assert git(own, "ls-files", "-s", ".dvc") == before


def test_one_entry_makes_the_graph_and_the_projects_own_code_runs(own):
    make_database(own / "shop.sqlite")
    before = (own / "params.yaml").read_text()
    set_params(own, ["databases={shop: {file: shop.sqlite, title: A shop}}"])
    run = call(own, "run", "--plain", "grammar.schema")
    assert run.returncode == 0, run.stderr
    assert count_rows(own / "data/grammar/shop/schema.parquet") == len(SCHEMA)
    schema = own / "tasks/grammar/construct/schema.py"
    schema.write_text(schema.read_text() + "# mine\n")
    assert "tasks/grammar/construct/schema.py" in call(own / "data", "status", "--json").stdout
    (own / "params.yaml").write_text(before)


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for folder in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(BadInput, match="is not empty"):
            init_command(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_project_is_made_within_another_by_the_installed_version(own, tmp_path):
    cli = own / "flows/cli.py"
    before = cli.read_text()
    cli.write_text("raise SystemExit('an older version')\n")
    made = call(own, "init", str(tmp_path / "other"))
    cli.write_text(before)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "other/flows/cli.py").read_text() == before


def test_the_template_is_what_git_would_ship_of_it(tmp_path):
    """Detect a file that no pattern of the template includes, such as a new kind of data file."""
    write_project(find_template(), tmp_path, "shop")
    shipped = set(git(ROOT, "ls-files", "-co", "--exclude-standard", "flows", "tasks").splitlines())
    shipped = {name for name in shipped if (ROOT / name).is_file()}
    copied = {
        path.relative_to(tmp_path).as_posix()
        for folder in ("flows", "tasks")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file()
    }
    assert copied == shipped


def test_the_parameters_name_nothing_of_the_sample():
    text = str(empty_databases(load_yaml(ROOT / "params.yaml")))
    assert "films" not in text
    assert "flights" not in text


def test_whoever_asks_is_at_work_and_nobody_asks_twice_alike():
    given = load_yaml(ROOT / "params.yaml")["grammar"]["text_templates"]["criteria"]["long"]
    sample = list(given["circumstances"])
    own = empty_databases(load_yaml(ROOT / "params.yaml"))["grammar"]["text_templates"]["criteria"]["long"]
    assert own["circumstances"] == list(ASKERS)
    assert len(set(ASKERS)) == len(ASKERS) >= len(sample)
    assert not any("quiz" in asker or "bet" in asker.split() or "journalist" in asker for asker in ASKERS)


def test_a_checkout_has_lf_whatever_git_is_set_to(tmp_path):
    assert Path(".gitattributes") in list_tree(ROOT)
    project, clone = tmp_path / "project", tmp_path / "clone"
    project.mkdir()
    (project / ".gitattributes").write_bytes((ROOT / ".gitattributes").read_bytes())
    contents = {"a.py": b"x = 1\n", "people.csv": b"a,b\r\n1,2\r\n", "x.gz": b"\x1f\x8b\r\n\n\0"}
    for name, content in contents.items():
        (project / name).write_bytes(content)
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Begin")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", str(project), str(clone))
    assert {name: (clone / name).read_bytes() for name in contents} == contents
