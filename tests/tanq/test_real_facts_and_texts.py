"""Tests of facts supported by real texts: Wikidata's excerpt by OTT-QA's passages, people's dates by pages.

Eleven of the excerpt's entities have a passage, and none has a page of `wikitext` or `infobox`. These pages
therefore support dates of their own people, in Wikidata's format.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.importing import bring_in
from tasks.sources.importers.wikidata import Wikidata
from tasks.sources.importers.wikipedia import Wikipedia
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.proofs import Proof, Proofs, proofs
from tasks.tanq.build.skill_choices import list_uses
from tasks.tanq.build.skill_table import BaseRow, BaseTable, apply_skills
from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.skills import make_base, make_graph
from tasks.tanq.build.tables import AnswerTable, Tables, tables
from tasks.tanq.build.verify import ProofVerdict, Verify, verify
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.articles import articles
from tasks.tanq.graph.facts import Fact, facts
from tasks.tanq.graph.relations import Relation, relations
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.things import Thing, things
from tasks.tanq.labels import Support
from tests.shared_data import SHARED, needs
from tests.sources.wikidata.scenes import entity, statement, time, write_dump
from tests.tanq.test_skills import MARGIN
from tests.tanq.test_verify import ScriptedReader

EXCERPT = SHARED / "wikidata/sample_wikidata_items.json.bz2"


@dataclass(frozen=True)
class Built:
    """The results of steps 1 to 3 for a graph and articles, with one question about all facts."""

    things: Sequence[Thing]
    relations: Sequence[Relation]
    facts: Mapping[str, Fact]
    proofs: Mapping[str, Proof]
    verdicts: Sequence[ProofVerdict]
    table: AnswerTable
    asked: Sequence[str]

    def list_borne_out(self) -> dict[tuple[str, str, str], str]:
        """Return supported facts: (label, relation, value) -> the words that mention the value."""
        labels = {thing.id: thing.label for thing in self.things}
        own = [
            (self.facts[verdict.fact], self.proofs[verdict.id])
            for verdict in self.verdicts
            if verdict.label == Support.SUPPORTED
        ]
        return {
            (labels[fact.entity], fact.relation, fact.shown): f"{proof.article}: {proof.mention}"
            for fact, proof in own
        }

    def make_base(self) -> BaseTable:
        return make_base(self.table, make_graph(self.facts.values(), self.relations, self.things))


def build(folder: Path, dump: Path, texts: Path, asked: Sequence[str], says_yes: Sequence[str] = ()) -> Built:
    """Run steps 1 to 3; the reader accepts only texts that contain one of `says_yes`."""
    bring_in(folder, Wikidata(places=[str(dump)], called="graph"))
    bring_in(folder, Wikipedia(path=str(texts), called="texts"))
    graph, pages = folder / "data/raw/wikidata/graph", folder / "data/raw/wikipedia/texts"
    entry = GraphSource(graph=graph, articles=pages, seeds=graph, relations=dict.fromkeys(asked))
    all_facts = facts(entry).rows
    own_things, own_relations = things(all_facts, entry).rows, relations(all_facts, entry).rows
    articles(own_things, entry, folder / "articles")
    wanted = [fact for fact in all_facts if fact.relation in asked]
    entities = tuple(sorted({fact.entity for fact in wanted}))
    question = ExtendedQuestion("q", "s", "Q?", tuple(asked), entities, tuple(fact.id for fact in wanted), ())
    found = proofs([question], wanted, own_things, own_relations, folder / "articles", Proofs(rounding=0.02))
    ask = ScriptedReader(lambda text: "Yes" if any(asked_text in text for asked_text in says_yes) else "No")
    verdicts = asyncio.run(
        verify(found.rows, [question], wanted, own_things, own_relations, Verify(rules=True), ask)
    ).rows
    seed = SeedQuestion("s", "simple", "", "Which things?", "things", "", (), (), (), "graph", ())
    (table,) = tables(
        [question], [seed], verdicts, wanted, own_things, own_relations, Tables(most_values=9)
    ).rows
    return Built(
        own_things, own_relations, {fact.id: fact for fact in wanted},
        {proof.id: proof for proof in found.rows}, verdicts, table, ask.asked,
    )  # fmt: skip


READ = ("place in 1048", "approximately 9,600,000 square", "At 8.5 million square", "At 513,120 km2")
"""Parts of manually checked texts that state the fact."""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    merged = {}
    for file in sorted((SHARED / "ottqa/passages").iterdir()):
        merged |= json.loads(file.read_bytes())
    (folder / "passages.json").write_text(json.dumps(merged), encoding="utf-8")
    return build(folder, EXCERPT, folder / "passages.json", ["P17", "P47", "P571", "P1082", "P2046"], READ)


@needs("wikidata")
@needs("ottqa")
def test_places_of_the_excerpt_are_borne_out_by_their_passages(places):
    assert places.list_borne_out() == {
        ("Oslo", "P571", "1048"): "Oslo: 1048",
        ("People's Republic of China", "P2046", "9596961"): "China: 9,600,000 square kilometers",
        ("Brazil", "P2046", "8515767"): "Brazil: 8.5 million square kilometers",
        ("Thailand", "P2046", "513119.5"): "Thailand: 513,120 km2",
        ("Germany", "P1082", "82521653"): "Germany: 83 million",
        ("Lille", "P1082", "232741"): "Lille: 232,741",
        ("Germany", "P47", "Belgium"): "Germany: Belgium",
        ("Belgium", "P47", "Germany"): "Belgium: Germany",
        ("Laos", "P47", "Thailand"): "Thailand: Laos",
        ("Thailand", "P47", "Laos"): "Thailand: Laos",
    }
    # Texts without a word for founding are not sent to the reader: Chile's `independence from Spain in 1818`.
    assert {(request.split("Statement: ")[1].split("\n")[0]) for request in places.asked} == {
        "Oslo was founded in 1048.",
        "The area of the People's Republic of China is 9,596,961 square kilometres.",
        "The area of Brazil is 8,515,767 square kilometres.",
        "The area of Thailand is 513,119.5 square kilometres.",
    }


@needs("wikidata")
def test_of_real_statements_the_best_rank_stands_with_its_qualifiers(tmp_path):
    bring_in(tmp_path, Wikidata(places=[str(EXCERPT)], called="graph"))
    graph = tmp_path / "data/raw/wikidata/graph"
    entry = GraphSource(graph=graph, articles=graph, seeds=graph, relations=dict.fromkeys(["P17", "P1082"]))
    drafts = facts(entry)
    (people,) = (fact for fact in drafts.rows if (fact.entity, fact.relation) == ("Q31", "P1082"))
    assert (people.shown, people.value.unit) == ("11150516", None)
    assert [(qualifier.property, qualifier.value.year) for qualifier in people.qualifiers] == [("P585", 2014)]
    deprecated = {drop.detail for drop in drafts.dropped if drop.reason == "deprecated"}
    assert deprecated == {"P1082 of Q1711", "P17 of Q2119"}


def narrow(base: BaseTable, *names: str) -> BaseTable:
    """Return a table with the named columns, and the rows that have a value in one of these columns."""
    places = [base.find(name) for name in names]
    rows = [BaseRow(row.entity, row.label, tuple(row.cells[place] for place in places)) for row in base.rows]
    return BaseTable(
        tuple(base.columns[place] for place in places), tuple(row for row in rows if any(row.cells))
    )


def read_cells(base: BaseTable, use: SkillUse, column: int) -> dict[str, tuple[str, ...]]:
    return {row.label: row.cells[column].values for row in apply_skills(base, [use])[1]}


@needs("wikidata")
@needs("ottqa")
def test_areas_in_square_miles_are_those_that_the_passages_give_beside(places):
    base = narrow(places.make_base(), "P2046")
    (use,) = list_uses(base, MARGIN, 2)["conversion"]
    converted = read_cells(base, use, 0)
    assert converted == {
        "People's Republic of China": ("3705407",), "Brazil": ("3287956",), "Thailand": ("198117",),
    }  # fmt: skip
    for proof in places.proofs.values():
        beside = re.search(r"\( ([\d.,]+)( million)? (?:square miles|sq mi) \)", proof.text)
        if beside and places.facts[proof.fact].relation == "P2046":
            label = next(thing.label for thing in places.things if thing.article == proof.article)
            told = float(beside[1].replace(",", "")) * (1e6 if beside[2] else 1)
            own = float(converted.pop(label)[0])
            assert own == pytest.approx(told, rel=0.03), proof.text
    assert converted == {}


PEOPLE = {
    "Bob Marley": ("infobox/bob-marley.txt", "1945-02-06", "1981-05-11", "36"),
    "Elizabeth II": ("infobox/queen.txt", "1926-04-21", "2022-09-08", "96"),
    "Freddie Mercury": ("infobox/freddie-mercury.txt", "1946-09-05", "1991-11-24", "45"),
    "Chuck Yeager": ("infobox/yeager.txt", "1923-02-13", "2020-12-07", "97"),
    "Harry McPherson": ("wikitext/Harry-McPherson.txt", "1929-08-22", "2012-02-16", "82"),
}
"""Name -> page, birth, death, and the age on the page."""


def build_people(folder: Path, births: Mapping[str, str]) -> Built:
    made = []
    (folder / "pages").mkdir()
    for number, (name, (file, _, death, _)) in enumerate(PEOPLE.items(), 1):
        (folder / "pages" / f"{name}.txt").write_bytes((SHARED / file).read_bytes())
        dates = {"P569": births[name], "P570": death}
        own = [statement(time(key, f"+{day}T00:00:00Z"), 0, f"Q{number}") for key, day in dates.items()]
        sites = {"enwiki": {"site": "enwiki", "title": name, "badges": []}}
        made.append(entity(f"Q{number}", *own, label=name, sitelinks=sites))
    return build(folder, write_dump(folder / "dump.json", *made), folder / "pages", ["P569", "P570"])


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return build_people(
        tmp_path_factory.mktemp("people"), {name: listed_facts[1] for name, listed_facts in PEOPLE.items()}
    )


@needs("wikitext")
@needs("infobox")
def test_dates_of_people_are_borne_out_by_their_boxes_and_their_ages_stand_there(people):
    by_rule = [
        verdict for verdict in people.verdicts if (verdict.label, verdict.by) == (Support.SUPPORTED, "rule")
    ]
    assert len(by_rule) == 2 * len(PEOPLE)
    assert {people.proofs[proof.id].headers[0] for proof in by_rule} == {"birth_date", "death_date"}
    assert people.table.unsupported == 0
    base = people.make_base()
    found = list_uses(base, MARGIN, 2)
    (ages,) = found["time_calculation"]
    assert read_cells(base, ages, 2) == {name: (age,) for name, (_, _, _, age) in PEOPLE.items()}
    for listed_proof in by_rule:
        if people.facts[listed_proof.fact].relation == "P570":
            proof = people.proofs[listed_proof.id]
            assert f"(aged {PEOPLE[proof.article][3]})" in proof.text
    births = next(use for use in found["date_to_year"] if use.relation == "P569")
    assert read_cells(base, births, 0) == {
        name: (listed_facts[1][:4],) for name, listed_facts in PEOPLE.items()
    }
    bounds = {use.operator: use for use in found["filter_time"] if use.relation == "P570"}
    for operator, use in bounds.items():
        passing = {row.label for row in apply_skills(base, [use])[1] if row.filter_pass}
        late = {name for name, listed_facts in PEOPLE.items() if int(listed_facts[2][:4]) >= int(use.operand)}
        early = {
            name for name, listed_facts in PEOPLE.items() if int(listed_facts[2][:4]) <= int(use.operand)
        }
        assert passing == (late if operator == ">=" else early)
    assert bounds


@needs("wikitext")
@needs("infobox")
def test_a_date_that_no_page_gives_is_left_out_with_what_is_made_of_it(tmp_path):
    wrong = {name: listed_facts[1] for name, listed_facts in PEOPLE.items()} | {"Bob Marley": "1945-02-07"}
    built = build_people(tmp_path, wrong)
    assert ("Bob Marley", "P569", "7 February 1945") not in built.list_borne_out()
    assert len(built.list_borne_out()) == 2 * len(PEOPLE) - 1
    assert built.table.unsupported == 1
    base = built.make_base()
    (ages,) = list_uses(base, MARGIN, 2)["time_calculation"]
    expected = {name: (age,) for name, (_, _, _, age) in PEOPLE.items()}
    assert read_cells(base, ages, 2) == expected | {"Bob Marley": ()}
