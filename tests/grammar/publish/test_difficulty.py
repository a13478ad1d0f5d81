"""Tests of query difficulty compared with Spider's and BIRD's dev sets."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.difficulty import measure_known
from tasks.grammar.publish.difficulty import (
    count_expected,
    measure_query,
    measure_set,
    read_known,
    tabulate_difficulty,
)
from tasks.grammar.publish.needed_documents import describe_needed
from tests.shared_data import SHARED, needs

PLAIN = "SELECT title FROM films WHERE year = '[films.year]'"


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (PLAIN, set()),
        ("SELECT a.x FROM a JOIN b ON a.id = b.a", {"joined"}),
        ("SELECT a.x FROM a, b, c WHERE a.id = b.a AND b.id = c.b", {"joined", "joined_twice"}),
        ("SELECT COUNT(*) FROM a", {"aggregated"}),
        ("SELECT x, MAX(y) FROM a GROUP BY x", {"aggregated", "grouped"}),
        ("SELECT x FROM a WHERE y IN (SELECT y FROM b)", {"nested"}),
        ("SELECT x FROM a UNION SELECT x FROM b", {"combined"}),
        ("SELECT x FROM a ORDER BY y LIMIT 1", {"ranked"}),
        ("SELECT x FROM a ORDER BY y", set()),
        ("SELECT x FROM a LIMIT 1", set()),
        ("SELECT x FROM a WHERE y = (SELECT MAX(y) FROM a)", {"nested", "aggregated"}),
    ],
)
def test_each_part_of_a_query_is_counted(sql, found):
    one = measure_set("one", [sql])
    shares = ("joined", "joined_twice", "aggregated", "grouped", "nested", "combined", "ranked")
    assert {name for name in shares if getattr(one, name) == 1} == found


def test_a_skeleton_is_the_same_for_other_names_values_and_aliases():
    other = measure_query('SELECT t1."name" FROM people AS t1 WHERE t1.age = 30')
    assert other.skeleton == measure_query("SELECT p.born FROM rooms AS p WHERE p.size = 7").skeleton
    assert other.skeleton != measure_query("SELECT p.born FROM rooms AS p WHERE p.size > 7").skeleton


def test_what_cannot_be_parsed_is_counted_and_in_no_share():
    assert measure_query("SELECT FROM WHERE") is None
    bad = measure_set("bad", ["SELECT FROM WHERE", PLAIN, "SELECT a.x FROM a JOIN b ON a.id = b.a"])
    assert (bad.queries, bad.unread, bad.joined) == (3, 1, 0.5)
    assert tabulate_difficulty([bad])[1][1] == ["not parsed, excluded from the shares", "1"]
    assert measure_set("none", []).joined == 0


def test_different_skeletons_are_those_to_expect_in_a_sample():
    assert count_expected(["a"] * 50 + ["b"] * 50, 100) == 2
    assert count_expected(["a"] * 3 + ["b"], 2) == pytest.approx(1.5), "b is in half of the pairs"
    assert count_expected(["a"], 2) is None


@needs("bird")
@needs("spider")
def test_the_known_figures_are_those_of_the_published_sets():
    assert measure_known(SHARED) == read_known()


def test_the_table_has_a_column_for_each_set_and_no_figure_where_a_set_is_small():
    head, rows = tabulate_difficulty([measure_set("ours", [PLAIN]), *read_known()])
    assert head == ["", "ours", "Spider, dev", "BIRD, dev"]
    assert rows[0] == ["queries", "1", "1,034", "1,534"]
    assert rows[-1][1] == "-"


def test_documents_that_name_an_asked_value_and_are_not_needed_are_distractors(tmp_path):
    def put(name, rows):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
        return tmp_path / name

    texts = ("Alien is from 1979.", "Rocky is from 1976.", "alien, again", "Aliens is from 1986.")
    documents = put("d", [{"id": str(number), "text": text} for number, text in enumerate(texts)])
    filled = put("f", [{"id": "g", "fillings": [{"value": "Alien"}]}, {"id": "h", "fillings": []}])
    asked = put(
        "q",
        [
            {"id": "1", "group": "g", "true_document_ids": ["0"]},
            {"id": "2", "group": "h", "true_document_ids": ["0", "1", "2", "3"]},
            {"id": "3", "group": "h", "true_document_ids": None},
        ],
    )
    section = describe_needed(asked, documents, filled)
    assert section.rows == [(1, 1, "1", 1), ("4 or more", 1, "0", 0), ("unknown", 1, "-", "-")]
