import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.corpus.entities import COLLECTION, Fact
from tasks.grammar.corpus.machine_reading import names_fact
from tasks.grammar.corpus.plain_patterns import list_sentences
from tasks.grammar.corpus.plain_writer import PlainWriter, write_paragraphs
from tasks.grammar.corpus.sentence_rules import Ground, find_fault


def fact(attribute, *values, name="Locke"):
    return Fact(attribute, name, attribute, values)


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (fact("runtime in minutes", "85"), "The film has a runtime of 85 minutes."),
        (fact("box office in usd", "86273333"), "The box office of the film is 86,273,333 US dollars."),
        (fact("box office in US dollars", "86273333"), "The film has a box office of 86,273,333 US dollars."),
        (fact("Academy Award count", "3"), "The film has 3 Academy Awards."),
        (fact("Academy Award count", "1"), "The film has 1 Academy Award."),
        (fact("Academy Award count", "0"), "The film has an Academy Award count of 0."),
        (fact("Academy Award count", "0"), "The number of Academy Awards of the film is 0."),
        (fact("postcode", "01067"), "The postcode of the film is 01067."),
        (fact("language", "French"), "The film is in French."),
        (fact("release date", "1978-03-23"), "The film was released on 23 March 1978."),
        (fact("release year", "1978"), "The film was released in 1978."),
        (fact("director", "Ada B", "Cy D"), "The directors of the film are Ada B and Cy D."),
        (fact("director", "Ada B"), "The film was directed by Ada B."),
        (fact("country", "United States"), "The film comes from the United States."),
        (fact("country", "France", "Italy"), "The film has two countries: France and Italy."),
        (fact("academy awards won", "0"), "The number of academy awards won by the film is 0."),
        (fact("seats", "1"), "The film has 1 seat."),
        (fact("town of the clinic", "Vex", "Oz"), "The towns of the clinic of the film are Oz and Vex."),
    ],
)  # fmt: skip
def test_a_fact_is_said_in_grammatical_english(told, sentence):
    told = Fact(told.id, told.subject, told.attribute, tuple(sorted(told.values)))
    assert sentence in list_sentences("the film", told, "film")


NAMES = st.from_regex(r"[A-Z][a-z]{2,8} [A-Z][a-z]{2,8}", fullmatch=True)
FACTS = st.fixed_dictionaries(
    {
        "director": st.lists(NAMES, min_size=1, max_size=3, unique=True),
        "genre": st.lists(NAMES, min_size=1, max_size=4, unique=True),
        "release date": st.dates().map(str).map(lambda day: [day]),
        "runtime in minutes": st.integers(1, 400).map(lambda number: [str(number)]),
        "Metacritic score": st.integers(0, 100).map(lambda number: [str(number)]),
        "academy awards won": st.integers(0, 11).map(lambda number: [str(number)]),
        "Oscar count": st.integers(0, 11).map(lambda number: [str(number)]),
        "box office in usd": st.integers(1, 10**9).map(lambda number: [str(number)]),
    }
)


@given(values=FACTS, name=NAMES, seed=st.integers(0, 50))
def test_every_fact_is_said_and_every_sentence_keeps_the_rules(values, name, seed):
    facts = tuple(fact(attribute, *sorted(own), name=name) for attribute, own in values.items())
    ground = Ground("film", (name,), facts)
    paragraphs, failed = write_paragraphs(PlainWriter(name, ground, (seed,)), facts, 200, {})
    assert failed == []
    sentences = [sentence.text for paragraph in paragraphs for sentence in paragraph]
    assert [find_fault(sentence, ground) for sentence in sentences] == [""] * len(sentences)
    assert all(names_fact(" ".join(sentences), told) for told in facts)


def test_a_lead_leaves_out_that_only_where_all_it_tells_was_done_by_someone():
    def write(*facts):
        writer = PlainWriter("Locke", Ground("film", ("Locke",), facts), (0,))
        return writer.write_lead(facts)[0].text

    director, country = fact("director", "Ada B"), fact("country", "France")
    assert write(director, fact("writer", "Cy D")) == "Locke is a film directed by Ada B and written by Cy D."
    assert write(director, country) == "Locke is a film that was directed by Ada B and comes from France."


def test_a_date_tells_its_year_too_but_no_other():
    def write(*facts, attempts=None):
        writer = PlainWriter("Locke", Ground("film", ("Locke",), facts), (0,))
        (paragraph,), _ = write_paragraphs(writer, facts, 0, attempts or {})
        return [sentence.facts for sentence in paragraph]

    date, year = fact("release date", "1978-03-23"), fact("release year", "1978")
    assert write(date, year) == [("release date", "release year")]
    assert len(write(date, year, attempts={"release year": 1})) == 2
    assert len(write(date, fact("release year", "1979"))) == 2
    assert len(write(date, fact("opening year", "1978"))) == 2


@pytest.mark.parametrize(
    ("attribute", "sentence"),
    [
        ("country United States", "The database has 2,045 films from the United States."),
        ("director Ada B", "The database has 2,045 films directed by Ada B."),
        ("release year 1994", "The database has 2,045 films released in 1994."),
        ("content rating PG", "The database has 2,045 films with the content rating PG."),
    ],
)  # fmt: skip
def test_what_the_database_has_is_counted_in_plain_words(attribute, sentence):
    told = Fact("f", COLLECTION, f"number of films with the {attribute}", ("2045",))
    own = (
        told, fact("country", "United States"), fact("director", "Ada B"), fact("release year", "1994"),
        fact("content rating", "PG"),
    )  # fmt: skip
    writer = PlainWriter("Locke", Ground("film", ("Locke",), own), (0,))
    assert sentence in {writer.write_fact(told, 1, attempt)[0].text for attempt in range(3)}


def test_documents_do_not_all_share_their_sentences_and_each_stays():
    def write(name):
        facts = (fact("director", "Ada B", name=name), fact("genre", "Drama", name=name))
        writer = PlainWriter(name, Ground("film", (name,), facts), (0, name))
        paragraphs, _ = write_paragraphs(writer, facts, 0, {})
        return " ".join(sentence.text for paragraph in paragraphs for sentence in paragraph)

    names = [f"Title {letter}x" for letter in "ABCDEFGHIJ"]
    shapes = {re.sub(r"Title ..", "it", write(name)) for name in names}
    assert len(shapes) > 4
    assert [write(name) for name in names] == [write(name) for name in names]
