"""Tests of `benchloom import mtrag`: a published evaluation file becomes systems, a set and ratings."""

import asyncio
import json
from pathlib import Path

import pytest

from flows.importing import bring_in
from flows.settings import load_params, parse_section
from tasks.errors import BadInput
from tasks.ragcheck.answers import answer_all
from tasks.ragcheck.contexts import gather_contexts
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.importers.mtrag import Mtrag
from tasks.ragcheck.question_sets import QuestionSet
from tasks.ragcheck.questions import questions
from tasks.ragcheck.ratings import ratings
from tasks.systems.entries import ReplayEntry
from tasks.systems.replayed import ReplayedSystem
from tests.flows.conftest import make_folder

ROOT = Path(__file__).parents[2]
SCALE = [{"value": str(n), "numeric_value": n} for n in range(1, 5)]


def make_file() -> dict:
    turns = [("user", "Where is Orbis?"), ("agent", "In Vexham."), ("user", "Who leads it? ")]
    tasks = [
        {"task_id": f"talk<::>{n}",
         "input": [{"speaker": who, "text": text} for who, text in turns[: 2 * n - 1]],
         "contexts": [{"document_id": "d1"}], "targets": [{"text": "Marta Quill, in Vexham."}],
         "Answerability": "ANSWERABLE", "Collection": "clapnq"}
        for n in (1, 2)
    ]  # fmt: skip
    note = {"timestamp": 1, "duration": 2}
    evaluations = [
        {"task_id": f"talk<::>{n}", "model_id": model, "model_response": f"{model} says {n}",
         "annotations": {
             "completeness": {"ann": {"value": str(n), **note}, "bo": {"value": "4", **note}},
             "bert": {"system": {"value": 0.5, **note}},
         }}
        for n in (1, 2)
        for model in ("Meta/Llama 3", "gpt")
    ]  # fmt: skip
    return {
        "models": [{"model_id": "Meta/Llama 3", "name": "Llama"}, {"model_id": "gpt", "name": "GPT"}],
        "metrics": [{"name": "completeness", "type": "categorical", "values": SCALE},
                    {"name": "bert", "type": "numerical", "range": [0, 1]}],
        "documents": [{"document_id": "d1", "text": "Orbis is led by Marta Quill.", "title": "Orbis"}],
        "tasks": tasks,
        "evaluations": evaluations,
    }  # fmt: skip


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.chdir(root)
    return root


def write(root: Path, record: object) -> Path:
    path = root / "published.json"
    path.write_text(json.dumps(record))
    return path


def test_models_replay_their_answers_and_people_are_on_their_own_scale(root):
    said = bring_in(root, Mtrag(file=write(root, make_file()))).said
    assert "4 answers of 2 models to 2 tasks, 8 ratings by completeness" in said[0]
    params = load_params(root)
    entry = parse_section(params, "ragcheck.correctness.mtrag", Assessment)
    assert entry.systems == ("mtrag-meta-llama-3", "mtrag-gpt")
    asked = questions(parse_section(params, "ragcheck.sets.mtrag", QuestionSet)).rows
    assert [question.conversation for question in asked] == ["talk", "talk"]
    systems = [
        ReplayedSystem(name, parse_section(params, f"systems.{name}", ReplayEntry)) for name in entry.systems
    ]
    answers = asyncio.run(answer_all(systems, asked, set()))
    assert sorted(answer.text for answer in answers) == [
        "Meta/Llama 3 says 1",
        "Meta/Llama 3 says 2",
        "gpt says 1",
        "gpt says 2",
    ]
    contexts = asyncio.run(gather_contexts(systems, asked, answers, set()))
    assert [row.rule for row in contexts.rows] == ["E2"] * 4
    assert {row.passages[0].text for row in contexts.rows} == {"Orbis is led by Marta Quill."}
    found = ratings(asked, answers, entry)
    assert not found.dropped
    # Map the scale 1 to 4 to 1 to 5: 1, 1 + 4 / 3, 5.
    assert sorted(row.rating for row in found.rows) == pytest.approx([1, 1, 7 / 3, 7 / 3, 5, 5, 5, 5])
    assert {row.answer for row in found.rows} == {answer.id for answer in answers}


def test_a_file_that_changed_since_is_refused(root):
    bring_in(root, Mtrag(file=write(root, make_file())))
    entry = parse_section(load_params(root), "systems.mtrag-gpt", ReplayEntry)
    Path(entry.file).write_text("")
    with pytest.raises(BadInput, match="does not match the `version`"):
        ReplayedSystem("mtrag-gpt", entry)


def test_what_was_not_published_is_no_answer(root):
    bring_in(root, Mtrag(file=write(root, make_file())))
    system = ReplayedSystem("x", parse_section(load_params(root), "systems.mtrag-gpt", ReplayEntry))
    response = asyncio.run(system.answer("Another?", row="r"))
    assert (response.text, response.passages) == (None, None)
    assert response.problem


def drop(part, key):
    def change(record):
        del record[part][0][key]

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda record: record.pop("tasks"), "no list `tasks`"),
        (drop("tasks", "targets"), "tasks, entry 1: has no 'targets'"),
        (drop("evaluations", "model_response"), "evaluations, entry 1: has no 'model_response'"),
        (lambda record: record["documents"].clear(), "context 'd1' is not among `documents`"),
        (lambda record: record["models"].pop(), "'gpt' is not among `models`"),
        (lambda record: record["evaluations"].append(record["evaluations"][0]), "twice"),
        (lambda record: record["evaluations"].clear(), "no evaluations"),
        (lambda record: record["metrics"][0].update(values=SCALE[:1]), "not a value of the metric"),
        (lambda record: [told["annotations"].clear() for told in record["evaluations"]], "no human rating"),
    ],
)  # fmt: skip
def test_a_file_in_another_layout_is_refused_in_one_line_and_changes_nothing(root, change, what):
    record = make_file()
    change(record)
    before = (root / "params.yaml").read_bytes()
    with pytest.raises(BadInput, match=what) as error:
        bring_in(root, Mtrag(file=write(root, record)))
    assert "\n" not in str(error.value)
    assert (root / "params.yaml").read_bytes() == before


def test_names_and_metrics_that_are_none_are_refused(root):
    path = write(root, make_file())
    with pytest.raises(BadInput, match="has no human ratings for 'bert'"):
        bring_in(root, Mtrag(file=path, metric="bert"))
    with pytest.raises(BadInput, match="is not a valid name"):
        bring_in(root, Mtrag(file=path, called="MT RAG"))
    path.write_text("{")
    with pytest.raises(BadInput, match="is not valid JSON"):
        bring_in(root, Mtrag(file=path))
