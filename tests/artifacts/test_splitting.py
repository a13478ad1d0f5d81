"""Tests that every stage that splits has the same result in shards as undivided."""

from dataclasses import replace
from operator import attrgetter

import pytest

from bench.evidence import RELATIONS, UNIT, make_facts, name_place, write_source
from tasks.artifacts.rows import Drafts
from tasks.artifacts.splitting import Blocks, find_splitting
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.proofs import Proofs, proofs
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.articles import articles
from tasks.tanq.graph.things import Thing
from tasks.tanq.score.scores import scores
from tests.grammar.construct.test_fill_in import JOINED, NAMED, make_template
from tests.grammar.scripted import SCHEMA, make_database
from tests.tanq.scored_items import PERFECT, make_item, make_prediction

by_id = attrgetter("id")


def run_in_shards(function, rows, arguments) -> tuple[Drafts, int]:
    """Run a stage in shards of several rows, in reverse order; return the merged result and shard count."""
    splitting = replace(find_splitting(function), rows=rows)
    blocks = splitting.cut(arguments)
    parts = [function(**{**arguments, splitting.over: block}) for block in reversed(blocks)]
    kept = sorted((row for part in parts for row in part.rows), key=by_id)
    return Drafts(kept, sorted((row for part in parts for row in part.dropped), key=by_id)), len(blocks)


def hold(function, rows, blocks, **arguments):
    """Assert that a stage has the same rows in shards as undivided; return the rows."""
    whole = function(**arguments)
    parted, count = run_in_shards(function, rows, arguments)
    assert count == blocks
    assert list(parted.rows) == sorted(whole.rows, key=by_id)
    assert list(parted.dropped) == sorted(whole.dropped, key=by_id)
    return whole


def test_templates_are_filled_by_some(tmp_path):
    database = DatabaseEntry(name="clinic", file=make_database(tmp_path / "clinic.sqlite"))
    templates = [make_template(query) for query in (NAMED, JOINED)]
    whole = hold(
        fill_in,
        1,
        2,
        sql_templates=templates,
        schema=SCHEMA,
        database=database,
        params=FillIn(cap=2, every_value_matters=False),
    )
    assert len({group.sql_template for group in whole.rows}) == 2
    assert whole.dropped


def test_evidence_is_looked_for_by_some_facts(tmp_path):
    number = 20
    write_source(tmp_path, number)
    things = [Thing(f"t{n}", name_place(n), (), name_place(n), (), ()) for n in range(number)] + [UNIT]
    facts = [fact for n in range(number) for fact in make_facts(n, number)]
    articles(things, GraphSource(graph=tmp_path, articles=tmp_path, seeds=tmp_path), tmp_path / "out")
    asked = [
        ExtendedQuestion(name, "s", "", (), (), tuple(fact.id for fact in some), ())
        for name, some in (("a", facts[:40]), ("b", facts[20:50]))
    ]
    whole = hold(
        proofs,
        7,
        8,
        extend=asked,
        facts=facts,
        things=things,
        relations=RELATIONS,
        articles=tmp_path / "out",
        params=Proofs(most=1),
    )
    assert {row.reason for row in whole.dropped} == {"no_mention", "more_proofs"}


def test_predictions_are_scored_by_some():
    predictions = [
        replace(make_prediction(table=table), id=f"p{number}")
        for number, table in enumerate([PERFECT, PERFECT[:3], None, PERFECT[1:], PERFECT])
    ]
    assert len(hold(scores, 2, 3, items=[make_item()], predictions=predictions).rows) == 5


def test_blocks_are_neighbours_and_the_last_may_be_short():
    blocks = Blocks(list("abcde"), 2)
    assert list(blocks) == [["a", "b"], ["c", "d"], ["e"]]
    assert (len(blocks), len(Blocks([], 2))) == (3, 0)
    for number in (-1, 3):
        with pytest.raises(IndexError):
            blocks[number]
