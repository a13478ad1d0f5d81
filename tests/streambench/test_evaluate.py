"""`benchloom evaluate streambench`: a function as the system over a user's own folder, and its figures."""

import copy
import json
from pathlib import Path

import pytest

from flows.evaluation import measure, prepare, run_stages, write_artifacts, write_figures
from flows.run.session import open_session
from flows.settings import load_params
from tasks.errors import BadInput
from tasks.reports.printed import print_tables
from tasks.streambench.evaluation import EVALUATION
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


def run(params, options, *, replay=False):
    begun = prepare(ROOT, "streambench", params, options)
    session = open_session(ROOT, params, replay=replay)
    try:
        rows, calls = run_stages(begun, session)
    finally:
        session.close()
    write_artifacts(begun, rows, calls)
    figures = write_figures(begun, measure(begun, rows))
    return begun.own, {name: given for name, (_, given) in rows.items()}, calls, figures


def test_a_system_goes_through_the_stream_and_is_measured(folder, params, capsys, tmp_path):
    options = EvaluationOptions(dataset=folder, system="ours", out=tmp_path)
    own, rows, calls, figures = run(params, options)
    assert len(own.problems) == 1
    assert "no_gold" in own.problems[0], "what cannot be asked is named"
    assert len(rows["steps"]) == 4 * 2 * 2
    assert {row.agent for row in rows["steps"]} == {"ours"}
    # Zero-shot knows item a alone; with any step before it in the window all but the one that fails is known.
    assert figures["methods"]["zero_shot"]["accuracy"]["value"] == 0.25
    grown = [row for row in rows["steps"] if row.method == "grow_prompt"]
    expected = sum(
        "fails" not in item.text and (bool(row.shown) or "one" in item.text)
        for row in grown
        for item in rows["items"]
        if item.id == row.item
    )
    assert figures["methods"]["grow_prompt"]["accuracy"]["value"] == expected / 8
    assert figures["methods"]["grow_prompt"]["memory"] == 3
    assert figures["counts"] == {
        "items": 4,
        "steps": 16,
        "right": 2 + expected,
        "failed": 4,
        "unjudged": 0,
    }
    assert len(figures["failures"]) == 4
    assert "raised ValueError" in figures["failures"][0]
    assert any(warning.startswith("4 of 16 steps have no answer") for warning in figures["warnings"])
    print_tables(EVALUATION.printed, figures, EVALUATION.notes(figures))
    assert "grow_prompt" in capsys.readouterr().out

    again = run(params, options, replay=True)
    assert again[1]["steps"] == rows["steps"], "the ledger answers"
    assert {call.id for call in again[2]} == {call.id for call in calls}


def test_a_limit_takes_the_first_items(folder, params):
    options = EvaluationOptions(dataset=folder, system="ours", limit=2)
    own = prepare(ROOT, "streambench", params, options).own
    assert [len(rows) for _, rows in own.artifacts.values()] == [2, 4, 0]


def test_a_folder_that_is_none_is_told_in_one_line(folder, params):
    def refuse(said, **more):
        options = EvaluationOptions(**{"dataset": folder, "system": "ours", **more})
        with pytest.raises(BadInput, match=said):
            prepare(ROOT, "streambench", params, options)

    refuse("is no folder", dataset=folder / "nowhere")
    refuse("is of other flows", turns=3)
    refuse("retrieves from documents", system="weak")
    (folder / "dataset.json").write_text(json.dumps({"name": "mine", "kind": "guessing"}))
    refuse("'guessing': is not known")
    (folder / "items.jsonl").write_text("{nope\n")
    refuse("cannot be read")
