"""Tests of `benchloom import tanq`: records of TANQ's release become items with all values and proofs."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.scoring.rms import Rms
from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT
from tasks.systems.evaluation import EvaluationOptions
from tasks.systems.own_items import read_items
from tasks.tanq.build.tanq_item import FinalCell, ItemThing, TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.evaluation import READER, measure
from tasks.tanq.graph.seed_question import SeedProof
from tasks.tanq.importers.published_table import find_verdict
from tasks.tanq.importers.tanq import find_skill
from tasks.tanq.labels import Support
from tasks.tanq.score.scores import score_all
from tasks.tanq.solve.prediction import TableRun, make_prediction
from tasks.tanq.solve.predictions import predictions
from tasks.tanq.solve.table_options import PredictionLimits
from tests.tanq.released_fixture import FILMS, PEOPLE, RECORDS, RIVERS, read_contents
from tests.tanq.table_items import ScriptedTables


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("{}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    return root


def call(*words: object):
    return CliRunner().invoke(app, ["tanq", *map(str, words)])


def load(root: Path, *records: object, said: tuple[str, ...] = (), **options: str) -> list[TanqItem]:
    path = root / "test.jsonl"
    path.write_text(
        "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)
    )
    done = call(path, *(word for name, value in options.items() for word in (f"--{name}", value)))
    assert done.exit_code == 0, done.output
    assert all(line in done.output.splitlines() for line in said), done.output
    return read_rows(root / "data/raw/tanq/main/items.parquet", TanqItem)


def read_skipped(root: Path) -> list[tuple[str, str]]:
    lines = (root / "data/raw/tanq/main/skipped.jsonl").read_text().splitlines()
    return [(line["reason"], line["where"]) for line in map(json.loads, lines)]


def show_proofs(item: TanqItem) -> list[tuple[Any, ...]]:
    """Return an item's proofs in the format of the plain reader."""
    headers = {column.relation: column.header for column in item.columns}
    titles = {thing.id: thing.article for thing in item.things}
    shown = []
    for proof in item.proofs:
        place = (proof.article, proof.section, proof.parent, proof.position)
        content = {
            TEXT: (proof.text,), INFOBOX: (*proof.headers, proof.text), CELL: (proof.row,),
        }[proof.kind]  # fmt: skip
        kind = {TEXT: "text", INFOBOX: "infobox", CELL: "table"}[proof.kind]
        shown.append((titles[proof.entity], headers[proof.relation], kind, place, content))
    return shown


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["init_qid"])
def test_every_proof_is_found_again_with_its_place_and_content(root, record):
    (item,) = load(root, record)
    found = show_proofs(item)
    given = list(read_contents(record))
    assert len(found) == len(given) > 0
    for (title, _, kind, place, content), proof in zip(given, found, strict=True):
        assert proof[0] == title
        assert proof[2:4] == (kind, place)
        if kind == "table":
            assert all(text in proof[4][0] for text in content)
        else:
            assert proof[4] == content
    assert json.loads(item.record) == record, "the record is kept as it is"


