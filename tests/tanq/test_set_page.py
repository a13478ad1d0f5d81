"""Tests of a question set's page: tables 3 and 4, rows passed by each stage, and every cell's evidence."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.contracts import RESULTS, ContractFinding
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, Dropped, Origin
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.models.calls import Call
from tasks.reports.figures_file import read_figures
from tasks.reports.site import write_index
from tasks.tanq.build.skills import SkilledQuestion
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.article_index import ARTICLES, IndexedArticle
from tasks.tanq.publish.set_page import count_bare, list_set_warnings, set_page
from tasks.tanq.tables_set import SetStatistics, tabulate_set
from tests.longform.test_page import EVIL, make_call, read_data
from tests.reports.figure_folders import place_figures
from tests.tanq.scored_items import make_item, make_proof

STAGES = (
    "list_questions",
    "seeds",
    "extend",
    "proofs",
    "candidates",
    "verify",
    "tables",
    "rephrase",
    "skills",
    "items",
)
COUNTED = {"count": 1, "share": 0.25}
STATISTICS: dict[str, Any] = {
    "items": 4,
    "definitions": {"types": "Facts, each once.", "no_skill": "None at all.", "rows": "Rows of the table."},
    "types": {"item": {"count": 9, "share": 0.75}, "quantity": {"count": 3, "share": 0.25}},
    "kinds": {"simple": {"count": 3, "share": 0.75}, "composition": COUNTED},
    "skills": {"no_skill": {"count": 2, "share": 0.5}, "filter_number": COUNTED},
    "skills_per_question": {"0": {"count": 2, "share": 0.5}, "1": {"count": 2, "share": 0.5}},
    "means": {"tokens": 14.25, "rows": 3.0, "columns": None},
    "absent_skills": {"time_calculation": f"none of the 9 tables has two columns of dates {EVIL}"},
}


@dataclass(frozen=True)
class PassedRow:
    """A stage's row from which the page reads only the id and the origin."""

    id: str
    origin: tuple[Origin, ...]


def make_items() -> list[TanqItem]:
    proofs = (make_proof("Ruvay", "P36", "Port Ruvay", f"{EVIL} Port Ruvay is its seat."),)
    return [
        make_item("i1", filtered=True, proofs=proofs),
        make_item("i2", kind="composition", question=EVIL, proofs=()),
    ]


def make_canary(name: str, agreed: bool | None) -> CanaryRow:
    return CanaryRow(name, "label", "supported", "supported", "", agreed, "", "", False, ())


