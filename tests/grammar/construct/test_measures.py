"""Tests of counts, means, extremes, lists and bounds: parsing, fill-in, lineage, and correct answers."""

import asyncio
import json
import sqlite3

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.reflection import reflect
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.source_rows import find_sources
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import SqlTemplate, SqlTemplates, TemplateKind, sql_templates
from tasks.grammar.construct.verbalisation import verbalise_query
from tests.grammar.scripted import ENTRY, ScriptedAsk

SHELVES = """
CREATE TABLE writers (writer_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL);
CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT, pages INTEGER, printed DATE,
    writer_id INTEGER REFERENCES writers (writer_id));
INSERT INTO writers VALUES (1, 'Ada'), (2, 'Bo'), (3, 'Cy');
INSERT INTO books VALUES (1, 'Ash', 100, '2001-01-02', 1), (2, 'Birch', 250, '2003-01-02', 1),
    (3, 'Cedar', 301, NULL, 1), (4, 'Date', 80, '2002-05-05', 2), (5, 'Elm', 180, '2002-05-06', 2),
    (6, 'Fir', NULL, '2004-05-06', 3);
"""
BY = (("books.writer_id", "writers.writer_id"),)
WHO = "writers.full_name"
COUNT = Query(("books.book_id",), BY, (WHO,), "count")
LONGER = Query(("books.book_id",), BY, ("books.pages:over", WHO), "count")
MEAN = Query(("books.pages",), BY, (WHO,), "average")
LONGEST = Query(("books.title",), BY, (WHO,), "most", "books.pages")
FIRST = Query(("books.title",), BY, (WHO,), "least", "books.printed")
TITLES = Query(("books.title",), BY, (WHO,), "list")
SPAN = Query(("books.title",), (), ("books.printed:from", "books.printed:to"), "list")
EITHER = Query(("books.title",), (), ("books.title", "books.title:other"), "most", "books.pages")
EVERY = (COUNT, LONGER, MEAN, LONGEST, FIRST, TITLES, SPAN, EITHER)


@pytest.fixture
def shelves(tmp_path):
    path = tmp_path / "shelves.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SHELVES)
    return DatabaseEntry(name="shelves", file=path)


def fill(entry, query, **params):
    template = SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, 0, ()
    )
    return fill_in([template], reflect(entry), entry, FillIn(**params))


def answers(drafts):
    return {tuple(filling.value for filling in group.fillings): group.answer for group in drafts.rows}


def reasons(drafts):
    return {row.reason: int(row.detail.split()[0]) for row in drafts.dropped}


@pytest.mark.parametrize("query", EVERY, ids=lambda query: f"{query.measure} {query.placeholders[0]}")
def test_a_query_is_read_as_it_is_written_and_answered_as_its_sql_is(shelves, query):
    schema = reflect(shelves)
    assert read_template(write_template(query), schema) == query
    groups = list(fill(shelves, query).rows)
    assert groups
    with SafeDatabase(shelves) as database:
        wanted = {group.sql: group.id for group in groups}
        keys = dict(read_keys(query, "books", wanted, schema, database))
        assert keys.keys() == set(wanted.values())
        one = {groups[-1].sql: groups[-1].id}
        assert dict(read_keys(query, "books", one, schema, database)) == {groups[-1].id: keys[groups[-1].id]}
        for group in groups:
            found = [list(row) for row in database.query(group.sql).rows]
            assert found == json.loads(group.answer_rows)
            sources = find_sources(group.sql, schema, database)
            assert [list(row) for row in sources.answer] == found
            behind = {row.key[0][1] for row in sources.rows if row.table == "books"}
            assert behind <= {key for (key,) in keys[group.id]}


