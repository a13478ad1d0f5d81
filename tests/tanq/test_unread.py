"""Tests that no question has an answer that an unread statement could change."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Drafts
from tasks.errors import BadInput, StageFailed
from tasks.sources.importers.wikidata import write_all
from tasks.sources.wikidata.entities import EntitySelection, Sitelink
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.rows import EntityRow
from tasks.sources.wikidata.table import PropertyColumn, TableSource
from tasks.tanq.build.extend import Extend, ExtendedQuestion, extend
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.facts import facts
from tasks.tanq.graph.graph_files import read_entities
from tasks.tanq.graph.relations import relations
from tasks.tanq.graph.seed_question import COMPOSITION, SIMPLE, SeedQuestion
from tasks.tanq.graph.things import things
from tasks.tanq.graph.unread import unread
from tests.tanq.made_dump import (
    BORN_IN,
    CITY,
    CLASS,
    DIRECTOR,
    FARLAND,
    FILM,
    HUMAN,
    LAND,
    LENGTH,
    MADE_IN,
    NEARLAND,
    NOUNS,
    amount,
    ask,
    film,
    import_lines,
    labelled,
    list_texts,
    make,
    make_world,
    snak,
    state,
)

FAR, NEAR = "Which films were made in Thing Q30?", "Which films were made in Thing Q31?"
BY_ONE, BY_OTHER = (f"Which films were directed by Thing {name}?" for name in ("Q201", "Q202"))


def test_a_whole_graph_is_asked_in_full(tmp_path: Path) -> None:
    entry = import_lines(tmp_path, *make_world().values())
    drafts = ask(entry)
    asked = list_texts(drafts)
    assert asked[FAR] == asked[BY_ONE] == {"Q300", "Q301", "Q302", "Q303"}
    assert asked[NEAR] == asked[BY_OTHER] == {"Q304", "Q305", "Q306"}
    assert asked["Which films were directed by the person whose place of birth is Thing Q41?"] == asked[FAR]
    assert not [row for row in drafts.dropped if row.reason == "incomplete"]
    assert unread(entry).rows == []


@pytest.mark.parametrize(
    ("line", "gone", "named"),
    [
        (film(8, director="somevalue"), {FAR: True, BY_ONE: False, BY_OTHER: False}, "unknown value"),
        (film(8, director="novalue", land=NEARLAND), {FAR: True, BY_ONE: True}, ""),
        (film(8, state(DIRECTOR, "somevalue", "deprecated")), {FAR: True, BY_ONE: True}, ""),
        (film(8, state(DIRECTOR, "novalue", "preferred")), {FAR: True, BY_ONE: True}, ""),
        (film(8, state(DIRECTOR, "somevalue", "preferred")), {BY_ONE: False, BY_OTHER: False}, "unknown"),
        (film(8, state(DIRECTOR, "Q202", "preferred")), {BY_ONE: True, BY_OTHER: True}, ""),
        (film(8, director="Q999"), {FAR: True, BY_ONE: True, BY_OTHER: True}, ""),
        (labelled(None), {BY_ONE: False, FAR: True}, "Q308"),
        (labelled("fr"), {BY_ONE: False, NEAR: True}, "Q308"),
        (labelled("mul"), {BY_ONE: True}, ""),
        (labelled("en", "somevalue"), {BY_ONE: False, BY_OTHER: True}, "P31"),
        (labelled("en", HUMAN, "somevalue"), {BY_ONE: True, FAR: True}, ""),
        ({**film(8), "claims": {**film(8)["claims"], DIRECTOR: 7}}, {BY_ONE: False, FAR: True}, "P57"),
        ({"type": "lexeme", "id": "L3"}, {BY_ONE: True, NEAR: True}, ""),
        (film(8, {**state(DIRECTOR, "Q202"), "rank": "best"}), {BY_ONE: False, BY_OTHER: False}, "rank"),
        (film(8, {**state(DIRECTOR, "Q202"), "mainsnak": {**snak(DIRECTOR, "Q1"), "datavalue": 3}}),
         {BY_ONE: True, BY_OTHER: False}, "broken claim"),
    ],
)  # fmt: skip
def test_what_was_not_read_takes_away_what_it_bears_on_alone(
    tmp_path: Path, line: object, gone: dict[str, bool], named: str
) -> None:
    drafts = ask(import_lines(tmp_path, *make_world().values(), line))
    asked = list_texts(drafts)
    assert {text: text in asked for text in gone} == gone
    dropped = {row.id: row.detail for row in drafts.dropped if row.reason == "incomplete"}
    left = [detail for detail in dropped.values() if any(detail.endswith(text) for text in gone)]
    assert len(left) >= sum(not whole for whole in gone.values())
    assert all(named in detail for detail in left)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ({**film(8), "claims": "none"}, "Q308: broken claims"),
        ('{"type": "item", "id": "Q308", "cl', "broken line"),
        ({"type": "item", "id": "Q0"}, "broken entity"),
        ([7], "broken entity"),
        ({"id": "Q308"}, "Q308: broken entity"),
    ],
)
def test_an_item_that_was_not_read_could_be_an_answer_of_any_list(
    tmp_path: Path, line: object, named: str
) -> None:
    entry = import_lines(tmp_path, *make_world().values(), line)
    with pytest.raises(StageFailed, match=f"incomplete: .*; the first: {named}"):
        ask(entry)


def extend_far(entry: GraphSource, **params: object) -> Drafts[ExtendedQuestion]:
    found = list(facts(entry).rows)
    known, own = list(things(found, entry).rows), list(relations(found, entry).rows)
    seed = next(row for row in ask(entry).rows if row.text == FAR)
    return extend([seed], found, known, own, list(unread(entry).rows), Extend.model_validate(params))


def test_a_column_is_not_asked_for_of_which_a_cell_was_not_read(tmp_path: Path) -> None:
    world = make_world()
    whole = extend_far(import_lines(tmp_path / "whole", *world.values()), relations=(2, 2))
    assert whole.rows[0].relations == (DIRECTOR, LENGTH)
    # A second length in another unit, and a second director without a label: both are values of the cells.
    world["Q300"] = film(0, amount("+90"), amount("+2", "Q4917"))
    world["Q301"] = film(1, amount("+90"), state(DIRECTOR, "Q999"))
    entry = import_lines(tmp_path / "part", *world.values())
    assert {(row.entity, row.reason) for row in unread(entry).rows} == {
        ("Q300", "other_unit"),
        ("Q301", "not_shown"),
    }
    with pytest.raises(StageFailed, match="none of the 1 list questions"):
        extend_far(entry, relations=(1, 1))
    world["Q301"] = film(1, amount("+90"))
    assert extend_far(import_lines(tmp_path / "one", *world.values())).rows[0].relations == (DIRECTOR,)


def test_a_value_that_was_not_read_makes_a_description_doubtful(tmp_path: Path) -> None:
    composed = "Which films were directed by the person whose place of birth is Thing Q41?"
    asked = list_texts(ask(import_lines(tmp_path / "a", *make_world().values())))
    assert composed in asked
    other = make("Q203", state(CLASS, HUMAN), state(BORN_IN, "somevalue"))
    drafts = ask(import_lines(tmp_path / "b", *make_world().values(), other))
    assert composed not in list_texts(drafts)
    assert any(row.detail.startswith("P19 of Q203: unknown value") for row in drafts.dropped)
    # A city with an unknown place of birth, which is not a person, has no effect.
    city = make("Q43", state(CLASS, CITY), state(BORN_IN, "somevalue"))
    assert composed in list_texts(ask(import_lines(tmp_path / "c", *make_world().values(), city)))


def test_values_of_old_ids_are_those_of_the_new_ones(tmp_path: Path) -> None:
    old = film(8, director="Q9")
    moves = [{"entity": "Q9", "redirect": "Q8"}, {"entity": "Q8", "redirect": "Q202"}]
    asked = list_texts(ask(import_lines(tmp_path, *moves, *make_world().values(), old)))
    assert asked[BY_OTHER] == {"Q304", "Q305", "Q306", "Q308"}
    assert asked[FAR] == {"Q300", "Q301", "Q302", "Q303", "Q308"}


def import_table(folder: Path, *rows: tuple[str | None, ...]) -> GraphSource:
    """Import a table of films and two countries. Each entity has an article named like its id."""
    folder.mkdir(parents=True)
    path = folder / "films.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE things (qid, label, kind, land, born)")
        named = [(name, f"Thing {name}", None, None, None) for name in (FARLAND, NEARLAND, FILM)]
        connection.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?)", [*named, *rows])
    columns = [
        PropertyColumn("kind", CLASS),
        PropertyColumn("land", MADE_IN),
        PropertyColumn("born", BORN_IN),
    ]
    with (folder / "skipped.jsonl").open("w") as skipped:
        report = ReadingReport(lambda line: print(line, file=skipped))
        write_all(folder, TableSource(path, columns).read(EntitySelection(), report), report)
    rows_read = [replace(row, sitelinks=(Sitelink("enwiki", row.id),)) for row in read_entities(folder)]
    write_rows(folder / "entities.parquet", EntityRow, rows_read)
    return GraphSource(graph=folder, articles=folder, seeds=folder, nouns=NOUNS, relations={MADE_IN: None})


TABLE = [(f"Q{300 + n}", f"Film {n}", FILM, FARLAND if n < 4 else NEARLAND, None) for n in range(7)]


@pytest.mark.parametrize(
    ("row", "left"),
    [
        ((None, "Lost", FILM, FARLAND, None), {NEARLAND}),
        (("Lost", None, FILM, FARLAND, None), {NEARLAND}),
        ((None, "Lost", None, FARLAND, None), {NEARLAND}),  # of any class
        ((None, "Lost", HUMAN, FARLAND, None), {FARLAND, NEARLAND}),
        ((None, "Lost", FILM, None, None), {FARLAND, NEARLAND}),
        ((None, "Lost", FILM, "somewhere", None), set()),
        ((None, "Lost", HUMAN, None, "Q41"), {FARLAND, NEARLAND}),
        # The row may be about the film with its label, which would then be made in both countries.
        ((None, "Film 0", FILM, NEARLAND, None), {FARLAND}),
    ],
)
def test_a_row_without_an_id_bears_on_the_lists_that_it_may_be_in(
    tmp_path: Path, row: tuple[str | None, ...], left: set[str]
) -> None:
    entry = import_table(tmp_path / "a", *TABLE, row)
    if not left:
        with pytest.raises(
            StageFailed, match=r"incomplete: 2; the first: P495 of things, row \d+: no item id"
        ):
            ask(entry)
        return
    drafts = ask(entry)
    assert {seed.conditions[0].value for seed in drafts.rows} == left
    details = [drop.detail for drop in drafts.dropped if drop.reason == "incomplete"]
    assert len(details) == 2 - len(left)
    assert all("P495 of things, row" in detail or "row without an id" in detail for detail in details)


def test_an_older_import_that_counts_by_property_blocks_the_property(tmp_path: Path) -> None:
    entry = import_lines(tmp_path, *make_world().values())
    line = {
        "reason": "unknown value",
        "where": "x, line 2",
        "entity": "Q300",
        "property": DIRECTOR,
        "count": 3,
    }
    (tmp_path / "skipped.jsonl").write_text(json.dumps(line) + "\n")
    asked = list_texts(ask(entry))
    assert FAR in asked
    assert BY_ONE not in asked
    (tmp_path / "skipped.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match=r"skipped\.jsonl, line 1: was not written by an import"):
        unread(entry)


# The tests below generate dumps, and read them by independent rules that share no code with the project.


def generate(seed: int) -> list[object]:
    """Generate a dump of films, people, cities and countries with all forms of Wikidata's statements."""
    draw = random.Random(seed)
    doubt = draw.choice((0.0, 0.03, 0.1))
    people, places = [f"Q{200 + n}" for n in range(4)], [f"Q{40 + n}" for n in range(3)]
    lands, old = [FARLAND, NEARLAND], {"Q901": "Q200", "Q902": "Q901", "Q903": FARLAND}

    def pick(options: list[str], prop: str) -> list[dict[str, Any]]:
        made = []
        for _ in range(draw.choice((1, 1, 1, 2))):
            value = draw.choice(options)
            if draw.random() < doubt:
                value = draw.choice(("somevalue", "novalue", "Q999", *old))
            rank = draw.choice(("preferred", "deprecated")) if draw.random() < 0.1 else "normal"
            own = state(prop, value, rank)
            if draw.random() < doubt / 3:
                own["mainsnak"] = {"snaktype": "value", "property": prop}
            if draw.random() < doubt / 3:
                own["rank"] = "best"
            made.append(own)
        return made

    def label() -> str | None:
        if draw.random() < doubt:
            return draw.choice((None, "fr"))
        return draw.choice(("en", "en", "mul", "en-gb"))

    def is_a(target: str) -> list[dict[str, Any]]:
        value = "somevalue" if draw.random() < doubt / 2 else target
        return [state(CLASS, value)]

    lines: list[object] = [make(name) for name in (FILM, HUMAN, CITY, LAND)]
    lines += [make(name, *is_a(LAND), label="mul") for name in lands]
    lines += [make(name, *is_a(CITY), label=label()) for name in places]
    lines += [make(name, *is_a(HUMAN), *pick(places, BORN_IN), label=label()) for name in people]
    lines += [
        make(f"Q{300 + n}", *is_a(FILM), *pick(people, DIRECTOR), *pick(lands, MADE_IN), label=label())
        for n in range(draw.randint(4, 12))
    ]
    lines += [{"entity": name, "redirect": target} for name, target in old.items()]
    draw.shuffle(lines)
    return lines


