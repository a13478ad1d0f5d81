"""Tests of time skills on a real graph's dates; dates supported by texts: `test_real_facts_and_texts`."""

from flows.importing import bring_in
from tasks.artifacts.parquet import read_rows
from tasks.sources.importers.wikidata import Wikidata
from tasks.sources.wikidata.rows import ClaimRow
from tasks.sources.wikidata.values import Precision
from tasks.tanq.build.skill_choices import list_uses
from tasks.tanq.build.skill_table import BaseRow, BaseTable, apply_skills
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.showing import show_time
from tests.shared_data import SHARED, needs
from tests.tanq.skill_tables import COLUMNS
from tests.tanq.test_skills import MARGIN

"""Real data on this machine, if present; they are not part of the project."""
pytestmark = needs("wikidata")


def make_dated(name, entity, relation, value):
    return Fact(name, entity, relation, value, show_time(value), (), ())


def test_the_dates_of_a_real_graph_become_years_and_an_age(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claims = read_claims(tmp_path, "wdtk_wbgetentities-Douglas-Adams.json")
    born, died = (next(claim for claim in claims if claim.property == name) for name in ("P569", "P570"))
    facts = [
        Fact(claim.id, claim.entity, claim.property, claim.value, show_time(claim.value), (), ())
        for claim in (born, died)
    ]
    table = BaseTable(
        (COLUMNS["P569"], COLUMNS["P570"]), (BaseRow("Q42", "Douglas Adams", ((facts[0],), (facts[1],))),)
    )
    found = list_uses(table, MARGIN, 1)
    uses = [found["date_to_year"][0], found["time_calculation"][0]]
    (row,) = apply_skills(table, uses)[1]
    # born on 11 March 1952, died on 11 May 2001
    assert [cell.values for cell in row.cells] == [("1952",), ("11 May 2001",), ("49",)]


def test_every_date_of_a_real_dump_that_has_a_year_becomes_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claims = read_claims(tmp_path, "sample_wikidata_items.json.bz2")
    dates = [
        claim for claim in claims if claim.property == "P571" and claim.value.precision >= Precision.YEAR
    ]
    assert len(dates) > 30
    for claim in dates:
        fact = make_dated(claim.id, claim.entity, "P571", claim.value)
        table = BaseTable((COLUMNS["P571"],), (BaseRow(claim.entity, claim.entity, ((fact,),)),))
        uses = list_uses(table, MARGIN, 1).get("date_to_year", [])
        assert len(uses) == (claim.value.precision > Precision.YEAR)
        for use in uses:
            (row,) = apply_skills(table, [use])[1]
            assert row.cells[0].values[0].split()[0] == str(abs(claim.value.year))
            assert fact.shown.endswith(row.cells[0].values[0])


def read_claims(folder, file):
    bring_in(folder, Wikidata(places=[str(SHARED / "wikidata" / file)]))
    return read_rows(next(folder.rglob("claims.parquet")), ClaimRow)
