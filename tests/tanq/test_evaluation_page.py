"""Tests of an evaluation's page: every cell's state and evidence, every system's table, escaped texts."""

from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, Origin
from tasks.errors import BadInput
from tasks.models.calls import Call
from tasks.reports.figures_file import read_figures
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.outcomes import TableOutcome
from tasks.tanq.publish.evaluation_figures import evaluation_figures
from tasks.tanq.publish.evaluation_page import EvaluationFigures, evaluation_page
from tasks.tanq.score.scores import score_all
from tasks.tanq.solve.prediction import Prediction
from tasks.tanq.view import encode_prediction
from tests.longform.test_page import EVIL, make_call, read_data
from tests.reports.figure_folders import place_figures
from tests.tanq.scored_items import HEAD, PERFECT, make_item, make_prediction, make_proof, make_step

_, RUVAY, SKARHOLM, OVERMERE = PERFECT
SPOILT = (
    (*HEAD, "Anthem"),
    ("Ruvay", f"Port {EVIL}", "28,000", "Ruvish", "1879", "La"),
    ("Tarn", "Tarnby", "90", "Skarsk", "1901", "Li"),
    (EVIL, "x", "y", "z", "w", "Lo"),
)
ENTRY = TableEvaluation(set="sample")


def make_rows() -> tuple[list[TanqItem], list[Prediction], list[Prediction]]:
    proofs = (
        make_proof("Ruvay", "P36", "Port Ruvay", f"{EVIL} The seat is PORT RUVAY. {EVIL}", section=EVIL),
        make_proof("Skarholm", "P1082", "5300", "It has some 5.3 thousand people.", mention="5.3 thousand",
                   kind="cell", headers=("Population",), row="Skarholm | 5.3 thousand", revision=None),
    )  # fmt: skip
    items = [
        make_item("i1", filtered=True, proofs=proofs, question=f"Which islands? {EVIL}"),
        make_item("i2", kind="composition"),
        make_item("i3"),
    ]  # fmt: skip
    steps = (
        make_step("SubTask", f"find islands {EVIL}", "Ruvay."),
        make_step("WikiSearch", "islands", "Ruvay is an island.", agent="find islands"),
        make_step("", "Ruvay.", "", agent="find islands"),
    )
    predictions = [
        make_prediction("i1", SPOILT, reply=f"entity|... {EVIL}", origin=(Origin("call", "c1"),)),
        make_prediction("i1", PERFECT, id="p-open", system="open/agent", setting="open", shots=0,
                        shot_choice="", instruction="", steps=steps),
        make_prediction("i2", None, reply="I do not know.", left_out=("proof 7",)),
        make_prediction("i2", None, id="p-none", system="open/agent", setting="open", shots=0, shot_choice="",
                        instruction="", reply="", failed="not asked: no room"),
    ]  # fmt: skip
    people = [
        make_prediction("i1", id="p-people", system="people", model="people", shots=0, shot_choice="",
                        instruction="")
    ]  # fmt: skip
    return items, predictions, people