def test_a_record_becomes_an_item_with_filters_and_split_cells(root):
    (item,) = load(root, FILMS)
    assert item.question == FILMS["ext_question_rephrased"].strip()
    assert (item.kind, item.noun, item.init_qid) == ("intersection", "films", FILMS["init_qid"])
    assert item.answer_table == FILMS["answer_table"].strip()
    # The column that a skill renamed is found by its values.
    assert [(column.relation, column.header, column.kind) for column in item.columns] == [
        ("P86", "composer", "item"), ("P577", "year of publication", "time"),
    ]  # fmt: skip
    assert [(row.entity, row.label, row.filter_pass) for row in item.rows] == [
        ("Q101", "The Glass Tide (1971 film)", True), ("Q102", "Harbour Nine", True),
        ("Q103", "Low Bridge", False),
    ]  # fmt: skip
    tide, nine, bridge = item.rows
    # The comma of `Ruys, Jr.` is part of a value, by the answer list.
    assert tide.cells[0].values == ("Ada Morn", "Piet Ruys, Jr.")
    assert [cell.values for cell in nine.cells] == [("Ada Morn",), ("1980",)]
    assert [cell.values for cell in bridge.cells] == [("Ada Morn",), ("1962-00-00",)]
    of_cells = {fact for row in item.rows for cell in row.cells for fact in cell.facts}
    assert {proof.fact for proof in item.proofs} == of_cells
    assert [proof.eval_result for proof in item.proofs if "1980" in proof.text] == [Support.NOT_ENOUGH] * 2
    assert sum(proof.eval_result == Support.SUPPORTED for proof in item.proofs) == len(item.proofs) - 2
    assert ItemThing("Q501", "Ada Morn", "Ada Morn") in item.things
    assert item.init_answer_proof == (
        SeedProof(
            "Q101", "The Glass Tide (1971 film)", "The Glass Tide is a film written and directed by Bo Falk."
        ),
    )
    assert [skill.name for skill in item.skills] == ["filter_time", "date_to_year"]
    assert item.instance_type == ("film",)
    assert read_skipped(root) == []
    # `evaluate tanq` reads the same item.
    assert read_items(root / "data/raw/tanq/main", READER).items == (item,)


def test_composed_answers_are_intermediate_and_a_fallback_is_said(root):
    (item,) = load(
        root, PEOPLE, said=("asked: ext_question_cleaned of 1 records, which lack ext_question_rephrased",)
    )
    assert item.question == PEOPLE["ext_question_cleaned"]
    assert item.intermediates == (
        ItemThing("Q301", "1917", "1917"), ItemThing("Q302", "Cold Yard", "Cold Yard"),
        ItemThing("Q303", "Q303", ""),
    )  # fmt: skip
    assert [cell.values for row in item.rows for cell in row.cells] == [("Tromso",), ("182",), ("Oslo",), ()]
    assert [row.entity for row in item.rows] == ["Q201", "Sif Dahl"]


def test_what_is_not_understood_is_counted_by_field_and_kept(root):
    (item,) = load(
        root,
        RIVERS,
        said=(
            "not understood, kept in column `record` under their own names: answer_list (1), "
            "answer_list.extension_answer.proof.license (1), answer_list.extension_answer.score (1), "
            "answer_list.rank (1), popularity (1), result_closedbook (1)",
        ),
    )
    about = json.loads((root / "data/raw/tanq/main/about.json").read_text())
    assert about["not_understood"]["popularity"] == 1
    assert about["asked"] == {"ext_question_rephrased": 1}
    assert json.loads(item.record)["popularity"] == 0.5


def test_the_oracle_baseline_sees_every_proof(root):
    items = load(root, *RECORDS)
    ask = ScriptedTables(lambda *_: "entity|a\nb|c")
    evaluation = TableEvaluation(set="s", settings=("oracle",), shots=(0,))
    limits = PredictionLimits(distractors=0, window=30_000)
    asyncio.run(predictions(items, Path(), evaluation, limits, {}, ask))
    (asked,) = [text for _, text in ask.asked if "Bo Falk direct" in text]
    assert "[The Glass Tide (1971 film) > Production > Music] The score of The Glass Tide is by" in asked
    assert "[The Glass Tide (1971 film) > infobox] Release date: 14 May 1971" in asked
    assert "[Piet Ruys > table] Scores by year: Year: 1971 | Film: The Glass Tide | Composer:" in asked
    assert "Low Bridge has music by Ada Morn." in asked