def test_what_is_computed_is_what_a_person_would_say(shelves):
    assert answers(fill(shelves, COUNT)) == {("Ada",): "3", ("Bo",): "2", ("Cy",): "1"}
    assert answers(fill(shelves, MEAN)) == {("Ada",): "217", ("Bo",): "130"}
    assert answers(fill(shelves, LONGEST)) == {("Ada",): "Cedar", ("Bo",): "Elm"}
    assert answers(fill(shelves, FIRST)) == {("Ada",): "Ash", ("Bo",): "Date", ("Cy",): "Fir"}
    assert answers(fill(shelves, TITLES))["Ada",] == "Ash; Birch; Cedar"


def test_ties_gaps_and_small_groups_are_left_out_and_counted(shelves):
    with sqlite3.connect(shelves.file) as connection:
        connection.execute("INSERT INTO books VALUES (7, 'Gum', 180, NULL, 2)")
    assert reasons(fill(shelves, LONGEST)) == {"tied": 1, "empty_answer": 1}
    assert reasons(fill(shelves, COUNT, rows={"count": (2, 2)})) == {"few_rows": 1, "many_rows": 2}


def test_a_bound_leaves_out_something_and_the_writer_matters(shelves):
    found = answers(fill(shelves, LONGER))
    # Between 80 and 180 pages, 100 is the roundest bound; no other writer has a book with over 200 pages.
    assert found == {("100", "Bo"): "1"}
    assert reasons(fill(shelves, LONGER)) == {"idle_value": 2}
    only = Query(("books.book_id",), BY, ("books.pages:under", WHO), "count")
    assert answers(fill(shelves, only)) == {("200", "Ada"): "1", ("300", "Ada"): "2"}


def test_a_value_that_changes_nothing_is_idle(shelves):
    both = Query(("books.pages",), BY, ("books.title", WHO))
    drafts = fill(shelves, both)
    assert not list(drafts.rows)
    assert reasons(drafts) == {"idle_value": 6}
    assert len(list(fill(shelves, both, every_value_matters=False).rows)) == 5
    with sqlite3.connect(shelves.file) as connection:
        connection.execute("INSERT INTO books VALUES (7, 'Ash', 555, NULL, 2)")
    needed = answers(fill(shelves, both))
    assert needed == {("Ash", "Ada"): "100", ("Ash", "Bo"): "555"}


def test_two_answers_of_one_hash_are_two_answers(shelves):
    assert hash(-1) == hash(-2)
    with sqlite3.connect(shelves.file) as connection:
        connection.execute("INSERT INTO books VALUES (7, 'Gum', -1, NULL, 1), (8, 'Gum', -2, NULL, 2)")
    found = answers(fill(shelves, Query(("books.pages",), BY, ("books.title", WHO))))
    assert found == {("Gum", "Ada"): "-1", ("Gum", "Bo"): "-2"}


def test_a_pair_asks_of_two_things_that_their_names_tell_apart(shelves):
    with sqlite3.connect(shelves.file) as connection:
        connection.execute("INSERT INTO books VALUES (7, 'Elm', 555, NULL, 2)")
    found = answers(fill(shelves, EITHER))
    assert found
    assert all("Elm" not in names and answer in names for names, answer in found.items())


def test_a_row_that_two_joined_rows_belong_to_has_no_mean(shelves):
    with sqlite3.connect(shelves.file) as connection:
        connection.executescript(
            "CREATE TABLE tags (book_id INTEGER REFERENCES books (book_id), tag_name TEXT, who TEXT);"
            "INSERT INTO tags VALUES (1, 'tree', 'x'), (1, 'tree', 'y'), (2, 'tree', 'x'), (4, 'fruit', 'x');"
        )
    tagged = Query(("books.pages",), (("books.book_id", "tags.book_id"),), ("tags.tag_name",), "average")
    drafts = fill(shelves, tagged)
    assert answers(drafts) == {("fruit",): "80"}
    assert reasons(drafts) == {"multiplied": 1}


