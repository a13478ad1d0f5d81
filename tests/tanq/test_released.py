"""Tests that items survive a round trip through the layout of TANQ's release, with equal scores."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.rms_plain import compute_plainly
from flows.commands.import_ import app
from flows.commands.publish import PublishOptions, publish_command
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput
from tasks.scoring.registry import make_metric
from tasks.scoring.running import score_file
from tasks.sources.tanq_records import read_record
from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, ItemProof, ItemThing, TanqItem
from tasks.tanq.importers.tanq import make_published_item
from tasks.tanq.labels import Support
from tasks.tanq.publish.released import name_files, name_records, write_record, write_released
from tasks.tanq.score.scores import score_prediction
from tasks.tanq.solve.prediction import Prediction, TableRun, make_prediction
from tests.tanq.released_fixture import PEOPLE, RECORDS, read_contents
from tests.tanq.table_items import make_item

SAMPLE = Path(__file__).parents[2] / "data/tanq/sample/items.parquet"
SYSTEM = TableRun("system", "own/1")
ITEMS = [make_item(name, ["Norway", "Sweden"]) for name in "abcdefg"]
REPLIES = [
    "entity|capital\nNorway|Oslo\nSweden|Stockholm",
    "| entity | Norway | Sweden |\n|---|---|---|\n| capital | Oslo | Malmo |",
    "Title|capital\nNorway|Oslo\n",
    "entity|capital|\n",
    "I know of none.",
    "entity|capital\nNorway|\nSweden|Stockholm (99%)",
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text("{}\n")
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bring_in(path: Path, name: str) -> list[TanqItem]:
    done = CliRunner().invoke(app, ["tanq", str(path), "--name", name])
    assert done.exit_code == 0, done.output
    return read_rows(Path("data/raw/tanq") / name / "items.parquet", TanqItem)


def publish(place: str, to: Path, key: str = "", *, private: bool = False) -> Path:
    publish_command(place, PublishOptions(to=to, prediction_key=key, private=private), as_json=True)
    return to


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_own() -> TanqItem:
    """Return an item like the flow: cells with all kinds of proof, a skill in a column, a failing row."""
    proof = ItemProof(
        "p1", "f1", "country/NO", "P36", "Oslo", "Norway", 7, "", "", 3, "text", (), "",
        "Oslo is the capital of Norway.", Support.SUPPORTED, "Oslo",
    )  # fmt: skip
    area = replace(
        proof, id="p2", fact="f2", relation="P2046", value="385207", kind="infobox", revision=None,
        headers=("area_km2", "Area"), text="385,207 km2", mention="385,207 km2",
    )  # fmt: skip
    cell = replace(
        proof, id="p3", fact="f3", entity="Q34", value="Stockholm", article="List: capitals?",
        section="Nordic", parent="Europe", kind="cell", headers=("Sweden", "Capital"), text="Stockholm",
        row="Country: Sweden | Capital: Stockholm | 1,000,000", mention="Stockholm",
    )  # fmt: skip
    tongues = [
        replace(proof, id=f"p{place}", fact=f"f{place}", relation="P37", value=tongue, mention="")
        for place, tongue in ((4, "Bokmal, old"), (5, "Sami"))
    ]
    rows = (
        FinalRow(
            "country/NO", "Norway", True,
            (FinalCell(("Oslo",), ("f1",)), FinalCell(("149000",), ("f2",)),
             FinalCell(("Bokmal, old", "Sami"), ("f4", "f5"))),
        ),
        FinalRow("Q34", "Sweden", False, (FinalCell(("Stockholm",), ("f3",)), FinalCell((), ()),
                                          FinalCell((), ()))),
    )  # fmt: skip
    return TanqItem(
        id="own", kind="composition", shape="s", init_qid="5f0c", init_question="Which countries?",
        ext_question="Which countries and what are their capitals?",
        ext_question_rephrased="Which countries, with capital (capital)?",
        ext_question_cleaned="Which countries, with capital?", question="Which countries? Keep large ones.",
        noun="countries", relations=("P36", "P2046", "P37"), extended_types=("item", "quantity", "item"),
        skills=(SkillUse("filter_number", "P2046", "", ">=", "1", "Keep large ones."),
                SkillUse("conversion", "P2046", "", "", "square mile", "in square miles")),
        columns=(FinalColumn("P36", "capital", "item", ""),
                 FinalColumn("P2046", "area (sq mi)", "quantity", "x"),
                 FinalColumn("P37", "official language", "item", "")),
        rows=rows,
        answer_table="entity|capital|area (sq mi)|official language\nNorway|Oslo|149000|Bokmal, old, Sami",
        intermediates=(ItemThing("Q9", "Nordic Council", "Nordic Council"),),
        things=(ItemThing("country/NO", "Norway", "Norway"), ItemThing("Q34", "Sweden", "Sweden"),
                ItemThing("Q585", "Oslo", "Oslo")),
        instance_type=("country",), init_answer_proof=(), proofs=(proof, area, cell, *tongues),
        source="graph", origin=(),
    )  # fmt: skip


def show(item: TanqItem) -> dict[str, Any]:
    """Return the fields of an item that must be equal after publication and import."""
    proofs = [replace(proof, id="", fact="") for proof in item.proofs]
    return {
        "texts": (item.question, item.init_question, item.ext_question, item.ext_question_cleaned),
        "kind": item.kind,
        "table": item.answer_table,
        "headers": [(column.relation, column.header) for column in item.columns],
        "rows": {
            (row.entity, row.label, row.filter_pass, tuple(cell.values for cell in row.cells))
            for row in item.rows
        },
        "proofs": sorted(proofs, key=repr),
        "proven": sum(len(cell.facts) for row in item.rows for cell in row.cells),
        "things": set(item.things),
        "intermediates": item.intermediates,
        "classes": item.instance_type,
        "skills": [skill.name for skill in item.skills],
    }


def test_records_of_the_release_come_back_as_they_are(root: Path) -> None:
    (root / "test.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    first = bring_in(root / "test.jsonl", "one")
    out = publish("data/raw/tanq/one", root / "out")
    by_name = {record["init_qid"]: record for record in read_lines(out / "tanq/test.jsonl")}
    assert by_name == {record["init_qid"]: record for record in RECORDS}
    again = bring_in(out / "tanq/test.jsonl", "two")
    assert [replace(item, origin=()) for item in again] == [replace(item, origin=()) for item in first]
    # The rows of the publication can also be read, and equal the items.
    assert bring_in(out, "three") == first
    about = json.loads(Path("data/raw/tanq/three/about.json").read_text())
    assert (about["source"], about["licence"][:9]) == ("publication of data/raw/tanq/one", "CC BY 4.0")


def test_an_item_of_our_own_keeps_its_values_proofs_and_filters(root: Path) -> None:
    own = make_own()
    Path("data/raw/tanq/mine").mkdir(parents=True)
    write_rows(Path("data/raw/tanq/mine/items.parquet"), TanqItem, [own])
    with pytest.raises(
        BadInput, match=r"uses sources that may not be redistributed: data/raw/tanq/mine \(unknown\)"
    ):
        publish("data/raw/tanq/mine", root / "out")
    out = publish("data/raw/tanq/mine", root / "out", private=True)
    (record,) = read_lines(out / "tanq/test.jsonl")
    assert record["init_qid"] == "5f0c__composition"
    assert record["question_properties"] == ["capital", "area", "official language"]
    assert record["extended_types"] == ["filter_number", "conversion"]
    # Read by the layout alone, without the project's reader.
    contents = list(read_contents(record))
    assert [content[1:3] for content in contents] == [
        ("capital", "text"), ("area", "infobox"), ("official language", "text"),
        ("official language", "text"), ("capital", "table"),
    ]  # fmt: skip
    assert contents[1][4] == ("Area", "385,207 km2")
    assert contents[4][4] == ("", "Country", "Capital", "", "Sweden", "Stockholm", "1,000,000")
    assert contents[4][3] == ("List: capitals?", "Nordic", "Europe", 3)
    (again,) = bring_in(out / "tanq/test.jsonl", "again")
    assert show(again) == show(own)


def test_every_record_has_a_name_of_its_own() -> None:
    given = [make_item(name, ["Norway"], seed=seed) for name, seed in (("a", "q"), ("b", "q"), ("c", "r"))]
    kept = replace(given[0], id="d", init_qid="q__simple__2", record="{}")
    names, numbered = name_records([*given, kept])
    assert names == {
        "a": "q__simple", "b": "q__simple__3", "c": "r__simple", "d": "q__simple__2",
    }  # fmt: skip
    assert numbered == 1
    assert name_files(["a/b", "a b", "c"]) == {
        "a/b": "test.a-b.jsonl",
        "a b": "test.a-b-2.jsonl",
        "c": "test.c.jsonl",
    }


def predict(items: list[TanqItem]) -> list[Prediction]:
    made = [make_prediction(item, SYSTEM, reply, "", ()) for item, reply in zip(items, REPLIES, strict=False)]
    return [*made, make_prediction(items[-1], SYSTEM, "", "it took too long", ())]


def test_predictions_stand_where_the_evaluator_reads_them_and_score_the_same(tmp_path: Path) -> None:
    items, made = ITEMS, predict(ITEMS)
    write_rows(tmp_path / "items.parquet", TanqItem, items)
    write_rows(tmp_path / "predictions.parquet", Prediction, made)
    given = (tmp_path / "items.parquet", tmp_path / "predictions.parquet")
    assert write_released(*given, "mine", tmp_path) == [
        "test.system-own-1.jsonl: 1 of 7 questions have no reply and are left out"
    ]
    records = read_lines(tmp_path / "test.system-own-1.jsonl")
    assert len({record["init_qid"] for record in records}) == len(records) == len(REPLIES)
    plain = [compute_plainly(record["answer_table"], record["mine"]) for record in records]
    scored = [score_prediction(item, prediction, "") for item, prediction in zip(items, made, strict=True)][
        :-1
    ]
    for result, expected in zip(scored, plain, strict=True):
        found = (result.released_precision, result.released_recall, result.released_f1)
        assert found == pytest.approx(expected)
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        "\n".join(
            json.dumps(
                {"id": record["init_qid"], "gold": record["answer_table"], "prediction": record["mine"]}
            )
            for record in records
        )
    )
    report = score_file(make_metric("rms", {}), str(lines))
    assert [report[name] for name in ("precision", "recall", "f1")] == pytest.approx(
        [fmean(column) for column in zip(*plain, strict=True)]
    )
    assert 0 < report["f1"] < 1


def test_what_the_evaluator_needs_is_always_there_and_no_field_is_overwritten(tmp_path: Path) -> None:
    item = replace(make_item("a", ["Norway"]), record=json.dumps({**PEOPLE, "answer_table": None}))
    write_rows(tmp_path / "items.parquet", TanqItem, [item])
    write_rows(
        tmp_path / "predictions.parquet", Prediction, [make_prediction(item, SYSTEM, REPLIES[0], "", ())]
    )
    given = (tmp_path / "items.parquet", tmp_path / "predictions.parquet")
    write_released(*given, "mine", tmp_path)
    (record,) = read_lines(tmp_path / "test.system-own-1.jsonl")
    assert record["ext_question_rephrased"] == item.question
    assert record["answer_table"] == item.answer_table
    assert write_record(item, "x") == {**PEOPLE, "answer_table": None, "init_qid": "x"}
    with pytest.raises(BadInput, match="already has a field 'init_qid'"):
        write_released(*given, "init_qid", tmp_path)
    with pytest.raises(BadInput, match="--prediction-key: needs predictions"):
        write_released(given[0], None, "mine", tmp_path)


@pytest.mark.skipif(not SAMPLE.is_file(), reason="`make reproduce` makes the sample")
def test_the_sample_comes_back_with_all_proofs_and_values(tmp_path: Path) -> None:
    items = read_rows(SAMPLE, TanqItem)
    write_released(SAMPLE, None, "", tmp_path)
    records = read_lines(tmp_path / "test.jsonl")
    assert len({record["init_qid"] for record in records}) == len(records) == len(items) > 0
    for item, record in zip(items, records, strict=True):
        read = read_record(record)
        made = make_published_item(read, "", "x", record)
        assert (made.unknown, made.apart, made.unlisted, made.verdicts, read.others) == ((), 0, 0, 0, {})
        assert show(made.item) == show(item)