def test_failures_are_counted_by_kind_and_a_row_that_fails_a_filter_is_known(root):
    items = load(root, *RECORDS)
    replies = {
        FILMS[
            "init_qid"
        ]: "entity|composer|year\nThe Glass Tide (1971 film)|Ada Morn|1971\nLow Bridge|A|1962",
        PEOPLE["init_qid"]: "I do not know.",
        RIVERS["init_qid"]: RIVERS["answer_table"],
    }
    made = [
        make_prediction(item, TableRun("system", "own"), replies[item.init_qid], "", ()) for item in items
    ]
    rows = {"items": items, "predictions": made, "scores": score_all(items, made, "predictions")}
    figures = measure(rows, EvaluationOptions(Path(), "own"), lambda *_: None).figures
    assert set(figures["failure_kinds"]) == {
        "filter_ignored", "missing_entity", "not_a_table", "partial_cell",
    }  # fmt: skip
    assert set(figures["kinds"]) == {"simple", "composition", "intersection"}


def test_the_table_alone_is_enough_and_it_scores_itself_fully(root):
    (item,) = load(
        root,
        {
            "init_qid": "1__simple", "ext_question_rephrased": "Which?",
            "answer_table": [["entity", "n"], ["a", 1], ["b"]],
        },
    )  # fmt: skip
    assert item.answer_table == "entity|n\na|1\nb|"
    assert item.rows[1].cells == (FinalCell((), ()),)
    metric = Rms()
    read = metric.read({"id": "1", "gold": item.answer_table, "prediction": item.answer_table})
    assert metric.score_item(read, "released").values["f1"] == 1


def test_a_table_is_made_of_the_answers_that_pass_where_there_is_none(root):
    (item,) = load(root, {**FILMS, "answer_table": None})
    assert item.answer_table == (
        "entity|composer|publication date\nThe Glass Tide (1971 film)|Ada Morn, Piet Ruys, Jr.|1971-05-14\n"
        "Harbour Nine|Ada Morn|1980-01-01"
    )


def test_two_answers_of_one_name_are_two_rows(root):
    def answer(item: str, area: str, **more: object) -> dict[str, object]:
        value = {"extension_property_label": "area", "extension_entity": {"value": area}}
        own = {"init_answer_wikidata_id": item, "init_answer_wikipedia_id": "Heat"}
        return {**own, "extension_answer": [value], **more}

    given = [answer("Q1", "1", filter_pass=False), answer("Q2", "2"), answer("Q3", "3")]
    table = "entity|area\nHeat|2\nHeat|3"
    record = {"init_qid": "1__simple", "ext_question": "Which?", "answer_list": given, "answer_table": table}
    (item,) = load(root, record)
    assert [(row.entity, row.filter_pass, row.cells[0].values) for row in item.rows] == [
        ("Q2", True, ("2",)), ("Q3", True, ("3",)), ("Q1", False, ("1",)),
    ]  # fmt: skip
    assert item.answer_table == table
    assert read_skipped(root) == []


def test_answers_without_a_name_are_found_by_their_values_and_then_by_order(root):
    def answer(area: str, number: int) -> dict[str, object]:
        value = {"extension_property_label": "area", "extension_entity": {"value": area}}
        return {"init_answer_wikipedia_id": number, "extension_answer": [value]}

    given = [answer("10", 4711), answer("20", 4712), answer("31", 4713)]
    table = "entity|area\nMira|20\nNona|10\nOlda|30"
    record = {"init_qid": "1__simple", "ext_question": "Which?", "answer_list": given, "answer_table": table}
    (item,) = load(root, record)
    assert [(row.entity, row.label) for row in item.rows] == [
        ("4712", "Mira"), ("4711", "Nona"), ("4713", "Olda"),
    ]  # fmt: skip


def test_a_cell_that_is_too_long_is_named_and_not_cut(root):
    long = {**RIVERS, "init_qid": "9__simple", "answer_table": [["entity", "n"], ["a", "x" * 6000]]}
    (item,) = load(root, FILMS, long)
    assert item.init_qid == FILMS["init_qid"]
    assert ("too_long", "line 2") in read_skipped(root)


