"""Tests whether retrieved documents suffice for an answer, by known facts and by facts found by a reader."""

from dataclasses import replace

import pytest

from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment import gives_answer
from tasks.grammar.assess.judged import DATABASE, JUDGE, MODEL, RETRIEVAL, find_cause
from tasks.grammar.assess.sufficiency import Sufficiency, SufficiencyReader, list_wanted
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts, AnswerSupport, StatedCells, suffices
from tasks.systems.contract import Document, Passage
from tests.grammar.assess.test_judged import make

CITY, NAME, TITLE = "clients.city", "clients.name", "projects.title"
PROJECT, CLIENT = "project", "client"
FACTS = AnswerFacts(
    id="g",
    needed=(CITY, TITLE),
    names=(NAME, TITLE),
    columns=(CITY, TITLE, NAME),
    supports=(
        AnswerSupport(
            0,
            ("Oban", "Tide Wall", "Lorn Ltd"),
            (
                StatedCells((CLIENT, "other project"), (CITY, NAME)),
                StatedCells((PROJECT,), (TITLE, NAME)),
                StatedCells(("whole",), (CITY, TITLE, NAME)),
            ),
        ),
    ),
    origin=(),
)
TEXTS = {
    CLIENT: ("Lorn Ltd", "Lorn Ltd is a client in Oban."),
    PROJECT: ("Tide Wall", "Tide Wall is a project of Lorn Ltd."),
    "other project": ("Pier", "Pier is a project of Lorn Ltd in Oban."),
    "whole": ("Note", "Tide Wall is a project of Lorn Ltd in Oban."),
    "strange": ("Fens", "Nothing of the kind."),
}
CORPUS = [Document(name, title, text, ()) for name, (title, text) in TEXTS.items()]


@pytest.mark.parametrize(
    ("documents", "enough"),
    [
        ({CLIENT, PROJECT}, True),
        ({"other project", PROJECT}, True),
        ({"whole"}, True),
        ({CLIENT}, False),
        ({PROJECT}, False),
        ({CLIENT, "other project"}, False),
        ({"strange"}, False),
        (set(), False),
    ],
)
def test_statements_suffice_together_where_one_names_the_others_thing(documents, enough):
    assert suffices(FACTS, documents) == enough


def test_statements_without_a_name_in_common_do_not_go_together():
    (support,) = FACTS.supports
    apart = (StatedCells((CLIENT,), (CITY,)), StatedCells((PROJECT,), (TITLE, NAME)))
    facts = replace(FACTS, supports=(replace(support, statements=apart),))
    assert not suffices(facts, {CLIENT, PROJECT})


def test_each_part_of_an_answer_must_be_stated_and_one_way_of_each_is_enough():
    one = AnswerSupport(0, ("a",), (StatedCells(("d1",), ("t.c",)),))
    again = replace(one, statements=(StatedCells(("d2",), ("t.c",)),))
    two = AnswerSupport(1, ("b",), (StatedCells(("d3",), ("t.c",)),))
    facts = AnswerFacts("g", ("t.c",), (), ("t.c",), (one, again, two), ())
    assert [suffices(facts, set(names.split())) for names in ("d1 d3", "d2 d3", "d1 d2", "d3")] == [
        True, True, False, False
    ]  # fmt: skip
    counted = replace(facts, whole=("d9",))
    assert suffices(counted, {"d9"}), "a document that tells the number itself"
    assert not suffices(replace(facts, supports=()), {"d1"}), "no support at all is none"


def ask(text="In which city is the client of Tide Wall?", answer="Oban", true=None, group="g"):
    return AskedQuestion("q", group, "short", text, answer, "t", "x", True, False, true, ())


def retrieve(*passages):
    found = tuple(Passage(name, TEXTS.get(name, ("", ""))[0], text, 1.0) for name, text in passages)
    return AssessedAnswer("a", "q", "g", "short", "x", tuple(p.document for p in found), found, "", ())


def read(answer, question=None, corpus=CORPUS, facts=FACTS):
    return SufficiencyReader(corpus, {facts.id: facts} if facts else {}).read(question or ask(), answer)


