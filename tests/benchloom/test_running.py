"""Tests of commands called from Python: typed results, tables, and assertions for regressions."""

import json
from dataclasses import replace

import pandas as pd
import pytest

import benchloom
from benchloom.results import Change, ComparisonResult, find_value
from tests.flows import test_evaluate
from tests.flows.test_evaluate import ROWS

project, model = test_evaluate.project, test_evaluate.model
"""Fixtures: a project with six questions, and a model that judges."""
ITEMS = [
    {"id": "1", "gold": "Paris", "prediction": "Paris"},
    {"id": "2", "gold": "Rome", "prediction": "Oslo"},
    {"id": "3", "gold": "Bern", "prediction": None},
]
FALL = Change(
    "assessments", "old", "new", "accuracy", 60, 20, 0.8, 0.6, -0.2, -0.3, -0.1, 0.001, 0.002, 0.1, 80, 14, 2
)


def save_answers(project, name, right):
    rows = [{"id": row["id"], "answer": "Ada" if row["group"] in right else "Bob"} for row in ROWS]
    (project.root / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return project.root / name


@pytest.mark.parametrize("form", ["mappings", "frame", "path"])
def test_predictions_are_scored_in_whatever_form_they_come(form, tmp_path):
    if form == "path":
        given = tmp_path / "items.jsonl"
        given.write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    else:
        given = ITEMS if form == "mappings" else pd.DataFrame(ITEMS)
    found = benchloom.score("hotpotqa", given, place=tmp_path, ci=True, draws=100)
    assert (found.metric, found.rule, found.n, found.n_failed) == ("hotpotqa", "official", 3, 1)
    assert found.figures == {"em": 0.5, "f1": 0.5}
    assert not found.complete
    table = found.to_pandas()
    assert table.columns.tolist() == ["figure", "value", "low", "high"]
    assert table.figure.tolist() == ["em", "f1"]


def test_figures_of_several_rules_are_named_by_their_rule(tmp_path):
    items = [{"id": str(n), "gold": "a b", "prediction": "a b" if n % 2 else "c"} for n in range(20)]
    found = benchloom.score("hotpotqa", items, place=tmp_path, rule="all", ci=True, draws=200)
    assert found.complete
    assert set(found.figures) == {
        f"{rule}.{name}" for rule in ("official", "streambench") for name in ("em", "f1")
    }
    low, high = found.intervals["official.em"]
    assert 0 < low < found.figures["official.em"] == 0.5 < high < 1


def test_what_a_command_refuses_is_raised_with_its_line(tmp_path):
    with pytest.raises(benchloom.CommandFailed, match="metric 'hotpot': is not known") as failed:
        benchloom.score("hotpot", ITEMS, place=tmp_path)
    assert failed.value.code == 2
    with pytest.raises(benchloom.CommandFailed, match="--rool"):
        benchloom.score("hotpotqa", ITEMS, place=tmp_path, rool="all")


def test_answers_are_evaluated_and_two_evaluations_compared(project, model):
    folders = []
    for name, right in (("all", ("mill", "forge", "dairy")), ("some", ("mill",))):
        done = benchloom.evaluate(
            "grammar", place=project.root, dataset=project.root / "questions.jsonl",
            answers=save_answers(project, f"{name}.jsonl", right), out=project.root / f"out-{name}",
        )  # fmt: skip
        assert done.complete
        assert done.comparison is None
        assert done.folders == {name: project.root / f"out-{name}"}
        table = done.to_pandas()
        accuracy = table[table.pointer == "/rates/open/all/accuracy"]
        assert accuracy.value.tolist() == pytest.approx([len(right) / 3])
        assert table.pointer.is_unique
        folders.append(f"run:{done.folders[name]}")
    found = benchloom.assert_no_regression(*folders, place=project.root, draws=200)
    (change,) = [change for change in found.changes if change.metric == "accuracy"]
    assert (change.n_pairs, change.fell, change.rose) == (6, 4, 0)
    assert change.adjusted is None, "three groups of questions cannot show a fall"
    assert found.to_markdown().startswith("### Benchloom: ")
    assert "| accuracy | 6 |" in found.to_markdown()
    assert found.to_pandas().metric.tolist() == [change.metric for change in found.changes]


def test_figures_have_their_numbers_and_intervals(tmp_path):
    (tmp_path / "mine.csv").write_text("question,answer\n" + "".join(f"what is {n},{n}\n" for n in range(8)))
    answers = [{"question": f"what is {n}", "answer": str(n % 6)} for n in range(8)]
    (tmp_path / "said.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in answers))
    done = benchloom.evaluate(
        "qa", place=tmp_path, dataset=tmp_path / "mine.csv", answers=tmp_path / "said.jsonl"
    )
    rows = {row["pointer"]: row for row in done.to_pandas().to_dict("records")}
    em = rows["/measures/em"]
    assert (em["system"], em["value"], em["n"]) == ("said", 0.75, 8)
    assert em["low"] < 0.75 < em["high"]
    assert rows["/counts/failed"]["value"] == 0


def test_a_plan_says_what_would_run_and_asks_nobody(project):
    found = benchloom.plan("sources-films", place=project.root)
    assert [stage["stage"] for stage in found.stages][-1] == "sources-films"
    assert (found.calls.low, found.calls.high, found.recorded) == (0, 0, 0)
    assert set(found.to_pandas().columns) >= {"stage", "why", "calls_low", "usd_high", "seconds_low"}


@pytest.mark.parametrize(
    ("change", "drop", "metrics", "fallen"),
    [
        (FALL, 0.0, (), True),
        (FALL, 0.1, ("accuracy",), True),
        (FALL, 0.2, (), False),
        (FALL, 0.0, ("robustness",), False),
        (replace(FALL, difference=0.2), 0.0, (), False),
        (replace(FALL, adjusted=0.2), 0.0, (), False),
        (replace(FALL, adjusted=None), 0.0, (), False),
        (replace(FALL, difference=None), 0.0, (), False),
    ],
)
def test_a_fall_counts_beyond_the_drop_and_where_chance_does_not_explain_it(
    change, drop, metrics, fallen, monkeypatch
):
    found = ComparisonResult(True, (), ("old", "new"), 0.05, (change,), ())
    assert bool(found.list_regressions(drop, metrics)) == fallen
    monkeypatch.setattr("benchloom.running.compare", lambda *words, **options: found)
    if not fallen:
        assert benchloom.assert_no_regression("old", "new", drop=drop, metrics=metrics) is found
        return
    with pytest.raises(
        AssertionError, match=r"accuracy of new: 0.800 -> 0.600 over 60 items .*-0.300 to -0.100"
    ):
        benchloom.assert_no_regression("old", "new", drop=drop, metrics=metrics)


def test_a_pointer_is_followed_through_lists_and_escaped_names():
    assert find_value({"a/b": [{"c~": 7}]}, "/a~1b/0/c~0") == 7