@pytest.mark.parametrize("layout", ["a.json", "a.json.gz", "data.json", "folder"])
def test_other_layouts_and_the_field_that_is_asked(root, layout):
    content = json.dumps({"data": [FILMS]} if layout == "data.json" else [FILMS]).encode()
    if layout == "folder":
        (root / layout).mkdir()
        (root / layout / "test.jsonl").write_text(json.dumps(FILMS))
    else:
        (root / layout).write_bytes(gzip.compress(content) if layout.endswith("gz") else content)
    assert call(layout, "--question", "ext_question", "--name", "x").exit_code == 0
    (item,) = read_rows(root / "data/raw/tanq/x/items.parquet", TanqItem)
    assert item.question == FILMS["ext_question"]


def test_broken_records_are_named_and_the_others_taken(root):
    table: dict[str, object] = {"init_qid": "1__simple", "ext_question": "Which?"}
    items = load(
        root, "{", "7", {"init_qid": "1__simple"}, {**table, "init_qid": "1", "answer_table": "a|b\nc|d"},
        table, {**table, "answer_table": "a|b\nc|d|e"},
        {**table, "answer_table": "a|\nc|d"}, {**table, "answer_table": [["a", "b"], [None, "d"]]},
        {**table, "answer_table": [["a", "b"]] * 3000}, FILMS, FILMS,
        {**FILMS, "answer_list": [None, 5, {"filter_pass": "x"}]},
        {**FILMS, "ext_question_rephrased": "x" * 30_000}, '{"answer_list": [[' * 3000,
        {**RIVERS, "extended_types": ["juggling", "No skill"]},
    )  # fmt: skip
    assert sorted(item.init_qid for item in items) == ["1", RIVERS["init_qid"], FILMS["init_qid"]]
    assert read_skipped(root) == [
        ("broken", "line 1"), ("no_object", "line 2"), ("no_question", "line 3"),
        ("kind_not_told", "line 4"), ("no_table", "line 5"), ("bad_table", "line 6"),
        ("bad_table", "line 7"), ("bad_table", "line 8"), ("too_long", "line 9"), ("twice", "line 11"),
        ("answer_not_in_table", "line 12"), ("row_not_in_answers", "line 12"), ("twice", "line 12"),
        ("too_long", "line 13"), ("broken", "line 14"), ("skill_unknown", "line 15"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "does not exist"), (["text.txt"], "is not valid JSON"), (["lost.jsonl"],
        "contains no item of 1 records"),
        (["lost.jsonl", "--name", "A B"], "--name: 'A B' is not a valid name"),
        (["lost.jsonl", "--question", "x"], "--question: 'x' is not a field"),
        (["data"], "data: contains none of data/items.jsonl, tanq/test.jsonl, test.jsonl"),
        (["own.jsonl"], "contains no item of 1 records (bad_item: 1)"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused_and_changes_nothing(root, words, said):
    (root / "data").mkdir()
    (root / "text.txt").write_text("entity|a\n")
    (root / "lost.jsonl").write_text('{"question": "What?"}\n')
    (root / "own.jsonl").write_text('{"rows": [], "columns": [], "proofs": [], "answer_table": "a"}\n')
    done = call(*words)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert not list((root / "data").rglob("*.parquet"))


def test_skills_and_verdicts_are_known_by_several_names():
    names = {
        "Filtering numeric": "filter_number", "filter_time": "filter_time",
        "Filtering entity": "filter_entity",
        "Date-to-year conversion": "date_to_year", "Quantity conversion": "conversion", "No skill": "",
        "Time calculation": "time_calculation", "Approximation": "approximation", "rounding": "approximation",
    }  # fmt: skip
    assert {name: find_skill(name) for name in names} == names
    said = [find_verdict(word) for word in ("", "verifiable", "not verifiable", "refuted")]
    assert said == [Support.SUPPORTED, Support.SUPPORTED, "not enough information", "refuted"]
