"""Tests that contracts detect and name planted errors in a company, with real Great Expectations."""

import asyncio
import dataclasses
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.contracts import read_findings
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.artifacts.rows import Dropped, Origin, schema_of
from tasks.errors import ContractBroken
from tasks.grammar.company.contracts import ROWS, contracts
from tasks.grammar.company.reports import reports
from tasks.grammar.company.settings import ReportSettings
from tasks.models.calls import Call
from tests.grammar.company.scenes import SMALL, Script, make_scene
from tests.grammar.sample import make_call
from tests.grammar.scripted import ScriptedAsk

ENTRY = SMALL.model_copy(update={"reports": ReportSettings(words=(10, 900))})
PARTS = ("profile", "employees", "clients", "projects")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The artifacts of a company with documents, as the stages write them."""
    folder = tmp_path_factory.mktemp("data") / "trial"
    scene = make_scene(ENTRY)
    told = asyncio.run(
        reports(**{part: scene.parts[part] for part in PARTS}, entry=ENTRY, ask=ScriptedAsk(Script()))
    )
    rows = {**scene.parts, "documents": told.rows}
    dropped = {**scene.dropped, "documents": told.dropped}
    for stem, row in ROWS.items():
        write_rows(folder / f"{stem}.parquet", row, rows[stem])
        write_rows(folder / f"{stem}.dropped.parquet", Dropped, dropped[stem])
        ids = {origin.reference for row in rows[stem] for origin in row.origin if origin.kind == "call"}
        calls = [dataclasses.replace(make_call(stem, "row", "text"), id=row_id) for row_id in sorted(ids)]
        write_rows(folder / f"{stem}.calls.parquet", Call, calls)
    return folder


@pytest.fixture
def company(made, tmp_path) -> Path:
    """A copy for planting errors."""
    return Path(shutil.copytree(made, tmp_path / "trial"))


def check(folder: Path) -> None:
    paths = {stem: folder / f"{stem}.parquet" for stem in ROWS}
    contracts(**paths, entry=ENTRY, out=folder / "contracts")


def find_broken(folder: Path) -> dict[str, tuple[str, ...]]:
    """Run the stage; return the violated contracts with the rows that they name."""
    with pytest.raises(ContractBroken) as caught:
        check(folder)
    assert "\n" not in str(caught.value)
    found = {
        finding.id: finding for finding in read_findings(folder / "contracts") if finding.state == "broken"
    }
    assert any(finding.ids[0] in str(caught.value) for finding in found.values())
    return {name: finding.ids for name, finding in found.items()}


def plant(folder: Path, stem: str, change) -> str:
    """Change an artifact's last row in its file, and return the row's id; every cell may be NULL."""
    path = folder / f"{stem}.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[-1].update(change(rows[-1]))
    loose = pa.schema([field.with_nullable(True) for field in schema_of(ROWS[stem])])
    pq.write_table(pa.Table.from_pylist(rows, schema=loose), path)
    return rows[-1]["id"]


def lose(folder: Path, stem: str, row: str) -> None:
    """Remove a row from an artifact without recording the removal."""
    path = folder / f"{stem}.parquet"
    kept = [other for other in read_rows(path, ROWS[stem]) if other.id != row]
    write_rows(path, ROWS[stem], kept)


def test_what_the_steps_write_holds(company):
    check(company)
    findings = read_findings(company / "contracts")
    assert {finding.state for finding in findings} == {"held"}
    checked = {finding.id: finding.checked for finding in findings}
    assert checked["documents.facts_told"] == checked["documents.planned"] == 5 + 1 + 3
    assert checked["projects.fits"] == 5
    assert checked["organisation.held"] == 7
    assert (company / "contracts/index.html").is_file()


@pytest.mark.parametrize(
    ("part", "change", "fault"),
    [
        ("projects", {"client": 99}, "client that does not exist"),
        ("projects", {"manager": 99}, "team members who are not employees"),
        ("projects", {"end": "2001-01-01"}, "ends before it starts"),
        ("projects", {"start": "2001-01-01"}, "team members who were hired after its start"),
        ("projects", {"budget": 0}, "not positive"),
        ("projects", {"service": "Magic"}, "a service that the company does not offer"),
        ("employees", {"supervisor": 99}, "supervisor who does not exist"),
        ("employees", {"supervisor": None}, "2 employees have no supervisor"),
        ("employees", {"department": "Elsewhere"}, "supervisor from another department"),
        ("employees", {"leads": True}, "has 2 heads"),
        ("employees", {"title": "Eterity Ertity"}, "is not an English word"),
        ("employees", {"title": "Chief Quality Officer"}, "is a job title for the head of a department"),
        ("projects", {"director": 1}, "of Management, who may not direct projects of this service"),
    ],
)
def test_a_row_that_contradicts_the_company_is_named(company, part, change, fault):
    row = plant(company, part, lambda _: change)
    assert row in find_broken(company)[f"{part}.fits"]
    (finding,) = [finding for finding in read_findings(company / "contracts") if finding.id == f"{part}.fits"]
    assert fault in " ".join(finding.details)


@pytest.mark.parametrize(("part", "kind"), [("projects", "project"), ("clients", "company")])
def test_two_of_one_name_are_both_named_in_whatever_case(company, part, kind):
    others = read_rows(company / f"{part}.parquet", ROWS[part])[:-1]
    row = plant(company, part, lambda _: {"name": others[0].name.upper()})
    assert set(find_broken(company)[f"{part}.fits"]) == {others[0].id, row}
    (finding,) = [finding for finding in read_findings(company / "contracts") if finding.id == f"{part}.fits"]
    assert f"is the name of more than one {kind}" in finding.details[0]


def test_a_document_that_lost_a_fact_and_one_with_a_bracket_are_named(company):
    row = plant(company, "documents", lambda row: {"text": row["text"].split("\n\n")[0] + " [sic]"})
    broken = find_broken(company)
    assert broken == dict.fromkeys(
        ["documents.facts_told", "documents.no_bracket_left", "documents.writers"], (row,)
    )


@pytest.mark.parametrize(
    ("sentence", "contract"),
    [
        ("The project has the eterity ertity ertity.", "no_broken_word"),
        ("The manager is {other}.", "no_contradiction"),
        ("The budget is 17 euros.", "no_contradiction"),
    ],
)
def test_a_broken_and_a_false_sentence_of_a_document_are_named(company, sentence, contract):
    people = read_rows(company / "employees.parquet", ROWS["employees"])

    def add(row):
        other = next(person.name for person in people if person.name not in row["text"])
        text = sentence.format(other=other)
        last = row["sentences"][-1]
        return {
            "text": f"{row['text']} {text}",
            "sentences": [*row["sentences"], {**last, "text": text}],
        }

    row = plant(company, "documents", add)
    assert find_broken(company) == {f"documents.{contract}": (row,)}


def test_a_document_of_another_company_is_named(company):
    other = "0123456789abcdef"
    gone = plant(company, "documents", lambda _: {"id": other})
    assert gone == other
    broken = find_broken(company)
    assert broken["documents.planned"] == (other,)
    assert "profile.documents_exist" in broken


def test_what_is_lost_without_a_word_is_named(company):
    document = read_rows(company / "documents.parquet", ROWS["documents"])[0]
    lose(company, "documents", document.id)
    broken = find_broken(company)
    assert set(broken) == {"profile.documents_exist"}
    (finding,) = [finding for finding in read_findings(company / "contracts") if finding.state == "broken"]
    assert finding.details == (f"1 planned documents are missing: {document.title}",)


def test_a_position_that_nobody_holds_is_named_unless_it_was_dropped(company):
    path = company / "employees.parquet"
    staffed = {row.director for row in read_rows(company / "projects.parquet", ROWS["projects"])}
    last = max(read_rows(path, ROWS["employees"]), key=lambda row: row.number)
    assert last.number not in staffed
    lose(company, "employees", last.id)
    position = last.origin[0].reference.partition("#")[2]
    assert find_broken(company)["organisation.held"] == (position,)
    told = Dropped(position, "no_name", "", (Origin("row", f"organisation#{position}"),))
    write_rows(company / "employees.dropped.parquet", Dropped, [told])
    assert "organisation.held" not in find_broken(company)


def test_a_missing_cell_is_named_by_itself(company):
    row = plant(company, "employees", lambda _: {"name": None})
    assert find_broken(company) == {"employees.no_nulls": (row,)}


def test_a_row_that_comes_from_nowhere_is_named(company):
    row = plant(company, "clients", lambda row: {"origin": [{"kind": "row", "reference": "profile#0"}]})
    assert find_broken(company)["clients.origins"] == (row,)