def write_evaluation(folder: Path) -> tuple[Path, Counts]:
    items, predictions, people = make_rows()
    scores, human = score_all(items, predictions, "predictions"), score_all(items, people, "human_tables")
    figures, calls, out = folder / "evaluation_figures.json", folder / "p.calls.parquet", folder / "page"
    shared: dict[str, Any] = {
        "items": items, "predictions": predictions, "scores": scores, "human_tables": people,
        "human_scores": human, "entry": ENTRY, "key": "small",
    }  # fmt: skip
    evaluation_figures(
        **shared, human_tables_dropped=[], hallucination_labels=[], hallucination_labels_dropped=[],
        settings={}, out=figures,
    )  # fmt: skip
    write_rows(calls, Call, [make_call("c1")])
    return out, evaluation_page(
        **shared,
        evaluation_figures=figures,
        predictions_calls=calls,
        out=out,
        **place_figures(out, "metrics", "bars"),
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, counts = write_evaluation(tmp_path_factory.mktemp("page"))
    assert counts == Counts(4, 4, {})
    return out


def read_answer(page: Path, item: str) -> Any:
    """Return the data of the component that shows a question's answer."""
    rows = {row[0]: row for row in read_data(page / "rows.js")["rows"]}
    return next(block[2] for block in rows[item][4] if block[0] == "component")


def find_blocks(row: Any, kind: str) -> list[Any]:
    return [block for block in row["blocks"] if block[0] == kind]


def list_states(row: Any) -> list[list[str]]:
    return [[cell[1] for cell in cells] for cells in row["cells"]]


def test_every_predicted_cell_has_its_state(page: Path) -> None:
    row = read_answer(page, "i1")["predictions"][0]
    assert list_states(row) == [
        ["head"] * 5 + ["unrequested"],
        ["found", "wrong", "right", "partial", "wrong", "unrequested"],
        ["failing"] * 6,
        ["other"] * 6,
    ]
    assert row["cells"][1][1] == [f"Port {EVIL}", "wrong", [0, 0]]
    assert row["cells"][2][1][2] == [3, 0]
    assert row["states"][0] == ["found", "wrong", "right", "partial", "wrong"]
    assert row["states"][1] == ["missing"] * 5
    assert row["states"][2] == ["missing", "missing", "missing", "untold", "missing"]


def test_a_prediction_has_its_scores_failures_and_chain(page: Path) -> None:
    spoilt, _, good = read_answer(page, "i1")["predictions"]
    assert (good["system"], good["traced"]) == ("open · agent", ["predictions", "p-open"])
    assert find_blocks(good, "tags")[0][1] == [["rules detected no failure", "good"]]
    ((_, columns, (released, paper), *_),) = find_blocks(good, "table")
    assert (columns[-1], released[0], paper[0]) == ("F1", "rule of the released code", "rule of the paper")
    assert float(paper[3]) > float(released[1]) / 9 > 0
    (steps,) = [block[-1] for block in find_blocks(good, "fold") if block[1] == "Steps of the agent (3)"]
    assert [(style, who, [text[1] for text in inside]) for _, style, who, inside in steps] == [
        ("step", "1 · main agent", ["Let me see.", f"SubTask(find islands {EVIL})", "Ruvay."]),
        ("step sub", "2 · sub-agent: find islands",
         ["Let me see.", "WikiSearch(islands)", "Ruvay is an island."]),
        ("step sub", "3 · sub-agent: find islands", ["Let me see.", "Found: Ruvay."]),
    ]  # fmt: skip
    told = {text for text, _ in find_blocks(spoilt, "tags")[0][1]}
    assert {"filter ignored", "missing entity", "unrequested relation", "wrong cell"} <= told
    assert not any(text.startswith("chain") for text in told)
    assert find_blocks(spoilt, "calls")[0][2] == ["c1"]


def test_what_has_no_table_says_so(page: Path) -> None:
    silent, failed = read_answer(page, "i2")["predictions"]
    assert (silent["cells"], silent["note"]) == (None, "The reply contains no readable table.")
    assert find_blocks(silent, "table")[0][2][0] == ["rule of the released code", "100.0", "0.0", "0.0"]
    assert ["list", ["proof 7"], "plain mono"] in find_blocks(silent, "fold")[-1][-1]
    assert (failed["cells"], failed["states"], failed["note"]) == (
        None,
        None,
        "No reply: not asked: no room",
    )
    assert not find_blocks(failed, "table") + find_blocks(failed, "tags")


def test_systems_can_be_chosen_between_and_people_are_one(page: Path) -> None:
    shown = read_answer(page, "i1")["predictions"]
    assert [row["system"] for row in shown] == [
        "oracle · agent · 3 random shots, simple",
        "oracle · people",
        "open · agent",
    ]
    assert shown[1]["traced"] == ["human_tables", "p-people"]
    rows = read_data(page / "rows.js")["rows"]
    assert [row[0] for row in rows] == ["i1", "i2"]  # no system answered i3
    assert rows[0][2][:2] == ["simple", ["filter number"]]
    assert "not a table" in rows[1][2][2]
    assert rows[1][7] == ["p-i2", "p-none"]


def test_a_cell_leads_to_its_evidence(page: Path) -> None:
    answer = read_answer(page, "i1")
    values, facts = answer["rows"][1][2][1]
    ((_, article, (tag,), beside, _, is_open, _, (text, whole, _)),) = answer["proofs"][facts[0]]
    assert (values, article, tag) == ("5300", "Skarholm", ["supported", "good"])
    assert (beside, is_open) == ("History · cell (Population)", 1)
    assert text[1:] == ["It has some 5.3 thousand people.", ["5.3 thousand"], "reply", 1]
    assert whole[1] == "Whole row: Skarholm | 5.3 thousand"
    ((_, _, _, beside, _, _, _, (text, _)),) = answer["proofs"]["Ruvay-f"]
    assert (text[2], beside.endswith("revision 7")) == (["Port Ruvay"], True)


def test_no_text_is_markup_and_nothing_is_loaded_from_elsewhere(page: Path) -> None:
    for file in page.iterdir():
        text = file.read_text(encoding="utf-8")
        assert file.suffix == ".csv" or EVIL not in text, file.name
        assert "://" not in text, file.name


def test_tables_are_shown_x100_by_both_rules(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    for key in ("5", "6", "8", "9", "10-section", "10-caption", "15", "16"):
        assert f'id="table-{key}-released"' in html
        assert f'id="table-{key}-paper"' in html
    for key in ("11", "faults"):
        assert f'id="table-{key}"' in html
    first = html[html.index('id="table-5-paper"') :]
    assert "n = 2" in first[: first.index("</details>")]
    assert "With only 2 questions" in html
    assert "no question of this kind" in html


def test_people_have_a_form_for_hallucinations(page: Path) -> None:
    assert 'href="to_label.csv"' in (page / "index.html").read_text(encoding="utf-8")
    form = (page / "to_label.csv").read_text(encoding="utf-8-sig")
    assert "p-i1" in form
    assert "p-none" not in form


@pytest.mark.parametrize("text", ["{", "{}", '{"tables": {"3": {}}}'])
def test_figures_of_another_form_are_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "statistics.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        read_figures(path, EvaluationFigures)


def test_a_turned_table_is_shown_turned() -> None:
    item = make_item()
    row = make_prediction(table=tuple(zip(*PERFECT, strict=True)))
    (score,) = score_all([item], [row], "predictions")
    shown: Any = encode_prediction(TableOutcome(item, row, score))
    assert "transposed" in shown["note"]
    assert [cells[0][0] for cells in shown["cells"]] == ["Entity", "Ruvay", "Skarholm", "Overmere"]
