"""Tests of the documents that state the facts for an answer, by the rows that they were made from."""

import asyncio
from dataclasses import dataclass

import pytest

from tasks.artifacts.rows import Dropped
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.free_reading import read_free
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.schema import schema as read_schema
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.answer_facts import AnswerFactsParams, answer_facts
from tasks.grammar.corpus.documents import UNREAD, Documents, documents
from tasks.grammar.corpus.entity_tables import make_fact_id, open_entity_table
from tasks.grammar.corpus.profiles import Profiles, profiles
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import suffices
from tests.grammar.assess.planted import CHOIR, HALL, OWNER, SCENES, make_dataset
from tests.grammar.world import ask_nobody

TOWN_OF_HALL = Query(("halls.town",), (), ("halls.name",))
TOWN_OF_CONCERT = Query(("halls.town",), HALL, ("concerts.title",))
CONCERTS_OF_CHOIR = Query(("concerts.title",), CHOIR, ("choirs.name",), "list")
VESSELS_OF_TOWN = Query(("tbl_Vessel.VesselNo",), OWNER, ("Owners.Town",), "count")
HALLS_OF_CHOIR = Query(("halls.hall_id",), tuple(sorted((*HALL, *CHOIR))), ("choirs.name",), "count")
DEAREST = Query(("concerts.title",), CHOIR, ("choirs.name",), "most", "concerts.price")


@dataclass
class Corpus:
    """A database with all its documents."""

    name: str
    folder: object

    def __post_init__(self):
        scene = SCENES[self.name]
        self.entry = DatabaseEntry(name=self.name, file=scene.make(self.folder / "database.sqlite"))
        self.columns = list(read_schema([], [], self.entry).rows)
        tables = {self.name: scene.entities}
        self.profiles = list(
            profiles([], [], self.columns, self.entry, {}, Profiles(entities=tables, values=20)).rows
        )
        plain = Documents(written_by="plain", words=(1, 400), readable=0.0)
        self.documents = list(
            asyncio.run(documents(self.profiles, self.columns, self.entry, plain, ask_nobody)).rows
        )
        self.title = {document.id: document.title for document in self.documents}
        self.text = {document.id: document.text for document in self.documents}

    def find(self, query, value, dropped=()):
        """Find the facts of the group with the given value, and its answer."""
        template = SqlTemplate(
            query.id, write_template(query), query.tables, query.projection, query.placeholders, 1, ()
        )
        params = FillIn(every_value_matters=False)
        groups = list(fill_in([template], self.columns, self.entry, params).rows)
        (group,) = (group for group in groups if group.fillings[0].value == value)
        asked = AskedQuestion(
            "q", group.id, "short", "?", group.answer, template.id, "x", True, False, None, ()
        )
        (facts,) = answer_facts(
            self.profiles, self.documents, list(dropped), [asked], groups, [template], self.columns,
            self.entry, AnswerFactsParams(),
        ).rows  # fmt: skip
        return group.answer, facts

    def list_alone(self, facts):
        """List the documents that state all facts alone."""
        return {name for name in self.title if suffices(facts, {name})}


@pytest.fixture(scope="module")
def concerts(tmp_path_factory):
    return Corpus("overlapping", tmp_path_factory.mktemp("concerts"))


def name_first(concerts, table):
    return next(profile.name for profile in concerts.profiles if profile.table == table)


def test_a_fact_of_a_thing_stands_in_the_documents_of_what_refers_to_it(concerts):
    hall = name_first(concerts, "halls")
    town, facts = concerts.find(TOWN_OF_HALL, hall)
    alone = concerts.list_alone(facts)
    holding = {name for name, text in concerts.text.items() if hall in f"{concerts.title[name]} {text}"}
    assert alone == holding
    assert len(alone) == 1 + 6, "its own, and those of its six concerts"
    assert all(town in concerts.text[name] for name in alone)


