"""Tests of wordings composed by code: each names all given values, and obeys the rules for texts."""

import asyncio
import json
import re
import sqlite3
from dataclasses import replace

import pytest

from tasks.databases.reflection import reflect
from tasks.grammar.construct.phrasing import Phrasing
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.template_requests import TemplateShape, list_template_requests
from tasks.grammar.construct.text_requests import TextTemplates, parse_reply
from tasks.grammar.construct.text_templates import text_templates
from tasks.grammar.construct.verbalisation import verbalise_query
from tasks.models.ask import Unparsed
from tests.grammar.construct.test_measures import EITHER, LONGEST, MEAN, SHELVES, TITLES
from tests.grammar.scripted import SCHEMA, ScriptedAsk, column

FILMS = [
    column("films.film_id", "integer", key=True, ask=False),
    column("films.title"),
    column("films.year", "integer"),
    column("films.runtime_minutes", "integer"),
    column("people.person_id", "integer", key=True, ask=False),
    column("people.full_name"),
    column("genres.genre_id", "integer", key=True, ask=False),
    column("genres.genre_name"),
    column("film_directors.film_id", "integer", references="films.film_id"),
    column("film_directors.person_id", "integer", references="people.person_id"),
    column("film_genres.film_id", "integer", references="films.film_id"),
    column("film_genres.genre_id", "integer", references="genres.genre_id"),
]
BY = (("film_directors.film_id", "films.film_id"), ("film_directors.person_id", "people.person_id"))
OF = (("film_genres.film_id", "films.film_id"), ("film_genres.genre_id", "genres.genre_id"))
BOTH = tuple(sorted(BY + OF))
SHAPES = [
    TemplateShape(tables=tables, placeholders=count, measure=measure, compared=compared)
    for tables, count, measure, compared in (
        ((1, 3), 1, "", ""),
        ((1, 3), 2, "", ""),
        ((2, 3), 1, "count", ""),
        ((2, 3), 2, "list", ""),
        ((1, 2), 2, "count", "over"),
        ((1, 2), 3, "list", "between"),
        ((2, 2), 1, "average", ""),
        ((1, 3), 1, "most", ""),
        ((1, 2), 2, "least", ""),
        ((1, 1), 2, "most", "pair"),
    )
]


def word(query, schema=FILMS, opening="Could you tell me"):
    return Phrasing(query, schema).list_questions(opening)


def test_a_question_says_who_by_what_they_are_to_each_other():
    years = Query(("films.year",), BY, ("people.full_name",))
    assert "Could you tell me the year of the film directed by [people.full_name]?" in word(years)
    genre = Query(("genres.genre_name",), BOTH, ("people.full_name",))
    assert "Who is the director of the film [films.title]?" in word(
        Query(("people.full_name",), BY, ("films.title",)), opening=""
    )
    listed = word(genre)
    assert "Could you tell me which genre is listed for the film directed by [people.full_name]?" in listed
    assert "Could you tell me the genre listed for the film directed by [people.full_name]?" in listed


def test_no_question_ends_in_its_verb():
    for shape in SHAPES:
        for request in list_template_requests(FILMS, shape, 4, 6, 0):
            for text in Phrasing(request.queries[0], FILMS).list_questions("Do you know"):
                assert not re.search(r" (is|are)\?$", text), text


def test_one_clause_does_not_hang_on_another():
    both = Query(("films.film_id",), BOTH, ("genres.genre_name", "people.full_name"), "count")
    assert not [text for text in word(both) if "whose" in text]


def test_of_some_films_a_question_says_which():
    schema = [
        replace(listed_column, scope="in the catalogue" * (listed_column.table == "films"))
        for listed_column in FILMS
    ]
    count = Query(("films.film_id",), BY, ("people.full_name",), "count")
    assert "How many films in the catalogue are directed by [people.full_name]?" in word(count, schema, "")
    genres = Query(("genres.genre_name",), OF, ("films.title",), "list")
    assert "Which genres are listed for the film [films.title] in the catalogue?" in word(genres, schema, "")
    unnamed = Query(("films.title",), BY, ("people.full_name",))
    assert "Which film in the catalogue is directed by [people.full_name]?" in word(unnamed, schema, "")
    # Two films may share a name, but not name and year.
    named = Query(("films.runtime_minutes",), (), ("films.title",))
    assert all(
        "film [films.title] in the catalogue" in text.replace("called ", "") for text in word(named, schema)
    )
    both = Query(("films.runtime_minutes",), (), ("films.title", "films.year"))
    assert not [text for text in word(both, schema) if "catalogue" in text]
    for query in (count, genres, unnamed):
        verbalisation = verbalise_query(query, schema)
        criterion = TextTemplates(criteria={"long": {"prompt": "texts/long", "samples": 1}}).criteria["long"]
        for text in word(query, schema, ""):
            assert parse_reply(text, query, verbalisation, schema, criterion)
            bare = text.replace(" in the catalogue", "")
            with pytest.raises(Unparsed, match="measure_missing: in the catalogue"):
                parse_reply(bare, query, verbalisation, schema, criterion)


