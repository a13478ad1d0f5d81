"""Tests of the cost per answer: tokens from its calls, dollars from prices, seconds from the live ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from flows.comparing.entries import find_beaten
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tests.flows.comparing.project import Project, make_grammar, make_longform
from tests.flows.comparing.test_compare import compare, run

RIGHT = [number % 2 == 0 for number in range(40)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = Project(tmp_path)
    made.record(make_grammar("films-all", [True] * 40), "all")
    made.record(make_grammar("films-half", RIGHT), "half")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    return made


def write_calls(project, entry, models):
    """Write a call of 90 + 10 tokens for each question, and a second one for the first."""
    calls = [
        {"id": f"{entry}-{number}", "stage": "grammar-answers@x", "row": f"row{number % 40}",
         "model": models[number % len(models)],
         "prompt_tokens": 90, "completion_tokens": 10}
        for number in range(41)
    ]  # fmt: skip
    path = project.root / f"data/grammar/films/{entry}/answers.calls.parquet"
    pq.write_table(pa.Table.from_pylist(calls), path)
    return [call["id"] for call in calls]


def set_prices(project, **prices):
    path = project.root / "params.yaml"
    params = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**params, "run": {"prices": prices}}))


def list_costs(project):
    (metric,) = compare(project, "films-all", "films-half").means
    return [system.cost for system in metric.systems]


def test_tokens_dollars_and_seconds_are_of_one_answer(project, capsys, monkeypatch):
    keys = write_calls(project, "films-all", ["big"])
    write_calls(project, "films-half", ["big", "unknown"])
    set_prices(project, big={"input_usd_per_million": 10, "output_usd_per_million": 100})
    with Ledger(project.root / "ledger.sqlite") as ledger:
        ledger.put_many(LedgerEntry(key, "x", "stop", 90, 10, latency_s=0.5) for key in keys)
    whole, half = list_costs(project)
    assert whole.tokens == 41 * 100 / 40
    assert whole.usd == pytest.approx(41 * (90 * 10 + 10 * 100) / 1e6 / 40)
    assert (whole.seconds, whole.why) == (0.5, "")
    assert (half.tokens, half.usd, half.seconds) == (41 * 100 / 40, None, None)
    assert half.why == "run.prices has no price for unknown"
    _, out, _ = run(capsys, monkeypatch, "films-all", "films-half", "--draws", "500")
    assert " ".join(out.split()).count("102 0.0019 0.50") == 1
    assert "price not shown: run.prices has no price for unknown" in out


def test_without_calls_or_a_ledger_nothing_is_told(project):
    write_calls(project, "films-half", ["big"])
    bare, told = list_costs(project)
    assert (bare.tokens, bare.usd, bare.seconds) == (None, None, None)
    assert bare.why == "the model calls for these answers are not recorded"
    assert (told.tokens, told.seconds) == (102.5, None)
    assert not (project.root / "ledger.sqlite").exists(), "looking makes no ledger"


def test_the_report_is_written_and_an_alarm_is_the_exit_code(project, capsys, monkeypatch):
    words = ("films-all", "films-half", "--draws", "500")
    code, out, _ = run(capsys, monkeypatch, *words, "--markdown", "report.md", "--alarm")
    assert code == 5
    assert "films-all/all -> films-half/half" in out
    report = Path("report.md").read_text()
    assert "accuracy dropped by 0.500" in report
    code, out, _ = run(capsys, monkeypatch, *words, "--markdown", "-", "--link", "Job=https://host/1")
    assert code == 0
    assert out == report.replace("\n\n1 test,", "\n\n[Job](<https://host/1>)\n\n1 test,")
    code, _, _ = run(capsys, monkeypatch, "films-half", "films-all", "--draws", "500", "--alarm")
    assert code == 0, "a rise is no alarm"
    _, out, _ = run(capsys, monkeypatch, *words, "--json")
    assert json.loads(out)["markdown"] == report
    code, _, err = run(capsys, monkeypatch, *words, "--link", "x=javascript:1")
    assert (code, "does not have the form TEXT=https://..." in err) == (2, True)


def test_the_best_entry_is_tested_against_others_of_its_flow(project):
    project.record(make_grammar("films-same", [True] * 40), "same")
    project.record(make_longform({"guess": [True] * 12, "iterative": [True] * 12}))
    others = ["films-half", "films-same", "films-none", "sample"]
    assert find_beaten(project.root, "grammar", "films-all", others) == {
        "films-half": True,
        "films-same": False,
    }
    assert find_beaten(project.root, "longform", "sample", ["films-half"]) == {}
    assert find_beaten(project.root, "grammar", "films-none", others) == {}


def test_a_folder_where_nothing_ran_has_nothing_to_test(tmp_path):
    assert find_beaten(tmp_path, "grammar", "a", ["b"]) == {}
