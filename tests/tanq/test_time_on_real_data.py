"""Time skills and years on real data: people's infoboxes that state the age, and a real graph's dates."""

import re
from datetime import datetime

from flows.wikidata_import import import_wikidata, make_selection
from tasks.artifacts.parquet import read_rows
from tasks.sources.wikidata.rows import ClaimRow, ValueRow
from tasks.sources.wikidata.values import Precision
from tasks.sources.wikipedia.pages import read_page
from tasks.tanq.build.mention import find_mention
from tasks.tanq.build.mention_dates import DateEnd
from tasks.tanq.build.skill_choices import list_uses
from tasks.tanq.build.skill_table import BaseRow, BaseTable, apply_skills
from tasks.tanq.build.skill_words import write_question
from tasks.tanq.graph.rows import Fact
from tasks.tanq.graph.showing import show_time
from tests.shared_data import SHARED, needs
from tests.tanq.skill_tables import COLUMNS
from tests.tanq.test_skills import MARGIN, make_tagged

"""Real data, where this machine has it; it is no part of the project."""
pytestmark = [needs("wikidata"), needs("wikitext")]

PEOPLE = {
    "infobox/bob-marley.txt": 36, "infobox/freddie-mercury.txt": 45, "infobox/queen.txt": 96,
    "infobox/yeager.txt": 97, "wikitext/Harry-McPherson.txt": 82,
}  # fmt: skip
"""Pages, and the age at death that each states."""
COLUMN = {"birth_date": "P569", "death_date": "P570"}


def make_dated(name, entity, relation, value):
    return Fact(name, entity, relation, value, show_time(value), (), ())


def read_dates(file):
    """Read the two dates of an infobox as facts, with the text that each stands in."""
    facts = {}
    for part in read_page((SHARED / file).read_text(encoding="utf-8")).parts:
        if part.kind == "infobox" and part.headers[0] in COLUMN:
            text = part.text.partition(" (")[0]
            day = datetime.strptime(text, "%d %B %Y" if text[0].isdigit() else "%B %d, %Y")  # noqa: DTZ007
            value = ValueRow(
                "time",
                year=day.year,
                month=day.month,
                day=day.day,
                precision=Precision.DAY,
                calendar="gregorian",
            )
            relation = COLUMN[part.headers[0]]
            facts[relation] = (
                part.text,
                Fact(f"{file}-{relation}", file, relation, value, show_time(value), (), ()),
            )
    return facts


def make_people():
    dates = {file: read_dates(file) for file in PEOPLE}
    rows = [
        BaseRow(file, file, tuple((dates[file][name][1],) for name in ("P569", "P570"))) for file in PEOPLE
    ]
    return BaseTable((COLUMNS["P569"], COLUMNS["P570"]), tuple(rows)), dates


def test_ages_are_those_that_the_pages_state():
    table, dates = make_people()
    use = list_uses(table, MARGIN, 2)["time_calculation"][0]
    _, rows = apply_skills(table, [use])
    for row in rows:
        stated = re.search(r"aged (\d+)", dates[row.entity]["P570"][0])
        assert row.cells[2].values == (stated[1],) == (str(PEOPLE[row.entity]),)


def test_dates_and_their_years_stand_in_the_pages():
    table, dates = make_people()
    use = list_uses(table, MARGIN, 2)["date_to_year"][0]
    _, rows = apply_skills(table, [use])
    for row in rows:
        text, fact = dates[row.entity]["P569"]
        end = DateEnd(fact.value.year, fact.value.month, fact.value.day, Precision.DAY, "gregorian")
        assert row.cells[0].values[0] in find_mention(text, end)


def test_people_are_filtered_by_the_year_of_birth():
    table, _ = make_people()
    for use in list_uses(table, MARGIN, 2)["filter_time"]:
        _, rows = apply_skills(table, [use])
        left = sum(row.filter_pass for row in rows)
        assert 2 <= left < len(rows)
        text = write_question(make_tagged(table), table, [use], "people")
        said = "born in" if use.relation == "P569" else "who died in"
        assert f"Keep only the people {said} {use.operand}" in text


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
        for use in list_uses(table, MARGIN, 1).get("date_to_year", []):
            (row,) = apply_skills(table, [use])[1]
            assert row.cells[0].values[0].split()[0] == str(abs(claim.value.year))
            assert fact.shown.endswith(row.cells[0].values[0])


def read_claims(folder, file):
    import_wikidata(
        folder, [str(SHARED / "wikidata" / file)], "trial", make_selection(None, None, None, None)
    )
    return read_rows(next(folder.rglob("claims.parquet")), ClaimRow)
