import subprocess
import sys

import pytest
import yaml

from flows.commands.init import init_command
from flows.settings import set_params
from tasks.artifacts.parquet import count_rows
from tasks.errors import BadInput
from tests.grammar.scripted import SCHEMA, make_database


def call(root, *words):
    code = f"import sys; sys.path.insert(0, {str(root)!r}); sys.argv = ['benchloom', *{words!r}]"
    return subprocess.run(
        [sys.executable, "-c", f"{code}; from flows.cli import main; main()"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "shop"
    assert init_command(folder) == 0
    return folder


def test_the_graph_is_empty_until_there_is_a_database(own):
    params = yaml.safe_load((own / "params.yaml").read_text())
    assert params["databases"] == {}
    assert "# my_shop: {file:" in (own / "params.yaml").read_text()
    assert not [
        name for name in yaml.safe_load((own / "dvc.yaml").read_text())["stages"] if "sources" in name
    ]
    run = call(own, "run", "--plain")
    assert run.returncode == 0, run.stderr
    assert "0 stages" in run.stderr


def test_one_entry_makes_the_graph_and_the_projects_own_code_runs(own):
    make_database(own / "shop.sqlite")
    before = (own / "params.yaml").read_text()
    set_params(own, ["databases={shop: {file: shop.sqlite, title: A shop}}"])
    run = call(own, "run", "--plain", "grammar.schema")
    assert run.returncode == 0, run.stderr
    assert count_rows(own / "data/grammar/shop/schema.parquet") == len(SCHEMA)
    code = own / "tasks/grammar/construct/schema.py"
    code.write_text(code.read_text() + "# mine\n")
    assert "tasks/grammar/construct/schema.py" in call(own, "status", "--json").stdout
    (own / "params.yaml").write_text(before)


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="is not empty"):
        init_command(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