def test_other_spellings_of_a_measure_are_the_same_query(shelves):
    schema = reflect(shelves)
    spellings = {
        "SELECT MAX(books.pages) FROM books JOIN writers USING (writer_id)": BrokenRule,
        "SELECT COUNT(*) FROM books WHERE printed >= '[books.printed]'": Query(
            ("books.book_id",), (), ("books.printed:from",), "count"
        ),
        "SELECT title FROM books WHERE title IN ('[books.title:other]', '[books.title]') "
        "AND pages IS NOT NULL ORDER BY pages DESC LIMIT 1": EITHER,
        "SELECT b.title FROM books b WHERE '[books.printed:from]' <= b.printed "
        "AND b.printed <= '[books.printed]' ORDER BY b.title": SPAN,
        "SELECT MAX(pages) FROM books WHERE printed = '[books.printed]'": Query(
            ("books.pages",), (), ("books.printed",), "most", "books.pages"
        ),
    }
    for sql, query in spellings.items():
        if query is BrokenRule:
            with pytest.raises(BrokenRule):
                read_template(sql, schema)
        else:
            assert read_template(sql, schema) == query, sql


def test_words_for_measures(shelves):
    schema = reflect(shelves)
    words = {query: verbalise_query(query, schema) for query in EVERY}
    assert words[COUNT].wanted == ("number of books",)
    assert words[LONGEST].wanted == ("the book with the most pages",)
    assert words[MEAN].wanted == ("average pages of the books, to one decimal",)
    assert words[SPAN].phrases == (
        (
            "printed between [books.printed:from] and [books.printed:to]",
            "printed from [books.printed:from] to [books.printed:to]",
        ),
    )
    assert not words[COUNT].named
    assert {"how many", "number"} <= words[COUNT].required[0]


def make_params(**kind):
    whole = {"tables": (1, 2), "placeholders": 1, "templates": 3, "requests": 3, "criteria": (), **kind}
    example = {"tables": "a(b)", "sql": "SELECT DISTINCT a.c FROM a WHERE a.b = '[a.b]'"}
    return SqlTemplates(kinds={"kind": whole}, criteria={}, example=example)


def ask_for(entry, reply, constrain, **kind):
    ask = ScriptedAsk(reply)
    settings = {"roles.generator.constrain": constrain}
    drafts = asyncio.run(sql_templates(reflect(entry), [], ENTRY, settings, make_params(**kind), ask))
    return drafts, ask


def test_a_free_model_sees_the_whole_schema_and_writes_what_it_likes(shelves):
    replies = iter(
        [
            "```sql\n" + write_template(COUNT) + ";\n```",
            "SELECT COUNT(DISTINCT book_id) FROM books WHERE title = 'Ash'; DROP TABLE books",
        ]
    )
    drafts, ask = ask_for(shelves, lambda _: next(replies), "none", measure="count")
    assert [row.id for row in drafts.rows] == [COUNT.id]
    assert [row.choices for row in drafts.rows] == [0]
    assert {row.reason for row in drafts.dropped} <= {"unreadable", "uncovered"}
    for asked in ask.asked:
        assert not asked.grammar
        assert "pages integer" in asked.text
        assert "writer_id integer -> writers.writer_id" in asked.text


def test_a_held_model_chooses_and_the_row_says_among_how_many(shelves):
    drafts, ask = ask_for(shelves, lambda asked: json.loads(asked.grammar[9:].split(" | ")[0]), "grammar",
                          measure="most", placeholders=1)  # fmt: skip
    assert drafts.rows
    for row, asked in zip(drafts.rows, ask.asked, strict=False):
        assert row.choices == asked.grammar.count(" | ") + 1


@pytest.mark.parametrize(
    "kind",
    [{"compared": "over"}, {"compared": "pair", "measure": "count", "placeholders": 2},
     {"compared": "between", "measure": "count", "placeholders": 1}],
)  # fmt: skip
def test_a_kind_that_cannot_be_is_refused(kind):
    with pytest.raises(ValueError, match="needs"):
        TemplateKind(
            **{"tables": (1, 1), "placeholders": 1, "templates": 1, "requests": 1, "criteria": (), **kind}
        )
