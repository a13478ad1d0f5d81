"""Tests of `benchloom evaluate tanq` with a user's function on three questions."""

import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.commands.evaluate import PaidLimits, evaluate_command
from flows.commands.publish import PublishOptions, publish_command
from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.systems.evaluation import EvaluationOptions
from tasks.tanq.solve.prediction import Prediction
from tests.flows.evaluated import assert_as_kept
from tests.flows.lineage.walked import assert_figures_lead_to

ROOT = Path(__file__).parents[2]
OWN = """
ASKED = []

def answer(question, history):
    ASKED.append(question)
    if "rivers" in question:
        raise ValueError("no rivers here")
    if "lakes" in question:
        return "I know of none."
    return "Sure:\\n```\\n| entity | capital |\\n|---|---|\\n| Norway | Oslo |\\n| Sweden | Oslo |\\n```"
"""
ITEMS = [
    {"id": "countries", "question": "Which countries?", "kind": "composition",
     "answer_table": "entity|capital\nNorway|Oslo\nSweden|Stockholm",
     "proofs": [{"article": "Norway", "text": "Oslo is its capital."}]},
    {"id": "lakes", "question": "Which lakes?", "answer_table": [["entity", "area"], ["Mjøsa", 369]]},
    {"id": "rivers", "question": "Which rivers?", "answer_table": [["entity", "mouth"], ["Glomma", "sea"]]},
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("params.yaml", "dvc.yaml", "dvc.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("tasks", "flows"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "stranger_of_tanq.py").write_text(OWN)
    (tmp_path / "mine").mkdir()
    lines = [*map(json.dumps, ITEMS), "{nope"]
    (tmp_path / "mine/items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    set_params(tmp_path, ["systems.ours={kind: callable, version: '1', function: 'stranger_of_tanq:answer'}"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)
    sys.modules.pop("stranger_of_tanq", None)


def test_a_system_is_asked_scored_and_written_down_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock, out = (project / "dvc.lock").read_bytes(), project / "out"
    options = EvaluationOptions(Path("mine"), "ours", out=out)
    assert evaluate_command("tanq", [options], as_json=True) == 1, "an item is broken, and a question failed"
    said = capsys.readouterr()
    figures: Any = json.loads(said.out)
    assert figures == json.loads((out / "figures.json").read_text())
    assert_as_kept(figures, "tanq")
    assert figures["counts"] == {"items": 3, "scored": 2, "failed": 1, "no_table": 1}
    assert "items.jsonl, line 4: is not valid JSON: " in said.err
    assert "item rivers: no table: the system raised ValueError" in said.err
    # One capital is correct, and the other is very different from the gold value.
    released, paper = (figures["kinds"]["composition"][rule] for rule in ("released", "paper"))
    assert [released[name]["value"] for name in ("precision", "recall", "f1")] == [0.5, 0.5, 0.5]
    assert paper["f1"]["value"] == 0.5
    assert figures["rms"]["released"]["f1"] | {"interval": None, "basis": None} == {
        "value": 0.25, "n": 2, "failed": 1, "interval": None, "of": "predictions",
        "why": "fewer than 6 predictions: no interval",
            "basis": None,
    }  # fmt: skip
    assert assert_figures_lead_to("mine/items.jsonl", out, project) == 25
    assert figures["failure_kinds"] == {"not_a_table": 1, "wrong_cell": 1}
    rows = {row.item: row for row in read_rows(out / "predictions.parquet", Prediction)}
    assert rows["countries"].table == (("entity", "capital"), ("Norway", "Oslo"), ("Sweden", "Oslo"))
    assert {path.name for path in out.iterdir()} == {
        "items.parquet", "predictions.parquet", "scores.parquet", "calls.parquet", "figures.json",
        "lineage.json",
    }  # fmt: skip
    asked = sys.modules["stranger_of_tanq"].ASKED
    assert sorted(asked) == ["Which countries?", "Which lakes?", "Which rivers?"]
    written = {path.name: path.read_bytes() for path in out.iterdir()}
    assert evaluate_command("tanq", [options], PaidLimits(replay=True)) == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == written
    assert len(asked) == 3, "the ledger answers"
    assert "ours on mine: 3 items, 2 scored, 1 failed, 1 without a table" in " ".join(
        capsys.readouterr().out.split()
    )
    assert (project / "dvc.lock").read_bytes() == lock
    # Publishing the folder writes the tables where TANQ's evaluator reads them.
    options = PublishOptions(to=project / "published", prediction_key="ours", private=True)
    publish_command(str(out), options, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["notes"] == ["test.system-ours.jsonl: 1 of 3 questions have no reply and are left out"]
    (path,) = (project / "published/tanq").iterdir()
    tables = {record["init_qid"]: record["ours"] for record in map(json.loads, path.read_text().splitlines())}
    assert tables == {
        "countries__composition": "entity|capital\nNorway|Oslo\nSweden|Oslo",
        "lakes__simple": "",
    }


def test_tables_of_a_file_are_scored_and_nobody_is_asked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {"countries": "entity|capital\nNorway|Oslo\nSweden|Stockholm", "lakes": "none"}
    answers = project / "tables.jsonl"
    answers.write_text(
        "".join(f"{json.dumps({'id': name, 'answer': text})}\n" for name, text in tables.items())
    )
    options = EvaluationOptions(Path("mine"), "tables", out=project / "out", answers=answers)
    assert evaluate_command("tanq", [options], PaidLimits(replay=True), as_json=True) == 1
    said = capsys.readouterr()
    figures = json.loads(said.out)
    assert figures["counts"] == {"items": 3, "scored": 2, "failed": 1, "no_table": 1}
    assert figures["kinds"]["composition"]["paper"]["f1"]["value"] == 1.0
    assert "item rivers: no table: the file has no answer to this question" in said.err
    assert "stranger_of_tanq" not in sys.modules
