"""From each published layout to bits: a gold answer is right, another one is not, over 20 items and more."""

import sys

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.streambench.build.items import items
from tasks.streambench.entries import Stream
from tests.scoring.test_sandbox import needs_bwrap
from tests.sources import published
from tests.streambench.environment_scenes import assert_bits_equal_scores, make_environment

DATASETS = {
    "spider": (published.make_spider, "SELECT 'no'"),
    "cosql": (published.make_cosql, "SELECT 'no'"),
    "bird": (published.make_bird, "SELECT 'no'"),
    "ds1000": (published.make_ds1000, "result = None"),
    "toolbench": (published.make_toolbench, '{"api": "api 3", "arguments": {}}'),
    "ddxplus": (published.make_ddxplus, "none of them"),
    "hotpotqa": (published.make_hotpotqa, "Nowhere"),
}


@needs_bwrap
@pytest.mark.parametrize("name", DATASETS)
def test_gold_answers_are_right_and_others_are_not(name, tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("databases: {}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("BENCHLOOM_DS1000", sys.prefix)
    make, wrong = DATASETS[name]
    option = ["--streambench", "spider"] if name == "spider" else []
    CliRunner().invoke(app, [name, str(make(tmp_path / "given")), *option])
    files = root / "data/raw/streambench"
    rows = list(items(files, Stream(datasets=(name,), take=20)).rows)
    environment = make_environment(rows[0].kind, files, rows)
    golds = {row.id: f"{row.gold}. x" if name == "ddxplus" else row.gold for row in rows}
    pairs = [
        (row, environment.read_answer(row, text, "direct")) for row in rows for text in (golds[row.id], wrong)
    ]
    folder = {"databases": files / name / "files"} if rows[0].kind == "sql" else {}
    found = assert_bits_equal_scores(tmp_path, environment, pairs, **folder)
    assert [own.bit for own in found] == [True, False] * 20
