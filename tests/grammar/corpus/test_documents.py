import asyncio
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.databases.entry import DatabaseEntry
from tasks.grammar.corpus.checked_sentences import read_by_rule, require_words
from tasks.grammar.corpus.document_grammar import list_heads, parse_paragraph, write_part_grammar
from tasks.grammar.corpus.documents import Documents, documents
from tasks.grammar.corpus.entities import EntityProfile, ProfileFact
from tasks.grammar.corpus.machine_reading import (
    check_reading,
    list_forms,
    missing_values,
    names_fact,
    parse_numbered,
    write_numbered_grammar,
)
from tasks.grammar.corpus.plain_writer import MODEL, PLAIN, CheckedSentence
from tasks.grammar.corpus.sentence_rules import KnownFacts, find_fault
from tasks.models.ask import Unparsed
from tests.grammar.gbnf import accepts
from tests.grammar.scripted import SCHEMA, ScriptedAsk, make_database

FACTS = (
    ProfileFact("f1", "Ada Zwick", "specialty", ("ozonotomy",)),
    ProfileFact("f2", "Ada Zwick", "hourly rate in usd", ("1081",)),
    ProfileFact("f3", "Ada Zwick", "language", ("Dutch", "Manx")),
)
PROFILE = EntityProfile("d1", "doctors", ("1",), "doctor", "Ada Zwick", FACTS, ())
PARAMS = Documents(facts=2, maximum_words=40, words=(20, 80))
PART = "The specialty of the doctor Ada Zwick is ozonotomy. The hourly rate of Ada Zwick is 1,081 US dollars."
REST = "The languages of Ada Zwick are Dutch and Manx."


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    file = make_database(tmp_path_factory.mktemp("data") / "hospital.sqlite")
    return DatabaseEntry(name="hospital", file=file)


def write(asked):
    return PART if asked.fields["facts"][0].id == "f1" else REST


def read(asked):
    values = [", ".join(fact.values) for fact in asked.fields["facts"]]
    return "\n".join(f"{n}. {value}" for n, value in enumerate(values, 1))


@pytest.fixture
def run(entry):
    def run(writer=write, reader=read, profile=PROFILE, **changes):
        ask = ScriptedAsk(lambda asked: (writer if asked.prompt.name == "document_part" else reader)(asked))
        params = PARAMS.model_copy(update=changes)
        return asyncio.run(documents([profile], SCHEMA, entry, params, ask)), ask

    return run


def list_writers(document):
    return [sentence.writer for sentence in document.sentences]


def test_a_model_writes_in_parts_and_a_document_is_kept_when_its_facts_are_read(run):
    drafts, ask = run()
    (document,) = drafts.rows
    assert (document.id, document.title, document.text) == ("d1", "Ada Zwick", f"{PART}\n\n{REST}")
    assert [(sentence.writer, sentence.paragraph) for sentence in document.sentences] == [
        ("model", 0), ("model", 0), ("model", 1)
    ]  # fmt: skip
    assert not drafts.dropped
    assert [request.role for request in ask.asked] == ["generator", "generator", "reader"]
    assert [sentence.facts_read for sentence in document.sentences] == [1, 1, 1]
    assert {origin.kind for origin in document.origin} == {"row", "call"}