class PlainReading:
    """A dump read by the rules of Wikidata's help pages: best rank, known values, unknown values."""

    def __init__(self, lines: list[object]) -> None:
        self.moved = {
            line["entity"]: line["redirect"] for line in lines if isinstance(line, dict) and "entity" in line
        }
        self.items = {line["id"]: line for line in lines if isinstance(line, dict) and "id" in line}

    def read(self, item: str, prop: str) -> tuple[set[str], bool]:
        """Return the values of an item, and whether there may be further unknown values."""
        statements = self.items[item]["claims"].get(prop, [])
        if any(statement["rank"] == "best" for statement in statements):
            return set(), True
        for rank in ("preferred", "normal"):
            if best := [statement["mainsnak"] for statement in statements if statement["rank"] == rank]:
                values = {claim["datavalue"]["value"]["id"] for claim in best if "datavalue" in claim}
                open_ = any("datavalue" not in claim and claim["snaktype"] != "novalue" for claim in best)
                return {self.resolve(value) for value in values}, open_
        return set(), False

    def resolve(self, name: str) -> str:
        while name in self.moved:
            name = self.moved[name]
        return name

    def list_having(self, class_: str, prop: str, value: str) -> tuple[set[str], set[str]]:
        """Return the items of a class that have a value, and the items that may have it."""
        sure, maybe = set(), set()
        for item in self.items:
            classes, any_class = self.read(item, CLASS)
            values, any_value = self.read(item, prop)
            if class_ in classes and value in values:
                sure.add(item)
            if (class_ in classes or any_class) and (value in values or any_value):
                maybe.add(item)
        return sure, maybe

    def answer(self, seed: SeedQuestion) -> tuple[set[str], set[str]]:
        """Return the answers of a list question, and the possible answers."""
        first = seed.conditions[0]
        if seed.kind != COMPOSITION:
            found = [
                self.list_having(seed.target, condition.relation, condition.value)
                for condition in seed.conditions
            ]
            return set.intersection(*(sure for sure, _ in found)), set.intersection(
                *(maybe for _, maybe in found)
            )
        if seed.text.startswith("Which"):
            described = seed.text.partition(" whose ")[0].rpartition(" ")[2]
            class_ = {"person": HUMAN, "film": FILM, "city": CITY}[described]
            sure, maybe = self.list_having(class_, first.through, first.value)
            assert len(sure) == 1
            if maybe != sure:
                return set(), maybe
            return self.list_having(seed.target, first.relation, next(iter(sure)))
        (asked,) = {name for name, noun in NOUNS.items() if f"of the {noun} that" in seed.text}
        sure, maybe = self.list_having(asked, first.relation, first.value)
        read = {item: self.read(item, first.through) for item in maybe}
        certain = {value for item in sure for value in read[item][0]}
        is_open = sure != maybe or any(read[item][1] for item in sure)
        return certain, certain | ({"any"} if is_open else set())


def check(seed: int, folder: Path) -> Counter[str]:
    """Check every question of a generated dump against the plain reading; return counts by outcome."""
    lines = generate(seed)
    plain = PlainReading(lines)
    try:
        entry = import_lines(folder, *lines)
        drafts = ask(entry)
    except StageFailed as failed:
        return Counter({str(failed).partition("incomplete")[1] or "nothing": 1})
    for row in drafts.rows:
        sure, maybe = plain.answer(row)
        assert {answer.entity for answer in row.answers} == sure == maybe, row.text
    dropped = [row for row in drafts.dropped if row.reason == "incomplete"]
    assert all(row.detail.count(":") >= 1 for row in dropped)
    return Counter(row.kind for row in drafts.rows) + Counter(incomplete=len(dropped))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_every_list_is_what_a_plain_reading_of_the_dump_gives(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check(seed, tmp_path_factory.mktemp("dump"))


@pytest.mark.drill
def test_every_list_of_a_thousand_dumps_is_what_a_plain_reading_gives(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(1_000):
        counts += check(seed, tmp_path / str(seed))
    assert min(counts[name] for name in (SIMPLE, COMPOSITION, "intersection", "incomplete")) > 100
