import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.corpus.entities import COLLECTION, ProfileFact
from tasks.grammar.corpus.machine_reading import names_fact
from tasks.grammar.corpus.plain_patterns import list_sentences
from tasks.grammar.corpus.plain_writer import PlainWriter, write_paragraphs
from tasks.grammar.corpus.sentence_rules import KnownFacts, find_fault


def fact(attribute, *values, name="Locke"):
    return ProfileFact(attribute, name, attribute, values)


@pytest.mark.parametrize(("kind", "value"), [("text", "9785811770698"), ("integer", "9,785,811,770,698")])
def test_digits_of_a_text_column_stay_as_they_are(kind, value):
    told = ProfileFact("f", "Locke", "isbn", ("9785811770698",), "", kind)
    assert value in list_sentences("the book", told)[0]


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (fact("runtime in minutes", "85"), "The film runs for 85 minutes."),
        (fact("box office in usd", "86273333"), "The box office of the film is 86,273,333 US dollars."),
        (fact("box office in US dollars", "8627"), "The film earned 8627 US dollars at the box office."),
        (fact("Academy Award count", "3"), "The film received 3 Academy Awards."),
        (fact("Academy Award count", "1"), "The film received 1 Academy Award."),
        (fact("Academy Award count", "0"), "The film received no Academy Awards."),
        (fact("number of engines", "0"), "The film has no engines."),
        (fact("content rating", "PG-13"), "The film is rated PG-13."),
        (fact("actor", "Ada B", "Cy D"), "The film stars Ada B and Cy D."),
        (fact("production company", "Gaumont"), "The film was made by the production company Gaumont."),
        (fact("departure time", "09:51"), "The film has a departure time of 09:51."),
        (fact("postcode", "01067"), "The postcode of the film is 01067."),
        (fact("language", "French"), "The film is in French."),
        (fact("release date", "1978-03-23"), "The film was released on 23 March 1978."),
        (fact("release year", "1978"), "The film was released in 1978."),
        (fact("director", "Ada B", "Cy D"), "The directors of the film are Ada B and Cy D."),
        (fact("director", "Ada B"), "The film was directed by Ada B."),
        (fact("country", "United States"), "The film was made in the United States."),
        (fact("country", "France", "Italy"), "The film has two countries: France and Italy."),
        (fact("academy awards won", "0"), "The film won no academy awards."),
        (fact("seats", "1"), "The film has 1 seat."),
        (fact("town of the clinic", "Vex", "Oz"), "The towns of the clinic of the film are Oz and Vex."),
    ],
)  # fmt: skip
def test_a_fact_is_said_in_grammatical_english(told, sentence):
    told = ProfileFact(told.id, told.subject, told.attribute, tuple(sorted(told.values)))
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
    facts = tuple(fact(attribute, *sorted(value), name=name) for attribute, value in values.items())
    known_facts = KnownFacts("film", (name,), facts)
    paragraphs, failed = write_paragraphs(PlainWriter(name, known_facts, (seed,)), facts, {})
    assert failed == []
    sentences = [sentence.text for paragraph in paragraphs for sentence in paragraph]
    assert [find_fault(sentence, known_facts) for sentence in sentences] == [""] * len(sentences)
    assert all(names_fact(" ".join(sentences), told) for told in facts)
    # Each fact is stated once.
    assert sorted(fact for part in paragraphs for clause in part for fact in clause.facts) == sorted(values)


def write_text(kind, *facts, name="Locke", seed=0):
    writer = PlainWriter(name, KnownFacts(kind, (name,), facts), (seed,))
    paragraphs, failed = write_paragraphs(writer, facts, {})
    assert failed == []
    return "\n".join(" ".join(sentence.text for sentence in part) for part in paragraphs)


def test_a_document_begins_with_what_the_thing_is_and_tells_what_goes_together_in_one_sentence():
    text = write_text(
        "film",
        fact("Academy Awards", "0"),
        fact("box office in US dollars", "4199334"),
        fact("country", "France", "Italy"),
        fact("director", "Ada B"),
        fact("genre", "Crime", "Drama"),
        fact("language", "French"),
        fact("Metacritic score", "86"),
        fact("production company", "Gaumont"),
        fact("release year", "1995"),
        fact("Tomatometer score in percent", "96"),
        fact("writer", "Ada B"),
    )
    assert text.startswith("Locke is a film of the genres Crime and Drama")
    for said in (
        "written and directed by Ada B",
        "was made in France and Italy by the production company Gaumont",
        "is in French",
        "earned 4,199,334 US dollars at the box office",
        "has a Metacritic score of 86 and a Tomatometer score of 96 percent",
        "received no Academy Awards",
    ):
        assert text.count(said) == 1, said