def test_a_part_of_a_document_states_what_stands_in_it():
    whole = retrieve((CLIENT, TEXTS[CLIENT][1]), (PROJECT, TEXTS[PROJECT][1]))
    assert read(whole) == Sufficiency(True, True)
    cut = retrieve((CLIENT, "Lorn Ltd is a client"), (PROJECT, TEXTS[PROJECT][1]))
    assert read(cut) == Sufficiency(False, True)
    ids_alone = retrieve((CLIENT, ""), (PROJECT, ""))
    assert read(ids_alone) == Sufficiency(True, True)


def test_what_the_whole_document_does_not_say_in_these_words_is_told_otherwise():
    (support,) = FACTS.supports
    facts = replace(FACTS, supports=(replace(support, values=("OBN", "Tide Wall", "Lorn Ltd")),))
    cut = retrieve((CLIENT, "Lorn Ltd is a client"), (PROJECT, TEXTS[PROJECT][1]))
    assert read(cut, facts=facts).retrieved is True


def test_where_the_corpus_lacks_the_facts_it_is_the_database():
    answer = retrieve((PROJECT, TEXTS[PROJECT][1]))
    without = [document for document in CORPUS if document.id in (PROJECT, "strange")]
    assert read(answer, corpus=without) == Sufficiency(False, False)


@pytest.mark.parametrize(
    ("retrieved", "true", "found"),
    [
        (("whole",), None, (True, True)),
        (("strange",), None, (False, True)),
        (("strange", PROJECT), (CLIENT, PROJECT), (False, True)),
        ((CLIENT, PROJECT), (CLIENT, PROJECT), (True, True)),
        (("strange",), ("gone",), (False, False)),
    ],
)
def test_in_documents_of_ones_own_facts_are_those_found(retrieved, true, found):
    answer = retrieve(*((name, TEXTS[name][1]) for name in retrieved))
    assert read(answer, ask(true=true), facts=None) == Sufficiency(*found)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("In which city is the client of Tide Wall?", "Yes"),
        ("How many projects has Lorn Ltd?", "2"),
        ("which city is it in", "Oban"),
    ],
)
def test_where_a_text_need_not_have_the_answer_nothing_is_told(question, answer):
    assert list_wanted(ask(question, answer)) == []
    found = read(retrieve(("strange", "-")), ask(question, answer), facts=None)
    assert found == Sufficiency(None, None)


def test_a_system_that_shows_nothing_and_a_corpus_that_nobody_knows_tell_nothing():
    silent = replace(retrieve(), passages=None, retrieved_document_ids=None)
    assert read(silent) == Sufficiency(None, None)
    foreign = retrieve(("web", "A page of the town."))
    assert read(foreign, corpus=None, facts=None) == Sufficiency(None, None)
    telling = retrieve(("web", "Tide Wall is built for Lorn Ltd in Oban."))
    assert read(telling, corpus=None, facts=None) == Sufficiency(True, True)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"holds": True, "enough": False, "obtainable": False}, JUDGE),
        ({"holds": True, "enough": None, "obtainable": None}, JUDGE),
        ({"enough": True}, MODEL),
        ({"enough": False, "obtainable": True}, RETRIEVAL),
        ({"enough": False, "obtainable": False}, DATABASE),
        ({"enough": None, "obtainable": True}, None),
        ({"enough": False, "obtainable": None}, None),
    ],
)
def test_causes_are_asked_for_in_their_order(changes, cause):
    assert find_cause(replace(make("g", "-", "x"), **changes)) == cause


def test_what_closed_mode_alone_takes_as_wrong_was_not_retrieved_for():
    assert find_cause(replace(make("g", "+", "x"), enough=True, obtainable=True)) == RETRIEVAL


@pytest.mark.parametrize(
    ("response", "gives"),
    [
        ("It lies in Oban.", True),
        ("Lorn Ltd, Oban", True),
        ("It is not Oban.", False),
        ("Oban or Fowey", False),
        ("Fowey", False),
        ("", False),
    ],
)
def test_a_response_gives_the_answer_where_it_neither_denies_nor_chooses(response, gives):
    assert gives_answer(ask(), response) == gives
    assert not gives_answer(ask("Is the client in Oban or in Fowey?"), response), "the question names it"