def test_a_plain_document_takes_no_model_and_is_read_by_rule(run):
    drafts, ask = run(written_by="plain")
    (document,) = drafts.rows
    assert set(list_writers(document)) == {"plain"}
    assert not ask.asked
    assert {origin.kind for origin in document.origin} == {"row"}
    assert sum(sentence.facts_read for sentence in document.sentences) == len(FACTS)
    assert all(names_fact(document.text, fact) for fact in FACTS)
    assert " ".join(sentence.text for sentence in document.sentences) == " ".join(document.text.split())


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The eterity ertity ertity of Ada Zwick is ozonotomy.", "no_word"),
        ("The specialty of Ada Zwick is ozonotomy and a man named gangster named urchin.", "repeats"),
        ("The specialty of Ada Zwick is ozonotomy, not kvetchology.", "other_value"),
        ("The specialty of Ada Zwick is ozonotomy, as in Quillport.", "other_value"),
        ("The specialty of Ada Zwick is ozonotomy since 1971.", "unknown_number"),
        ("The specialty of Ada Zwick, like that of Bob, is ozonotomy.", "unknown_name"),
        ("The specialty of Ada Zwick is Dutch and the language ozonotomy.", "contradicts"),
        ("The specialty of the renowned Ada Zwick is ozonotomy.", "claim"),
        ("The specialty of Ada Zwick is ozonotomy, which means that she cures.", "claim"),
        ("The specialty of Ada Zwick is ozonotomy, a bit rarer than others.", "beyond_facts"),
        ("This is the doctor Ada Zwick.", "no_fact"),
        ("The specialty of Ada Zwick is ozonotomy and", "form"),
    ],
)
def test_a_sentence_that_breaks_a_rule_is_dropped_and_its_fact_written_plainly(run, sentence, reason):
    rate = "The hourly rate of Ada Zwick is 1,081 US dollars."
    told = f"{rate} {sentence}"
    drafts, ask = run(lambda asked: told if asked.fields["facts"][0].id == "f1" else REST)
    (document,) = drafts.rows
    # The reader checks only text that a model wrote.
    assert [fact.id for fact in ask.asked[-1].fields["facts"]] == ["f2", "f3"]
    assert [sentence.facts_read for sentence in document.sentences] == [1, 1, 1]
    assert sentence not in document.text
    assert names_fact(document.text, FACTS[0])
    assert sorted(list_writers(document)) == ["model", "model", "plain"]
    assert [row.reason for row in drafts.dropped] == [reason]
    assert sentence in drafts.dropped[0].detail
    assert {origin.kind for origin in drafts.dropped[0].origin} == {"row", "call"}


def test_a_part_that_cannot_be_read_is_written_plainly_and_counted(run):
    drafts, _ = run(lambda asked: "# Ada" if asked.fields["facts"][0].id == "f1" else REST)
    (document,) = drafts.rows
    assert list_writers(document) == ["plain", "plain", "model"]
    assert [row.reason for row in drafts.dropped] == ["form"]


def test_the_reader_is_shown_the_document_alone(run):
    _, ask = run()
    reading = ask.asked[-1].text
    assert PART in reading
    assert "What is the specialty of Ada Zwick?" in reading
    assert "ozonotomy" not in reading.replace(PART, "")


def forget_once():
    said = {"f1": 0}

    def forget(asked):
        said["f1"] += any(fact.id == "f1" for fact in asked.fields["facts"])
        return "1. not stated\n" + "\n".join(read(asked).splitlines()[1:]) if said["f1"] == 1 else read(asked)

    return forget


def test_a_part_whose_facts_are_not_read_is_written_anew_and_the_others_stay(run):
    drafts, ask = run(reader=forget_once())
    assert len(drafts.rows) == 1
    writing = [request for request in ask.asked if request.role == "generator"]
    assert [(request.fields["facts"][0].id, request.sample) for request in writing] == [
        ("f1", 0),
        ("f3", 0),
        ("f1", 1),
    ]
    # The part is new, so only its facts are read again.
    assert [fact.id for fact in ask.asked[-1].fields["facts"]] == ["f1", "f2"]


def test_a_fact_that_no_rule_reads_in_its_plain_sentence_is_on_record_with_it(run):
    odd = replace(PROFILE, facts=(*FACTS, ProfileFact("f4", "Ada Zwick", "grade", ("+-",))))
    drafts, ask = run(profile=odd, readable=0.6, written_by="plain")
    assert not ask.asked
    assert [(row.id, row.reason) for row in drafts.dropped] == [("f4", "fact_unread")]
    assert "read as: " in drafts.dropped[0].detail
    assert [row.reason for row in run(profile=odd, written_by="plain")[0].dropped] == ["unreadable"]