def test_a_document_that_lost_the_fact_does_not_state_it(concerts):
    hall = name_first(concerts, "halls")
    _, facts = concerts.find(TOWN_OF_HALL, hall)
    (own,) = (name for name in concerts.list_alone(facts) if concerts.title[name] == hall)
    table = open_entity_table("overlapping", "halls", concerts.columns)
    (town,) = (attribute for attribute in table.attributes if attribute.column == "halls.town")
    gone = Dropped(make_fact_id(own, town), UNREAD, "town", ())
    _, fewer = concerts.find(TOWN_OF_HALL, hall, [gone])
    assert concerts.list_alone(facts) - concerts.list_alone(fewer) == {own}


def test_two_documents_go_together_by_the_name_of_one_thing(concerts):
    title = name_first(concerts, "concerts")
    _, facts = concerts.find(TOWN_OF_CONCERT, title)
    (own,) = (name for name, found in concerts.title.items() if found == title)
    assert concerts.list_alone(facts) == {own}
    others = set(concerts.title) - {own}
    assert not suffices(facts, others), "no other document says in which hall this concert is"


def test_a_list_needs_each_of_its_things_and_a_number_each_that_it_counts(concerts):
    choir = name_first(concerts, "choirs")
    answer, facts = concerts.find(CONCERTS_OF_CHOIR, choir)
    own = {name for name, title in concerts.title.items() if title in answer.split("; ")}
    assert suffices(facts, own)
    assert not any(suffices(facts, own - {name}) for name in own)
    number, counted = concerts.find(HALLS_OF_CHOIR, choir)
    assert int(number) < len(own), "two concerts in one hall count once"
    assert suffices(counted, own)
    least = {text.split(" Hall")[0].split()[-1]: name for name, text in concerts.text.items() if name in own}
    assert len(least) == int(number)
    assert suffices(counted, set(least.values()))
    assert not any(suffices(counted, set(least.values()) - {name}) for name in least.values())


def test_the_greatest_needs_all_that_it_is_the_greatest_of(concerts):
    choir = name_first(concerts, "choirs")
    answer, facts = concerts.find(DEAREST, choir)
    listed, _ = concerts.find(CONCERTS_OF_CHOIR, choir)
    own = {name for name, title in concerts.title.items() if title in listed.split("; ")}
    (best,) = (name for name in own if concerts.title[name] == answer)
    assert suffices(facts, own)
    assert not suffices(facts, {best})


def test_a_document_that_tells_the_number_itself_is_enough(tmp_path):
    yard = Corpus("boatyard", tmp_path)
    told = {
        fact.sql: fact.values for profile in yard.profiles for fact in profile.facts if "COUNT" in fact.sql
    }
    town = next(sql for sql in told if "Town" in sql).split("'")[1]
    number, facts = yard.find(VESSELS_OF_TOWN, town)
    assert facts.whole
    for name in facts.whole:
        assert suffices(facts, {name})
        assert town in yard.text[name]
        assert f"{number} vessels" in yard.text[name]


def test_a_persons_sql_needs_every_row_that_it_computes_its_answer_from(concerts):
    choir = name_first(concerts, "choirs")
    listed, _ = concerts.find(CONCERTS_OF_CHOIR, choir)
    own = {name for name, title in concerts.title.items() if title in listed.split("; ")}
    sql = (
        "SELECT COUNT(*), MAX(concerts.price) - MIN(concerts.price) FROM concerts JOIN choirs "
        "ON choirs.choir_id = concerts.choir_id WHERE choirs.name = '[choirs.name]' HAVING COUNT(*) > 1"
    )
    answer, facts = concerts.find(read_free(sql, concerts.columns), choir)
    assert int(answer.split(",")[0]) == len(own)
    assert suffices(facts, own)
    assert not any(suffices(facts, own - {name}) for name in own)
    others = set(concerts.title) - own
    assert not suffices(facts, others), "the choir's name stands in its own document, and no price does"


def test_true_documents_always_suffice_and_nothing_never_does(tmp_path):
    for name in SCENES:
        dataset = make_dataset(name, tmp_path)
        true = {question.group: question.true_document_ids for question in dataset.questions}
        assert len(dataset.facts) == len(true) == 60
        assert all(suffices(facts, true[facts.id]) for facts in dataset.facts)
        assert not any(suffices(facts, ()) for facts in dataset.facts)
