"""Tests of `benchloom evaluate --answers`: the answers of a file are judged, and no system is called."""

import csv
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.evaluation import prepare, run_stages
from flows.run.session import open_session
from flows.settings import load_params
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.systems.evaluation import EvaluationOptions
from tests.flows import test_evaluate
from tests.flows.test_evaluate import ROWS

project, model = test_evaluate.project, test_evaluate.model
"""Fixtures: a project with six questions, and a model that answers and judges."""


def save(folder, name, rows):
    path = folder / name
    if name.endswith(".csv"):
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(
                {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}
                for row in rows
            )
    elif name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def evaluate(sample, *words):
    done = sample.benchloom("evaluate", "grammar", "--dataset", "questions.jsonl", *words, "--json")
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_answers_of_a_file_are_judged_and_nobody_else_is_asked(project, model):
    rows = [
        {
            "id": row["id"],
            "answer": "Ada" if row["group"] == "mill" else "Bob",
            "retrieved_document_ids": row["true_document_ids"],
        }
        for row in ROWS
    ]
    found = []
    for name in ("mine.csv", "mine.jsonl", "mine.parquet"):
        save(project.root, name, rows)
        done = evaluate(project, "--answers", name, "--out", f"out-{name}")
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)
        assert figures["system"] == "mine"
        found.append({key: figures[key] for key in ("rates", "counts")})
    assert found[0] == found[1] == found[2]
    assert found[0]["counts"]["scored"] == 6
    assert found[0]["rates"]["open"]["all"]["accuracy"] == pytest.approx(2 / 6)
    assert model.asked["system"] == 0
    assert model.asked["judge"] > 0
    record = (project.root / "out-mine.csv" / "lineage.json").read_text()
    assert "--answers mine.csv" in record
    assert str(project.root) not in record


def test_what_the_file_lacks_is_failed_and_what_is_too_much_is_said(project, model):
    rows = [{"id": row["id"], "answer": "Ada"} for row in ROWS[:4]]
    rows += [{"id": "nobody", "answer": "Ada"}, {"id": ROWS[4]["id"], "answer": None}]
    save(project.root, "some.jsonl", rows)
    done = evaluate(project, "--answers", "some.jsonl", "--system", "ours", "--out", "out-some")
    assert done.returncode == 1
    assert "1 of 6 answers do not belong to a question of the dataset" in done.stderr
    figures = json.loads(done.stdout)
    assert figures["system"] == "ours"
    assert (figures["counts"]["scored"], figures["counts"]["failed"]) == (4, 2)
    assert "the file has no answer" in done.stderr


@pytest.mark.parametrize(
    ("rows", "words", "said"),
    [
        ([{"id": "x", "answer": "Ada"}], (), "contains no answers to the questions of the dataset"),
        ([{"id": "x", "reply": "Ada"}], (), "line 1: has no answer; its fields are id, reply"),
        ([{"answer": "Ada"}], (), "line 1: has neither id nor question"),
        ([{"id": "x", "answer": "Ada"}] * 2, (), "line 2: is a second answer to x"),
        ([{"id": "x", "answer": 7}], (), "line 1: answer is a number; expected text"),
        (
            [{"id": "x", "answer": "a", "contexts": ["c"], "titles": []}],
            (),
            "line 1: has lists that differ in length: 0 titles, 1 contexts",
        ),
        (
            [{"id": "x", "answer": "a", "contexts": "c"}],
            (),
            "line 1: contexts is text; expected a list of strings",
        ),
        ([], (), "contains no answer"),
        (
            [{"id": "x", "answer": "Ada"}],
            ("--system", "weak"),
            "--answers weak: is already the name of a system",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(project, rows, words, said):
    save(project.root, "bad.jsonl", rows)
    done = evaluate(project, "--answers", "bad.jsonl", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_file_and_no_system_are_one_line(project):
    done = evaluate(project, "--answers", "nowhere.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nowhere.csv: no such file or directory" in done.stderr
    done = evaluate(project)
    assert done.returncode == 2
    assert "give --system NAME, --model NAME or --answers FILE" in done.stderr


def test_answers_by_question_and_under_the_names_of_score_are_found(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    rows = [
        {"question": f" {row['question']} ", "prediction": row["id"], "contexts": ["one", "two"]}
        for row in ROWS
    ]
    path = save(tmp_path, "mine.jsonl", rows)
    params = load_params(project.root)
    run = prepare(
        project.root,
        "grammar",
        params,
        EvaluationOptions(project.root / "questions.jsonl", "mine", answers=path),
    )
    node = run.own.stages[0]
    session = open_session(project.root, run.given, replay=True)
    try:
        rows, calls = run_stages(replace(run, own=replace(run.own, stages=(node,))), session)
    finally:
        session.close()
    answers = rows["answers"][1]
    assert calls == []
    assert {answer.question: answer.response for answer in answers} == {row["id"]: row["id"] for row in ROWS}
    assert all(isinstance(answer, AssessedAnswer) for answer in answers)