def test_a_plain_sentence_is_read_by_rule_in_the_one_that_names_all_values():
    some, all_of_them = (
        CheckedSentence(text, PLAIN, ("f3",)) for text in ("Ada speaks Manx.", "Ada speaks Dutch and Manx.")
    )
    by_model = CheckedSentence("The specialty of Ada is ozonotomy.", MODEL, ("f1",))
    (reading,) = read_by_rule([some, all_of_them, by_model], FACTS)
    assert (reading.fact.id, reading.answer, reading.found, reading.call) == (
        "f3",
        all_of_them.text,
        True,
        None,
    )
    (reading,) = read_by_rule([some, by_model], FACTS)
    assert (reading.answer, reading.found) == (some.text, False)


def test_a_document_whose_facts_cannot_be_read_is_dropped_and_says_which(run):
    drafts, _ = run(
        reader=lambda asked: "\n".join(f"{n}. ?" for n in range(1, 1 + len(asked.fields["facts"])))
    )
    assert not drafts.rows
    assert [(row.id, row.reason) for row in drafts.dropped] == [("d1", "unreadable")]
    assert "3 of 3 facts were not read, the first is specialty" in drafts.dropped[0].detail


def test_a_fact_that_is_not_read_in_a_kept_document_is_on_record(run):
    drafts, _ = run(reader=lambda asked: read(asked).replace("1081", "about a thousand"), readable=0.6)
    assert len(drafts.rows) == 1
    assert [(row.id, row.reason) for row in drafts.dropped] == [("f2", "fact_unread")]
    assert "read as: about a thousand" in drafts.dropped[0].detail


def test_a_fact_that_no_sentence_can_say_is_on_record(run):
    odd = replace(PROFILE, facts=(*FACTS, ProfileFact("f4", "Ada Zwick", "note", ("[see] <b>",))))
    for written_by in ("model", "plain"):
        drafts, ask = run(profile=odd, readable=0.6, written_by=written_by)
        assert len(drafts.rows) == 1
        assert [(row.id, row.reason) for row in drafts.dropped if row.id == "f4"] == [("f4", "fact_untold")]
        asked = {
            fact.id for request in ask.asked if request.role == "reader" for fact in request.fields["facts"]
        }
        assert asked == ({"f1", "f2", "f3"} if written_by == "model" else set())


def test_a_document_that_is_too_long_is_dropped_and_of_few_facts_few_words_are_due(run):
    drafts, _ = run(words=(5, 12))
    assert [row.reason for row in drafts.dropped] == ["length"]
    assert len(run(words=(200, 400))[0].rows) == 1
    assert require_words(3, (200, 400)) == (24, 400)
    assert require_words(40, (200, 400)) == (200, 400)
    # A plain sentence may state a fact in four words; each fact is stated once.
    assert require_words(3, (60, 400), PLAIN) == (12, 400)


def test_a_profile_without_facts_is_no_document(run):
    drafts, _ = run(profile=EntityProfile("d2", "doctors", ("2",), "doctor", "Bo", (), ()))
    assert not drafts.rows
    assert [(row.id, row.reason) for row in drafts.dropped] == [("d2", "no_facts")]


@pytest.mark.parametrize("text", ["", "# Heading\n" + PART, PART * 9, "- a\n- <b>"])
def test_a_part_is_a_plain_paragraph(text):
    with pytest.raises(Unparsed):
        parse_paragraph(text, 3 * PARAMS.maximum_words)


def test_the_grammar_lets_every_way_to_say_the_facts_through_and_no_other_name_or_number():
    grammar = write_part_grammar("doctor", "Ada Zwick", FACTS[1:2])
    for head in list_heads("doctor", "Ada Zwick", FACTS[1]):
        assert accepts(grammar, f"{head}, which is more than others ask for.")
        assert accepts(grammar, f"{head}.")
    for wrong in ("1081 usd, which Bo finds", "1081 usd, which was 900 and is", "1082 usd, which is"):
        assert not accepts(grammar, f"The hourly rate of Ada Zwick is {wrong} more than others ask for.")
    again = "The hourly rate of Ada Zwick is 1081 usd, which means that Ada Zwick asks for 1081 an hour."
    assert accepts(grammar, again)
    assert not accepts(write_part_grammar("doctor", "Ada Zwick", FACTS[1:2], mentions=False), again)


