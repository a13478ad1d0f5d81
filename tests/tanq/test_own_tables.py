import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from flows.evaluation import prepare
from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.models.ask import Answer
from tasks.reports.printed import print_tables
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import EvaluationOptions
from tasks.systems.own_items import read_items
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.evaluation import EVALUATION, READER
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import Prediction
from tasks.tanq.solve.system_predictions import SystemTables, TanqSystem, system_predictions
from tests.flows.evaluated import ROOT, measure_rows
from tests.tanq.table_items import make_item

GOOD = {"id": "n", "question": "Which?", "answer_table": "entity|capital\nNorway|Oslo\nChad|"}
ENTRY: Any = TypeAdapter(SystemEntry).validate_python(
    {"kind": "callable", "version": "1", "function": "stranger:answer"}
)


def write(folder: Path, *records: object) -> Path:
    folder.mkdir(exist_ok=True)
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    (folder / "items.jsonl").write_text("\n".join(lines))
    return folder


def test_items_are_read_from_lines_in_either_form_of_a_table(tmp_path: Path) -> None:
    rows = [["entity", "a (km²)", "b"], ["Chad", 7, ["x", "y|z"]], ["Oslo", None, []]]
    proofs = [{"article": "Chad", "text": "It is.", "section": "Land"}]
    found = read_items(
        write(
            tmp_path,
            GOOD,
            {"question": "What?", "answer_table": rows, "kind": "composition", "proofs": proofs},
        ),
        READER,
    )
    assert found.problems == ()
    plain, listed = sorted(found.items, key=lambda item: item.question == "What?")
    assert (plain.id, plain.kind, plain.answer_table) == ("n", "simple", GOOD["answer_table"])
    assert listed.answer_table == "entity|a (km²)|b\nChad|7|x, y z\nOslo||"
    assert listed.rows[0].cells[1].values == ("x", "y z")
    assert [column.header for column in listed.columns] == ["a (km²)", "b"]
    assert (listed.proofs[0].article, listed.proofs[0].section) == ("Chad", "Land")


def test_items_of_a_set_are_read_as_they_are(tmp_path: Path) -> None:
    items = [make_item("b", ["Norway"]), make_item("a", ["France"])]
    write_rows(tmp_path / "items.parquet", TanqItem, items)
    assert list(read_items(tmp_path, READER).items) == items[::-1]


@pytest.mark.parametrize(
    "bad",
    ["[" * 5000, {"question": "Q"}, {"answer_table": "a|b\nc|d"}, {**GOOD, "question": " "},
     {**GOOD, "answer_table": "entity|a"}, {**GOOD, "answer_table": [["a", "b"], ["c"]]},
     {**GOOD, "answer_table": [["a", "b"], [{"x": 1}, "d"]]}, {**GOOD, "answer_table": [["a"], ["b"]]},
     {**GOOD, "answer_table": [["a", "b"], ["", "d"]]}, {**GOOD, "answer_table": 7}, {**GOOD, "kind": "odd"},
     {**GOOD, "answer_table": [["a", "b"]] + [["c", "d"]] * 20_000}, {**GOOD, "proofs": "x"},
     {**GOOD, "proofs": [{"text": "x"}]}, {**GOOD, "id": "good"}, {**GOOD, "question": "x" * 200_000}],
)  # fmt: skip
def test_what_is_no_item_is_named_and_the_rest_is_read(tmp_path: Path, bad: object) -> None:
    found = read_items(write(tmp_path, {**GOOD, "id": "good"}, bad), READER)
    assert [item.id for item in found.items] == ["good"]
    (problem,) = found.problems
    assert problem.startswith("items.jsonl, line 2: ")
    assert len(problem) < 200


class Answering:
    """An `ask` for a system that answers by a function."""

    def __init__(self, reply: Any) -> None:
        self.reply, self.asked = reply, list[str]()

    async def system(
        self, name: str, version: str, request: Any, *, send: Any, row: str, parse: Any
    ) -> Answer[Any]:
        question = next(value for value in request.values() if isinstance(value, str) and "?" in value)
        self.asked.append(question)
        reply = self.reply(question)
        if reply is None:
            return Answer(None, "", "c", 1, "the system raised ValueError")
        return Answer(parse(json.dumps(reply)), "", f"call-{row}", 1)