def test_what_is_known_of_another_thing_has_that_for_its_subject():
    text = write_text(
        "flight",
        fact("number", "4156", name="flight 12"),
        fact("airline", "Envoy Air", name="flight 12"),
        fact("carrier code of the airline", "MQ", name="flight 12"),
        fact("tail number of the plane", "N15985", name="flight 12"),
        fact("number of engines of the plane", "2", name="flight 12"),
        name="flight 12",
    )
    assert text == (
        "Flight 12 has the number 4156. The airline is Envoy Air and has the carrier code MQ. "
        "The plane has the tail number N15985 and 2 engines."
    )


def test_what_the_name_says_is_not_said_again():
    name = "flight 4156 of the airline Envoy Air on 2 January 2013"
    date, number = fact("date", "2013-01-02", name=name), fact("number", "4156", name=name)
    distance, seats = fact("distance in miles", "700", name=name), fact("seats of the plane", "63", name=name)

    def write(*facts, attempts=None, named=("date", "number")):
        writer = PlainWriter(name, KnownFacts("flight", (name,), facts), (0,))
        paragraphs, failed = write_paragraphs(writer, facts, attempts or {}, named)
        assert failed == []
        return [(sentence.text, set(sentence.facts)) for part in paragraphs for sentence in part]

    said = f"F{name[1:]} has a distance of 700 miles."
    assert write(date, number, distance) == [(said, {"distance in miles", "date", "number"})]
    # The writer adds a sentence for a fact that the reader did not find in the name.
    told = write(date, number, distance, attempts={"date": 1})
    assert (said, {"distance in miles", "number"}) in told
    assert {"date"} in [facts for _, facts in told]
    # Without a sentence that contains the name, the facts in the name are not stated.
    assert write(date, number) == write(date, number, named=())
    assert write(date, seats) == write(date, seats, named=())


def test_a_thing_that_may_be_a_person_is_not_it():
    facts = [fact("job title", "Clerk"), fact("hire date", "2021-07-02"), fact("postcode", "01067")]
    told = [write_text("employee", *facts, seed=seed) for seed in range(9)]
    assert all(
        text.startswith("Locke is an employee with the job title Clerk. The employee") for text in told
    )
    assert not any(" It " in text for text in told)


def test_a_date_tells_its_year_too_but_no_other():
    def write(*facts, attempts=None):
        writer = PlainWriter("Locke", KnownFacts("film", ("Locke",), facts), (0,))
        (paragraph,), _ = write_paragraphs(writer, facts, attempts or {})
        return [sentence.facts for sentence in paragraph]

    date, year = fact("release date", "1978-03-23"), fact("release year", "1978")
    assert write(date, year) == [("release date", "release year")]
    assert len(write(date, year, attempts={"release year": 1})) == 2
    assert len(write(date, fact("release year", "1979"))) == 2
    assert len(write(date, fact("opening year", "1978"))) == 2


@pytest.mark.parametrize(
    ("attribute", "sentence"),
    [
        ("country United States", "In all, the database has 2,045 films from the United States."),
        ("director Ada B", "In all, the database has 2,045 films directed by Ada B."),
        ("release year 1994", "In all, the database has 2,045 films released in 1994."),
        ("content rating PG", "In all, the database has 2,045 films with the content rating PG."),
    ],
)  # fmt: skip
def test_what_the_database_has_is_counted_in_plain_words(attribute, sentence):
    told = ProfileFact("f", COLLECTION, f"number of films with the {attribute}", ("2045",))
    own = (
        told, fact("country", "United States"), fact("director", "Ada B"), fact("release year", "1994"),
        fact("content rating", "PG"),
    )  # fmt: skip
    writer = PlainWriter("Locke", KnownFacts("film", ("Locke",), own), (0,))
    assert sentence in {writer.write_fact(told, 1, attempt)[0].text for attempt in range(3)}


def test_documents_do_not_all_share_their_sentences_and_each_stays():
    def write(name):
        told = {"director": "Ada B", "genre": "Drama", "runtime in minutes": "85", "country": "France"}
        facts = [fact(attribute, value, name=name) for attribute, value in told.items()]
        writer = PlainWriter(name, KnownFacts("film", (name,), tuple(facts)), (0, name))
        paragraphs, _ = write_paragraphs(writer, facts, {})
        return " ".join(sentence.text for paragraph in paragraphs for sentence in paragraph)

    names = [f"Title {letter}x" for letter in "ABCDEFGHIJ"]
    shapes = {re.sub(r"Title ..", "it", write(name)) for name in names}
    assert len(shapes) > 2
    assert [write(name) for name in names] == [write(name) for name in names]