def test_measures_have_questions_of_their_own():
    count = Query(("films.film_id",), BOTH, ("films.year:from", "films.year:to", "people.full_name"), "count")
    assert (
        "How many films directed by [people.full_name] between [films.year:from] and [films.year:to] "
        "are there?"
    ) in word(count, opening="")
    longest = Query(("films.title",), OF, ("genres.genre_name",), "most", "films.runtime_minutes")
    assert "Which of the films of the genre [genres.genre_name] has the longest runtime?" in word(
        longest, opening=""
    )
    assert "film of the genre [genres.genre_name] with the longest runtime" in Phrasing(
        longest, FILMS
    ).list_fragments("wanted")


@pytest.mark.parametrize("schema", [SCHEMA, FILMS], ids=["clinics", "films"])
def test_every_wording_names_every_value_once(schema):
    seen = 0
    for shape in SHAPES:
        for request in list_template_requests(schema, shape, 4, 12, 0):
            for query in request.queries:
                phrasing = Phrasing(query, schema)
                texts = [*phrasing.list_questions("Would you know"), *phrasing.list_questions("")]
                for form in ("wanted", "given", "asking"):
                    texts += phrasing.list_fragments(form)
                    assert phrasing.list_fragments(form), (form, query)
                for text in texts:
                    found = sorted(re.findall(r"\[([^]]+)\]", text))
                    assert found == sorted(query.placeholders), (text, query)
                    assert not re.search(r"  |\bthe the\b| $|^ |,,|\.\.", text), text
                    seen += 1
    assert seen > 240


def test_most_wordings_of_a_plain_schema_keep_the_rules(tmp_path):
    path = tmp_path / "shelves.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SHELVES)
    schema = reflect(path)
    params = TextTemplates(criteria={"short": {"prompt": "texts/short", "samples": 1, "maximum_words": 30}})
    for query in (LONGEST, MEAN, TITLES, EITHER):
        for text in Phrasing(query, schema).list_fragments("wanted"):
            assert parse_reply(text, query, verbalise_query(query, schema), schema, params.criteria["short"])


def ask_for(constrain, reply, samples=3):
    query = Query(("clinics.town",), (), ("clinics.name",))
    template = SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, 1, ()
    )
    criteria = {
        "short": {"prompt": "texts/short", "samples": samples, "forms": ["wanted", "given", "asking"]},
        "long": {"prompt": "texts/long", "samples": samples, "maximum_words": 60, "sentences": True,
                 "openings": ["Could you tell me", "Would you know"],
                 "circumstances": ["I am sorting my notes", "I am writing a page", "I am in a quiz"]},
    }  # fmt: skip
    ask = ScriptedAsk(reply)
    group = type("Group", (), {"sql_template": template.id})
    settings = {"roles.generator.constrain": constrain}
    drafts = asyncio.run(
        text_templates([template], [], [group], SCHEMA, settings, TextTemplates(criteria=criteria), ask)
    )
    return drafts, ask


def first_offer(asked):
    return json.loads(re.search(r'"(?:\\.|[^"\\])*"', asked.grammar)[0])


def test_a_held_model_picks_a_wording_and_no_two_requests_offer_the_same():
    drafts, ask = ask_for("grammar", first_offer)
    assert len(drafts.rows) == len({row.text for row in drafts.rows}) == len(ask.asked)
    offers = [set(re.findall(r'"((?:\\.|[^"\\])*)"', asked.grammar)) for asked in ask.asked]
    shorts = offers[: sum("Search:" in asked.text for asked in ask.asked)]
    assert sum(map(len, shorts)) == len(set().union(*shorts))
    for row in drafts.rows:
        if row.criterion == "long":
            assert re.match(r"I am [a-z ]+ and one of them is missing\. [CW]ould", row.text)


def test_what_was_not_offered_is_no_wording():
    drafts, _ = ask_for("grammar", lambda _: "town of the clinic [clinics.name] in Vex")
    assert not drafts.rows
    assert {row.reason for row in drafts.dropped} == {"no_wording"}


def test_where_no_wording_is_left_it_says_so():
    drafts, ask = ask_for("grammar", first_offer, samples=40)
    missing = [row for row in drafts.dropped if row.reason == "no_wording"]
    assert missing
    assert len(ask.asked) + len(missing) == 80


def test_a_link_belongs_to_the_table_that_begins_its_name():
    companies = [
        column("companies.company_id", "integer", key=True, ask=False),
        column("companies.company_name"),
        column("film_companies.company_id", "integer", references="companies.company_id"),
        column("film_companies.film_id", "integer", references="films.film_id"),
    ]
    made = (
        ("companies.company_id", "film_companies.company_id"),
        ("film_companies.film_id", "films.film_id"),
    )
    query = Query(("companies.company_name",), made, ("films.title",))
    assert "Which company is listed for the film [films.title]?" in word(
        query, [*FILMS, *companies], opening=""
    )
