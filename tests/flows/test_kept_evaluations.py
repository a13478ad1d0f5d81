"""Tests that lineage, `compare` and tables read folders of earlier versions of `benchloom evaluate`."""

import json
from pathlib import Path

import pytest

from flows.comparing.places import read_evaluation
from flows.discovery import find_flow
from flows.evaluation import find_evaluation
from tasks.lineage.bases import find_record_figure, list_record_figures
from tasks.reports.printed import print_tables
from tests.flows.evaluated import read_kept

ROOT = Path(__file__).parents[2]
SHOWN = {
    "grammar": [
        "weak on questions.jsonl: 6 questions of 3 groups, 6 scored, 0 failed, 0 unscored",
        "accuracy all 6 6 100.0 100.0",
        "open: accuracy, short - long: +0.0 (+0.0 to +0.0)",
    ],
    "longform": [
        "ours on mine: 4 items, 3 scored, 1 failed, 0 unscored",
        "match rate, conclusive (0 to 1) 2 1 1.00 (0.34, 1.00)",
        "IP Perfect, reviewers 2 0 1.00 (0.34, 1.00)",
    ],
    "ragcheck": [
        "good on trial: 4 questions, 0 without an answer; 8 grades, 0 unscored",
        "all E3 (with reference) 4 0 0 2.750 (2.000, 4.250)",
        "4 conversations of at most 2 turns, 0 failed",
        "all wscore 4 3.500 (3.000, 4.500)",
    ],
    "streambench": [
        "ours on cities: 5 items, 20 steps, 7 right, 4 without an answer, 0 without a verdict",
        "zero_shot 2 10 2 20.0 (0.0, 50.0) 25.0 16.7 0",
    ],
    "tanq": [
        "ours on mine: 3 items, 2 scored, 1 failed, 1 without a table",
        "all released 2 1 75.0 (50.0, 100.0) 25.0 (0.0, 50.0) 25.0 (0.0, 50.0)",
        "failures: not a table 1, wrong cell 1",
    ],
}


@pytest.mark.parametrize("flow", SHOWN)
def test_a_table_shows_what_was_measured(
    flow: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    evaluation, figures = find_evaluation(flow, ROOT), read_kept(flow)
    print_tables(evaluation.printed, figures, evaluation.notes(figures))
    shown = " ".join(capsys.readouterr().out.split())
    for line in SHOWN[flow]:
        assert line in shown


@pytest.mark.parametrize("flow", SHOWN)
def test_pointers_and_places_are_read(flow: str, tmp_path: Path) -> None:
    kept, declared = read_kept(flow), find_flow(flow)
    (tmp_path / "figures.json").write_text(json.dumps(kept))
    figures = list_record_figures(kept)
    assert all(figure.derivation for figure in figures if figure.pointer in kept["bases"])
    pointer = next(place for place in kept["bases"] if place.startswith("/counts/"))
    assert find_record_figure(tmp_path / "figures.json", pointer).derivation is not None
    assert declared is not None
    scopes = [scope for scope in declared.list_scopes() if scope.evaluates]
    for scope in scopes:
        stage = declared.find(scope.evaluates)
        assert stage is not None
        (tmp_path / f"{stage.artifact or stage.function}.parquet").touch()
    place = read_evaluation(tmp_path, "mine")
    assert place is not None
    assert {(stage.key, stage.system) for stage in place.stages} == {(kept["dataset"], kept["system"])}
    stages = [declared.find(scope.evaluates) for scope in scopes]
    artifacts = {stage.artifact or stage.function for stage in stages if stage}
    assert len(place.stages) == len(artifacts), "one artifact is read once"
