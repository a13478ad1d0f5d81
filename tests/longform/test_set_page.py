"""Tests of a question set's page: table 1, the rows passed and dropped by each stage, and every question."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.contracts import RESULTS, ContractFinding
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, Dropped, Origin
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.publish.set_page import set_page
from tasks.models.calls import Call
from tasks.reports.site import write_index
from tests.longform.test_page import EVIL, make_call, make_rows, read_data
from tests.reports.figure_folders import place_figures

STATISTICS = {
    "items": 2,
    "by_kind": {
        "conclusive": {"items": 1, "answer_words": 4.0},
        "interpretive": {"items": 1, "answer_words": 6.5},
    },
    "answer_words": 5.25,
    "databases": {"tables": 2.0, "all_tables": 8, "columns_per_table": 2.0, "rows_per_table": 2.5},
    "claims": 1,
    "written_by": {"model": 1, "plain": 1},
}
NO_CONJECTURE = f"no reply named the higher group {EVIL}"


@dataclass(frozen=True)
class Passed:
    """A stage's row from which the page reads only the id and the origin."""

    id: str
    origin: tuple[Origin, ...]


def write_set(folder: Path, **more: Any) -> tuple[Path, Counts]:
    """Write the artifacts of three questions, one of them dropped, and their page."""
    rows = make_rows()
    called = (Origin("call", "c1"),)
    controlled = [replace(rows["control"][0], id=name, origin=called) for name in ("i1", "i2", "i3")]
    passed = [Passed(name, (Origin("row", f"control#{name}"),)) for name in ("i1", "i2", "i3")]
    artifacts: dict[str, tuple[type, list[Any]]] = {
        "control": (ControlledQuestion, controlled),
        "condense": (Passed, passed),
        "confirm": (Passed, [replace(row, origin=(Origin("call", "c2"),)) for row in passed]),
        "conjecture": (Passed, passed[:2]),
        "construct": (SyntheticDatabase, rows["construct"]),
        "conclude": (Conclusion, rows["conclude"]),
        "classify": (Passed, passed[:2]),
        "items": (LongformItem, more.pop("items", rows["items"])),
    }
    dropped = {"conjecture": [Dropped("i3", "no_conjecture", NO_CONJECTURE)]}
    paths = {name: folder / f"{name}.parquet" for name in artifacts}
    for name, (kind, made) in artifacts.items():
        write_rows(paths[name], kind, made)
        if name not in ("conclude", "items"):
            write_rows(folder / f"{name}.dropped.parquet", Dropped, dropped.get(name, []))
    write_rows(folder / "control.calls.parquet", Call, [make_call("c1"), make_call("lost")])
    write_rows(folder / "confirm.calls.parquet", Call, [make_call("c2", "Is it clear?")])
    finding = ContractFinding(
        "items.claims_hold", "items", "claims_hold", "Claims hold.", "held", 2, 0, (), ()
    )
    (folder / "contracts").mkdir()
    write_rows(folder / "contracts" / RESULTS, ContractFinding, [finding])
    (folder / "statistics.json").write_text(json.dumps(STATISTICS), encoding="utf-8")
    out = folder / "reports/longform-sets/lights"
    statistics, contracts = folder / "statistics.json", folder / "contracts"
    return out, set_page(
        **paths,
        contracts=contracts,
        statistics=statistics,
        key="lights",
        out=out,
        **place_figures(out, "metrics"),
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, counts = write_set(tmp_path_factory.mktemp("set"))
    assert counts == Counts(2, 2, {})
    return out


def test_table_1_is_of_the_statistics(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    for label, value in (
        ("mean words per reference answer, interpretive questions", "6.500"),
        ("questions", "2"),
    ):
        line = html[html.index(f'<th scope="row">{label}</th>') :]
        assert f"<strong>{value}</strong>" in line[: line.index("</tr>")]


def test_every_stage_says_what_came_through_and_why_not(page: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    stages = {}
    told = html[html.index('id="yields"') : html.index('id="contracts"')]
    for part in told.split('<th scope="row" class="mono">')[1:]:
        name, _, rest = part.partition("</th>")
        stages[name] = rest[: rest.index("</tr>")]
    assert list(stages) == [
        "control", "condense", "confirm", "conjecture", "construct", "conclude", "classify",
    ]  # fmt: skip
    assert '<td class="n">3</td><td class="n"><strong>2</strong></td>' in stages["conjecture"]
    assert "1 no_conjecture" in stages["conjecture"]
    assert "no reply named the higher group &lt;script&gt;" in stages["conjecture"]
    assert all("none" in text for name, text in stages.items() if name != "conjecture")
    assert '<td class="n">2</td><td class="n">0</td><td class="n">1,882</td>' in stages["control"]


def test_a_question_has_its_calls(page: Path) -> None:
    rows = read_data(page / "rows.js")["rows"]
    assert [row[0] for row in rows] == ["i2", "i1"]  # by database
    calls = [block[2] for row in rows for block in row[4] if block[0] == "calls"]
    assert calls == [["c1", "c2"], ["c1", "c2"]]
    assert set(read_data(page / "calls.js")) == {"c1", "c2"}


def test_questions_that_no_person_has_passed_are_warned_of(page: Path, tmp_path: Path) -> None:
    html = (page / "index.html").read_text(encoding="utf-8")
    assert "2 of 2 questions have not been confirmed by a person" in html
    read = [replace(item, confirmed_by="Anna, Ben") for item in make_rows()["items"]]
    out, _ = write_set(tmp_path, items=read)
    html = (out / "index.html").read_text(encoding="utf-8")
    assert "by a model alone" not in html
    assert "Anna, Ben (2)" in html


def test_no_text_is_markup_and_nothing_is_loaded_from_elsewhere(page: Path) -> None:
    for file in page.iterdir():
        text = file.read_text(encoding="utf-8")
        assert file.suffix == ".json" or EVIL not in text, file.name
        assert "://" not in text, file.name


def test_the_set_has_its_card_on_the_front_page(page: Path) -> None:
    front = page.parents[1] / "index.html"
    write_index([page], front)
    html = front.read_text(encoding="utf-8")
    assert "Long-form question set: lights" in html
    assert 'href="longform-sets/lights/index.html"' in html