def ask_system(items: Sequence[TanqItem], reply: Any, **params: Any) -> tuple[list[Prediction], Answering]:
    ask: Any = Answering(reply)
    made = asyncio.run(
        system_predictions(
            list(items), TanqSystem(set="s", system="ours"), ENTRY, SystemTables(**params), ask
        )
    )
    return sorted(made.rows, key=lambda row: row.item), ask


ITEMS = [make_item("a", ["Norway"]), make_item("b", ["France"]), make_item("c", ["Japan"])]


def test_a_system_answers_with_a_text_table_and_its_failures_are_rows() -> None:
    said = {"a": "| entity | capital |\n|--|--|\n| Norway | Oslo |", "b": None, "c": "No idea."}
    rows, ask = ask_system(ITEMS, lambda text: next(said[name] for name in said if f"in {name}?" in text))
    assert [row.table for row in rows] == [(("entity", "capital"), ("Norway", "Oslo")), None, None]
    assert [bool(row.failed) for row in rows] == [False, True, False]
    assert {(row.setting, row.model, row.system, row.shots) for row in rows} == {
        ("system", "ours", "system/ours", 0)
    }
    assert sorted(ask.asked) == [item.question for item in ITEMS], "the question alone"


def test_a_system_is_sent_proofs_where_it_asks_for_them() -> None:
    _, ask = ask_system(ITEMS, lambda _: "x", proofs=True, distractors=1)
    assert all(text.count("is the capital of") == 2 for text in ask.asked)
    assert "\n\nDocuments:\n[" in ask.asked[0]


def make_score(prediction: Prediction, value: float, failures: tuple[str, ...] = ()) -> PredictionScore:
    return PredictionScore(
        prediction.id, prediction.item, prediction.system, *[value] * 6, failures, None, ()
    )  # fmt: skip


def test_figures_are_means_of_what_was_answered_with_failures_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, _ = ask_system(ITEMS, lambda question: None if "in b?" in question else "entity|a\nx|y")
    scores = [make_score(rows[0], 1.0), make_score(rows[2], 0.5, ("missing_entity", "wrong_cell"))]
    given = {
        "items": (TanqItem, ITEMS), "predictions": (Prediction, rows), "scores": (PredictionScore, scores)
    }  # fmt: skip
    figures = measure_rows(EVALUATION, given, tmp_path)
    assert figures["counts"] == {"items": 3, "scored": 2, "failed": 1, "no_table": 0}
    assert (figures["rms"]["paper"]["f1"]["value"], figures["rms"]["paper"]["f1"]["n"]) == (0.75, 2)
    assert figures["rms"]["released"]["recall"]["failed"] == 1
    assert set(figures["kinds"]) == {"simple"}
    assert figures["failure_kinds"] == {"missing_entity": 1, "wrong_cell": 1}
    assert figures["failures"] == ["item b: no table: the system raised ValueError"]
    assert len(figures["warnings"]) == 2
    print_tables(EVALUATION.printed, figures, EVALUATION.notes(figures))
    out = " ".join(capsys.readouterr().out.split())
    assert "ours on mine: 3 items, 2 scored, 1 failed, 0 without a table" in out
    assert "failures: missing entity 1, wrong cell 1" in out


def test_a_dataset_is_read_with_a_key_that_its_content_determines(tmp_path: Path) -> None:
    def key(*records: object, **options: Any) -> str:
        given = EvaluationOptions(write(tmp_path, *records), "ours", **options)
        return prepare(ROOT, "tanq", {"systems": {"ours": ENTRY.model_dump()}}, given).own.key

    other = {**GOOD, "id": "m"}
    assert key(GOOD) == key(GOOD) == key(GOOD, {**other, "id": "z"}, limit=1)
    assert len({key(GOOD), key(GOOD, other), key(GOOD, as_of="x"), key({**GOOD, "question": "Who?"})}) == 4
    for options in ({"turns": 2}, {"documents": tmp_path}, {"language": "en"}):
        with pytest.raises(BadInput, match="does not apply to"):
            key(GOOD, **options)