def write_set(folder: Path) -> tuple[Path, Counts]:
    items = make_items()
    skilled = [
        SkilledQuestion("i1", "q1", "", (), (), (), ()),
        SkilledQuestion("i2", "q2", "", (), (), (), ()),
    ]
    called = {"rephrase": ("q1", "c1"), "verify": ("Ruvay-P36-Port Ruvay", "c2")}
    paths = {name: folder / f"{name}.parquet" for name in STAGES}
    for name, path in paths.items():
        row, call = called.get(name, ("x", "lost"))
        write_rows(path, PassedRow, [PassedRow(row, (Origin("call", call),))])
    write_rows(paths["skills"], SkilledQuestion, skilled)
    write_rows(paths["items"], TanqItem, items)
    dropped = [Dropped(f"d{n}", "no_mention", f"nothing of {n} {EVIL}") for n in range(60)]
    write_rows(folder / "proofs.dropped.parquet", Dropped, dropped)
    open_ = [Dropped("o", "incomplete", "P57 of Q304: unknown value (films.json, line 9): Which films?")]
    write_rows(folder / "list_questions.dropped.parquet", Dropped, open_)
    write_rows(folder / "verify.calls.parquet", Call, [make_call("c2"), make_call("lost")])
    write_rows(folder / "rephrase.calls.parquet", Call, [make_call("c1")])
    canaries = folder / "verify_canaries.parquet"
    write_rows(canaries, CanaryRow, [make_canary("a", True), make_canary("b", False), make_canary("c", None)])
    finding = ContractFinding("items.cells", "items", "cells", "Cells hold.", "held", 2, 0, (), ())
    (folder / "contracts").mkdir()
    write_rows(folder / "contracts" / RESULTS, ContractFinding, [finding])
    statistics, out = folder / "statistics.json", folder / "reports/tanq-sets/isles"
    statistics.write_text(json.dumps(STATISTICS), encoding="utf-8")
    (folder / "articles").mkdir()
    titles = sorted({proof.article for item in items for proof in item.proofs})
    sources = [IndexedArticle(title, 7, 0, 1, (), "CC BY-SA 4.0", f"its authors {EVIL}") for title in titles]
    write_rows(folder / "articles" / ARTICLES, IndexedArticle, sources)
    more = {
        "verify_canaries": canaries, "contracts": folder / "contracts", "statistics": statistics,
        "articles": folder / "articles",
    }  # fmt: skip
    return out, set_page(**paths, **more, key="isles", out=out, **place_figures(out, "metrics"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, counts = write_set(tmp_path_factory.mktemp("set"))
    assert counts == Counts(2, 2, {})
    return out


def test_tables_3_and_4_are_of_the_statistics(tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    path.write_text(json.dumps(STATISTICS))
    tables = tabulate_set(read_figures(path, SetStatistics))
    lines = [line for table in tables.values() for line in table.lines]
    cells = {line.label: tuple(cell.value for cell in line.cells) for line in lines}
    assert cells == {
        ("item",): (9, 0.75), ("numeric",): (3, 0.25),
        ("kind", "simple"): (3, 0.75), ("kind", "composition"): (1, 0.25),
        ("skill", "no skill"): (2, 0.5), ("skill", "filter number"): (1, 0.25),
        ("skills per question", "no skill"): (2, 0.5), ("skills per question", "one skill"): (2, 0.5),
    }  # fmt: skip
    assert {cell.n for line in tables["3"].lines for cell in line.cells} == {12}
    said = "No question has the skill “time calculation”: none of the 9 tables"
    assert tables["4"].notes[-1].startswith(said)


@pytest.mark.parametrize("text", ["{", "{}", json.dumps({**STATISTICS, "kinds": {"simple": 3}})])
def test_statistics_of_another_form_are_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "statistics.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        read_figures(path, SetStatistics)


def test_the_page_has_tables_means_and_yields(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    assert "<strong>75.0</strong>" in html
    assert "<dt>Tokens, mean</dt><dd>14.2.</dd>" in html
    assert "<dd>3.0. Rows of the table.</dd>" in html
    assert "60 no_mention" in html
    assert "and 10 more" in html
    yields = html[html.index('id="yields"') : html.index('id="contracts"')]
    assert yields.count('<th scope="row" class="mono">') == len(STAGES)
    assert "1 of 1 contracts hold" in html
    assert "1 of 2 correct" in html
    assert "CC BY-SA 4.0: its authors" in html
    assert EVIL not in html


def test_a_question_has_its_answer_its_evidence_and_its_calls(page: Path) -> None:
    data = read_data(page / "rows.js")
    assert [row[0] for row in data["rows"]] == ["i2", "i1"]  # by kind
    called = {row[0]: next(block[2] for block in row[4] if block[0] == "calls") for row in data["rows"]}
    assert called == {"i1": ["c1", "c2"], "i2": []}
    shown = next(block[2] for block in data["rows"][1][4] if block[0] == "component")
    assert [row[:2] for row in shown["rows"]] == [
        ["Ruvay", True], ["Skarholm", True], ["Overmere", True], ["Tarn", False],
    ]  # fmt: skip
    ((*_, (text, _)),) = shown["proofs"]["Ruvay-f"]
    assert text[:3] == ["marked", f"{EVIL} Port Ruvay is its seat.", ["Port Ruvay"]]
    assert set(read_data(page / "calls.js")) == {"c1", "c2"}


def test_no_text_is_markup_and_nothing_is_loaded_from_elsewhere(page: Path) -> None:
    for file in page.iterdir():
        text = file.read_text(encoding="utf-8")
        assert file.suffix in (".csv", ".json") or EVIL not in text, file.name
        assert "://" not in text, file.name


def test_people_have_a_form_to_answer(page: Path) -> None:
    assert 'href="to_answer.csv"' in (page / "index.html").read_text(encoding="utf-8")
    form = (page / "to_answer.csv").read_text(encoding="utf-8-sig")
    assert "Port Ruvay is its seat." in form
    assert "entity|capital" not in form


def test_few_questions_bare_cells_and_a_poor_verifier_are_warned_of() -> None:
    item = make_items()[0]
    assert count_bare(item) == 11  # the cells of the other three islands, except one empty cell
    few, bare, poor = list_set_warnings([item], [make_canary("a", False), make_canary("b", None)])
    assert few.startswith("With only 1 question,")
    assert bare == "Filled cells without a proof: 11."
    assert "0 of 1 test cases" in poor
    whole = replace(item, rows=item.rows[:1])
    assert list_set_warnings([whole] * 30, [make_canary("a", True)]) == []


def test_the_set_has_its_card_on_the_front_page(page: Path) -> None:
    front = page.parents[1] / "index.html"
    write_index([page], front)
    assert 'href="tanq-sets/isles/index.html"' in front.read_text(encoding="utf-8")
