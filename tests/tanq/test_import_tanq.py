"""`benchloom import tanq`: published records become items, whatever their fields are called."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.scoring.rms import Rms
from tasks.systems.own_items import read_items
from tasks.tanq.build.tanq_item import FinalCell, ItemThing, TanqItem
from tasks.tanq.evaluation import READER
from tasks.tanq.graph.seed_question import SeedProof
from tasks.tanq.importers.tanq import find_skill, find_verdict
from tasks.tanq.labels import Support

PROOF = {
    "text": "Dusk was scored by Ed Frey and Gil Hart, Jr.", "wikipedia_title": "Dusk (film)",
    "section": "Music",
    "parent_section": "Production", "position": 4, "type": "sentence", "eval_result": "supported",
}  # fmt: skip
RECORD = {
    "init_qid": "12__wikidata_intersection__dev",
    "init_question": "Which films were directed and written by Carl Dunn?",
    "ext_question": "Which films were directed and written by Carl Dunn and what is their composer and area?",
    "ext_question_rephrased": "Name composer (composer) and area (area) of films by Carl Dunn (b. 1950).",
    "question_properties": {"type": "intersection", "skills": ["Filtering numeric", "juggling"]},
    "ext_types": ["WD Item", "Numeric"],
    "answer_list": [
        {
            "answer": "Dusk", "wikidata_id": "Q13",
            "wikipedia_url": "https://en.wikipedia.org/wiki/Dusk_(film)",
            "instance_type": ["film"], "filter_pass": True,
            "init_answer_proof": [{"proof_text": "Dusk is by Carl Dunn.", "found_in_url": "Dusk_(film)"}],
            "extensions": [
                {"property_id": "P86", "property_label": "composer", "values": [
                    {"value": "Ed Frey", "wikidata_id": "Q11", "wikipedia_title": "Ed Frey",
                     "proofs": [PROOF]},
                    {"value": "Gil Hart, Jr.", "wikidata_id": "Q12",
                     "proofs": [{"infobox": {"Music": "Gil Hart, Jr."}}]},
                ]},
                {"property_id": "P2046", "property_label": "area", "value": "12.5"},
            ],
        },
        {"answer": "Noon", "filter_pass": False,
         "extensions": {"area": {"values": ["3"]}, "composer": ["Ed Frey"]}},
    ],
    "answer_table": "entity|composer|area (km²)\nDusk|Ed Frey, Gil Hart, Jr.|12.5",
}  # fmt: skip


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


def load(root: Path, *records: object, **options: str) -> list[TanqItem]:
    path = root / "test.jsonl"
    path.write_text("".join((own if isinstance(own, str) else json.dumps(own)) + "\n" for own in records))
    done = call(path, *(word for name, value in options.items() for word in (f"--{name}", value)))
    assert done.exit_code == 0, done.output
    return read_rows(root / "data/raw/tanq/main/items.parquet", TanqItem)


def read_skipped(root: Path) -> list[tuple[str, str]]:
    lines = (root / "data/raw/tanq/main/skipped.jsonl").read_text().splitlines()
    return [(line["reason"], line["where"]) for line in map(json.loads, lines)]


def test_a_record_becomes_an_item_with_its_table_values_and_proofs(root):
    (item,) = load(root, RECORD)
    assert item.question == "Name composer and area of films by Carl Dunn (b. 1950)."
    assert (item.kind, item.noun, item.init_qid) == ("intersection", "films", RECORD["init_qid"])
    assert item.answer_table == RECORD["answer_table"]
    assert [(own.relation, own.header, own.kind, own.unit) for own in item.columns] == [
        ("P86", "composer", "item", ""), ("P2046", "area (km²)", "quantity", "km²"),
    ]  # fmt: skip
    dusk, noon = item.rows
    # The comma of `Hart, Jr.` is part of a value, by the answer list.
    assert dusk.cells[0].values == ("Ed Frey", "Gil Hart, Jr.")
    assert (noon.label, noon.filter_pass, noon.cells[1].values) == ("Noon", False, ("3",))
    proofs = [
        (own.value, own.article, own.section, own.parent, own.position, own.kind) for own in item.proofs
    ]
    assert proofs == [
        ("Ed Frey", "Dusk (film)", "Music", "Production", 4, "text"), ("Gil Hart, Jr.", "", "", "", 0,
        "text"),
    ]  # fmt: skip
    assert {own.fact for own in item.proofs} == set(dusk.cells[0].facts)
    assert item.things[0] == ItemThing("Q13", "Dusk", "Dusk (film)")
    assert item.init_answer_proof == (SeedProof("Q13", "Dusk (film)", "Dusk is by Carl Dunn."),)
    assert [own.name for own in item.skills] == ["filter_number"]
    assert (item.instance_type, item.extended_types) == (("film",), ("WD Item", "Numeric"))
    assert read_skipped(root) == [("skill_unknown", "line 1")]
    # What `evaluate tanq` reads is the same item.
    assert read_items(root / "data/raw/tanq/main", READER).items == (item,)


def test_the_table_alone_is_enough_and_it_scores_itself_fully(root):
    (item,) = load(
        root, {"id": "1__simple", "question": "Which?", "answer_table": [["entity", "n"], ["a", 1], ["b"]]}
    )
    assert item.answer_table == "entity|n\na|1\nb|"
    assert item.rows[1].cells == (FinalCell((), ()),)
    metric = Rms()
    read = metric.read({"id": "1", "gold": item.answer_table, "prediction": item.answer_table})
    assert metric.score_item(read, "released").values["f1"] == 1


def test_a_table_is_made_of_the_answers_that_pass_where_there_is_none(root):
    (item,) = load(root, {**RECORD, "answer_table": None})
    assert item.answer_table == "entity|composer|area\nDusk|Ed Frey, Gil Hart, Jr.|12.5"


def test_two_answers_of_one_name_are_two_rows(root):
    def answer(item: str, area: str, **more: object) -> dict:
        return {"answer": "Heat", "wikidata_id": item, "extensions": {"area": area}, **more}

    given = [answer("Q1", "1", filter_pass=False), answer("Q2", "2"), answer("Q3", "3")]
    table = "entity|area\nHeat|2\nHeat|3"
    record = {"id": "1__simple", "question": "Which?", "answer_list": given, "answer_table": table}
    (item,) = load(root, record)
    assert [(row.entity, row.filter_pass, row.cells[0].values) for row in item.rows] == [
        ("Q2", True, ("2",)), ("Q3", True, ("3",)), ("Q1", False, ("1",)),
    ]  # fmt: skip
    assert item.answer_table == table
    assert read_skipped(root) == []


def test_a_cell_that_is_too_long_is_named_and_not_cut(root):
    long = {"id": "1__simple", "question": "Which?", "answer_table": [["entity", "n"], ["a", "x" * 6000]]}
    (item,) = load(root, RECORD, long)
    assert item.init_qid == RECORD["init_qid"]
    assert ("too_long", "line 2") in read_skipped(root)


@pytest.mark.parametrize("layout", ["a.json", "a.json.gz", "data.json"])
def test_other_layouts_and_the_field_that_is_asked(root, layout):
    content = json.dumps({"data": [RECORD]} if layout == "data.json" else [RECORD]).encode()
    (root / layout).write_bytes(gzip.compress(content) if layout.endswith("gz") else content)
    assert call(layout, "--question", "ext_question", "--name", "x").exit_code == 0
    (item,) = read_rows(root / "data/raw/tanq/x/items.parquet", TanqItem)
    assert item.question == RECORD["ext_question"]


def test_broken_records_are_named_and_the_others_taken(root):
    table = {"id": "1__simple", "question": "Which?"}
    items = load(
        root, "{", "7", {"id": "1__simple"}, {**table, "id": "1"}, table, {**table,
        "answer_table": "a|b\nc|d|e"},
        {**table, "answer_table": "a|\nc|d"}, {**table, "answer_table": [["a", "b"], [None, "d"]]},
        {**table, "answer_table": [["a", "b"]] * 3000}, RECORD, RECORD,
        {**RECORD, "answer_list": [None, 5, {"answer": {}}, {"answer": "x", "extensions": [[]],
        "proofs": 1}]},
        {**RECORD, "ext_question_rephrased": "x" * 30_000}, '{"answer_list": [[' * 3000,
    )  # fmt: skip
    assert len(items) == 1 or [item.init_qid for item in items] == [RECORD["init_qid"]] * len(items)
    assert [own for own in read_skipped(root) if own[0] != "skill_unknown"] == [
        ("broken", "line 1"), ("no_object", "line 2"), ("no_question", "line 3"), ("no_kind", "line 4"),
        ("no_table", "line 5"), ("bad_table", "line 6"), ("bad_table", "line 7"), ("bad_table", "line 8"),
        ("too_long", "line 9"), ("twice", "line 11"), ("answer_unread", "line 12"),
        ("answer_not_in_table", "line 12"), ("twice", "line 12"), ("too_long", "line 13"), ("broken",
        "line 14"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "is not there"), (["text.txt"], "is no JSON"), (["lost.jsonl"],
        "gave no item of 1 records"),
        (["lost.jsonl", "--name", "A B"], "--name: 'A B' is no name"),
        (["lost.jsonl", "--question", "x"], "--question: 'x' is no field"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused_and_changes_nothing(root, words, said):
    (root / "text.txt").write_text("entity|a\n")
    (root / "lost.jsonl").write_text('{"question": "What?"}\n')
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
