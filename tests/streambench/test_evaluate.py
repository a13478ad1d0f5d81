"""Tests of `benchloom evaluate streambench` with a function as the system on a user's own folder."""

import copy
import json
from pathlib import Path

import pytest

from flows.evaluation import prepare
from flows.settings import load_params
from tasks.errors import BadInput
from tasks.systems.evaluation import EvaluationOptions

ROOT = Path(__file__).parents[2]
ITEMS = [
    {"key": "a", "text": "Which city is one?", "gold": "Oslo", "context": "Oslo: one."},
    {"key": "b", "text": "Which city is two?", "gold": "Oslo"},
    {"key": "c", "text": "Which city is three?", "gold": "Oslo"},
    {"key": "d", "text": "Which city fails?", "gold": "Oslo"},
    {"key": "e", "text": "Which city has no gold answer?", "gold": ""},
]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps({"name": "mine", "kind": "hotpotqa"}))
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    return folder


@pytest.fixture
def params(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(ROOT)
    given = copy.deepcopy(dict(load_params(ROOT)))
    function = "tests.streambench.own_system:answer"
    given["systems"]["ours"] = {"kind": "callable", "version": "1", "function": function}
    given["streambench"]["system_steps"]["methods"] = ["zero_shot", "grow_prompt"]
    given["streambench"]["system_steps"]["seeds"] = [42, 7]
    return given


def test_a_limit_takes_the_first_items(folder, params):
    options = EvaluationOptions(dataset=folder, system="ours", limit=2)
    own = prepare(ROOT, "streambench", params, options).own
    assert [len(rows) for _, rows in own.artifacts.values()] == [2, 4, 0]


def test_a_folder_that_is_none_is_told_in_one_line(folder, params):
    def refuse(said, **more):
        options = EvaluationOptions(**{"dataset": folder, "system": "ours", **more})
        with pytest.raises(BadInput, match=said):
            prepare(ROOT, "streambench", params, options)

    refuse("is not a folder", dataset=folder / "nowhere")
    refuse("does not apply to", turns=3)
    refuse("retrieves from documents", system="weak")
    (folder / "dataset.json").write_text(json.dumps({"name": "mine", "kind": "guessing"}))
    refuse("'guessing': is not known")
    (folder / "items.jsonl").write_text("{nope\n")
    refuse("cannot be read")