def test_the_numbered_grammar_and_its_parser_agree():
    assert accepts(write_numbered_grammar(2), "1. Dutch, Manx\n2. not stated")
    assert parse_numbered("1. Dutch, Manx\n2. not stated", 2) == ("Dutch, Manx", "not stated")


@pytest.mark.parametrize(
    "text", ["", "1. a", "1. a\n3. b", "2. a\n1. b", "1. a\n2. b\n3. c", "a\nb", "1. a\nx\n2. b"]
)
def test_answers_out_of_order_or_number_are_no_answers(text):
    with pytest.raises(Unparsed):
        parse_numbered(text, 2)


def test_an_answer_that_does_not_parse_finds_no_fact():
    readings = asyncio.run(check_reading("Ada", PART, FACTS, ScriptedAsk(lambda _: "hm"), row="d1"))
    assert [(reading.found, reading.answer) for reading in readings] == [(False, None)] * 3


@pytest.mark.parametrize(
    ("values", "text", "held"),
    [
        (("1993",), "in 1993.", True),
        (("1",), "in 1993", False),
        (("368875760",), "368,875,760 usd", True),
        (("1993-08-06",), "on August 6, 1993", True),
        (("1993-08-06",), "on 6 August 1993", True),
        (("1993-08-06",), "August 6th, 1993", True),
        (("1993-08-06",), "on August 7, 1993", False),
        (("Dutch", "Manx"), "Manx, Dutch", True),
        (("Dutch", "Manx"), "Manx", False),
        (("81.5",), "81.5 usd", True),
        (("81.5",), "81 and 5", False),
        (("O'Brien Hall",), "o'brien hall", True),
        (("0",), "no value", False),
    ],
)
def test_a_value_is_held_by_its_words_whatever_their_dress(values, text, held):
    assert names_fact(text, ProfileFact("f", "x", "y", values)) is held


@pytest.mark.parametrize(
    ("attribute", "text", "held"),
    [
        ("Academy Awards", "It received no Academy Awards.", True),
        ("Oscar count", "It has no Oscars.", True),
        ("academy awards won", "It won no academy awards.", True),
        ("number of engines of the plane", "The plane has no engines.", True),
        ("Academy Awards", "There is no information.", False),
        ("Metacritic score", "It has no Metacritic score.", False),
    ],
)
def test_that_there_are_none_is_said_by_no(attribute, text, held):
    assert names_fact(text, ProfileFact("f", "x", attribute, ("0",))) is held


def test_a_thing_may_be_named_as_the_one_that_a_fact_is_of():
    facts = (
        ProfileFact("f1", "flight 12", "origin airport", ("Ramburne Airport",)),
        ProfileFact("f2", "flight 12", "altitude in feet of the origin airport", ("18",)),
        ProfileFact("f3", "flight 12", "distance in miles", ("746",)),
    )
    known_facts = KnownFacts("flight", ("flight 12",), facts)
    assert find_fault("The origin airport has an altitude of 18 feet.", known_facts) == ""
    assert find_fault("Flight 12 has a distance of 746 miles.", known_facts) == ""
    wrong = find_fault("The origin airport has a distance of 746 miles.", known_facts)
    assert wrong == "contradicts: names origin airport without Ramburne Airport"


@given(st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 .'-]{0,20}", fullmatch=True), min_size=1, max_size=4))
def test_every_form_of_a_value_names_it(values):
    fact = ProfileFact("f", "x", "y", tuple(values))
    for value in values:
        for form in list_forms(value):
            assert value not in missing_values(f"it is {form}, they say", fact) or not re.search(r"\w", value)
