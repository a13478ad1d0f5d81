"""Tests of list questions on a fictitious graph, against results by hand: selection and extension."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Drafts
from tasks.errors import StageFailed
from tasks.tanq.build.extend import Extend, ExtendedQuestion, can_ask, extend
from tasks.tanq.build.seeds import Seeds, seeds
from tasks.tanq.entries import GraphSource, RelationWords, TanqSet
from tasks.tanq.graph.facts import Fact, Unread, facts
from tasks.tanq.graph.list_questions import ListQuestions, list_questions
from tasks.tanq.graph.relations import Relation, relations
from tasks.tanq.graph.seed_question import COMPOSITION, INTERSECTION, SIMPLE, SeedQuestion
from tasks.tanq.graph.showing import say_name, say_value
from tasks.tanq.graph.things import Thing, things
from tasks.tanq.graph.unread import unread
from tests.tanq.made_graph import item, write_graph

TWO_UP = ListQuestions(answers=(2, 5))


def read_all(entry: GraphSource) -> tuple[list[Fact], list[Thing], list[Relation], list[Unread]]:
    found = facts(entry).rows
    own = list(things(found, entry).rows), list(relations(found, entry).rows)
    return list(found), *own, list(unread(entry).rows)


def ask(entry: GraphSource, params: ListQuestions = TWO_UP) -> dict[str, SeedQuestion]:
    return {row.text: row for row in list_questions(*read_all(entry), entry, params).rows}


def group(found: list[Fact]) -> dict[str, dict[str, list[Fact]]]:
    grouped: defaultdict[str, defaultdict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in found:
        grouped[fact.entity][fact.relation].append(fact)
    return {entity: dict(listed_facts) for entity, listed_facts in grouped.items()}


def list_answers(seed: SeedQuestion) -> list[str]:
    return [answer.entity for answer in seed.answers]


def test_one_condition(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path))
    seed = asked["Which lands border Varn?"]
    assert seed.kind == SIMPLE
    assert list_answers(seed) == ["Mirr", "Ostel", "Pell"]
    assert list_answers(asked["Which lands have Ostish as an official language?"]) == ["Ostel", "Pell"]


def test_two_conditions_that_both_tell(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path, item("Tolo", "P37", "Ostish")))
    both = [seed for seed in asked.values() if seed.kind == INTERSECTION]
    seed = asked["Which lands have Ostish as an official language and border Varn?"]
    assert list_answers(seed) == ["Ostel", "Pell"]  # Tolo only speaks it, and Mirr only borders
    assert seed.near == ("Mirr", "Tolo")
    assert {condition.relation for condition in seed.conditions} == {"P37", "P47"}
    assert all(len({condition.relation for condition in question.conditions}) == 2 for question in both)


def test_a_condition_that_adds_nothing_is_not_asked(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path))
    assert "Which lands are in South and have Mirrian as an official language?" not in asked  # the same two


def test_through_another_thing_and_what_it_was(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path))
    seed = asked["Which lands border the land whose capital is Varn City?"]
    assert seed.kind == COMPOSITION
    assert {name for answer in seed.answers for name in answer.through} == {"Varn"}
    seed = asked["What are the capitals of the lands that are in South?"]
    assert list_answers(seed) == ["Mirr City", "Tolo City"]
    assert [answer.through for answer in seed.answers] == [("Mirr",), ("Tolo",)]


def test_a_class_in_part_is_not_listed_by_what_its_things_do(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    assert not [text for text in ask(entry) if text.startswith("Which cities")]
    complete = entry.model_copy(update={"incomplete": ()})
    assert "Which cities are in South?" in ask(complete)


def test_a_land_is_not_called_by_what_two_share(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path))
    assert not [text for text in asked if "whose official language is" in text]


def test_neighbours_of_lands_are_not_asked_for(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path))
    assert not [text for text in asked if text.startswith("What are the neighbouring")]


def test_answers_are_as_many_as_asked_for(tmp_path: Path) -> None:
    asked = ask(write_graph(tmp_path), ListQuestions(answers=(3, 3)))
    assert asked
    assert {len(seed.answers) for seed in asked.values()} == {3}


def test_a_shape_has_so_many_and_the_rest_is_named(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    drafts = list_questions(*read_all(entry), entry, ListQuestions(answers=(2, 5), a_shape=1))
    assert max(Counter(row.shape for row in drafts.rows).values()) == 1
    assert "many_alike" in {row.reason for row in drafts.dropped}


def test_imported_questions_must_be_of_the_graph(tmp_path: Path) -> None:
    entry = write_graph(tmp_path / "graph")
    own = ask(entry)["Which lands border Varn?"]
    strange = replace(own, id="s", answers=(replace(own.answers[0], entity="Q404"), *own.answers[1:]))
    write_rows(tmp_path / "seeds.parquet", SeedQuestion, [own, strange])
    imported = entry.model_copy(update={"seeds": tmp_path / "seeds.parquet"})
    drafts = list_questions(*read_all(imported), imported, TWO_UP)
    assert [row.id for row in drafts.rows] == [own.id]
    assert [(row.id, row.reason) for row in drafts.dropped] == [("s", "no_entity")]


def test_a_graph_that_answers_nothing_fails_in_a_line(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    with pytest.raises(StageFailed, match="list questions can be used"):
        list_questions(*read_all(entry), entry, ListQuestions(answers=(40, 50)))


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("Netherlands", "the Netherlands"),
        ("United States", "the United States"),
        ("Czech Republic", "the Czech Republic"),
        ("Republic of the Congo", "the Republic of the Congo"),
        ("Marshall Islands", "the Marshall Islands"),
        ("The Gambia", "The Gambia"),
        ("Peru", "Peru"),
    ],
)
def test_names_that_take_the_article(label: str, said: str) -> None:
    assert say_name(label) == said


def test_a_value_takes_the_article_of_its_condition() -> None:
    assert say_value("Omani rial", "use the {}") == "the Omani rial"
    assert say_value("Lima", "have {} as their capital") == "Lima"


def test_kinds_and_shapes_are_taken_in_turn(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    listed = list(ask(entry).values())
    drafts = seeds(listed, Seeds(a_question=1), TanqSet(source="made", questions=6))
    assert len(drafts.rows) == 6
    assert {row.kind for row in drafts.rows} == {SIMPLE, INTERSECTION, COMPOSITION} & {
        row.kind for row in listed
    }
    assert len({tuple(list_answers(row)) for row in drafts.rows}) == 6  # all answers differ
    assert drafts.rows == seeds(listed[::-1], Seeds(a_question=1), TanqSet(source="made", questions=6)).rows
    taken = {row.id for row in drafts.rows}
    assert {drop.id: (drop.reason, drop.origin) for drop in drafts.dropped} == {
        row.id: ("not_taken", row.origin) for row in listed if row.id not in taken
    }


def extend_one(entry: GraphSource, text: str, **params: object) -> Drafts[ExtendedQuestion]:
    own = read_all(entry)
    seed = next(row for row in list_questions(*own, entry, TWO_UP).rows if row.text == text)
    return extend([seed], *own, Extend.model_validate(params))


def test_relations_hold_for_all_answers_and_are_not_asked_already(tmp_path: Path) -> None:
    drafts = extend_one(write_graph(tmp_path), "Which lands are in South?", relations=(2, 3))
    row = drafts.rows[0]
    assert "P30" not in row.relations  # used by the question
    assert "P47" not in row.relations  # Tolo borders nobody
    assert set(row.relations) <= {"P36", "P37", "P2046"}
    assert row.entities == ("Mirr", "Tolo")
    assert row.text.startswith("Which lands are in South and what are their ")
    assert ("square kilometres" in row.text) == ("P2046" in row.relations)


def test_facts_are_those_of_every_answer_and_relation(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    row = extend_one(entry, "Which lands are in South?", relations=(1, 1)).rows[0]
    known = {fact.id: fact for fact in facts(entry).rows}
    assert {known[name].entity for name in row.facts} == {"Mirr", "Tolo"}
    assert {known[name].relation for name in row.facts} == set(row.relations)


def test_a_relation_with_many_values_is_not_taken(tmp_path: Path) -> None:
    more = [item("Mirr", "P37", f"Tongue {place}") for place in range(6)]
    entry = write_graph(tmp_path, *more)
    row = extend_one(entry, "Which lands are in South?", relations=(2, 3)).rows[0]
    assert row.relations == ("P36", "P2046")


def test_several_of_a_list_question_have_different_relations(tmp_path: Path) -> None:
    rows = extend_one(write_graph(tmp_path), "Which lands are in South?", relations=(1, 1), a_seed=3).rows
    assert len({row.relations for row in rows}) == len(rows) == 3


def test_all_relations_that_hold_are_taken_where_all_are_asked_for(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    (row,) = extend_one(entry, "Which lands are in South?", relations="all", a_seed=3).rows
    known = {row.id: row for row in read_all(entry)[2]}
    # Not P30, which the question uses, P47, which Tolo lacks, or P571, which has no fact.
    assert set(row.relations) == {"P36", "P37", "P2046"}
    assert list(row.relations) == sorted(row.relations, key=lambda name: (known[name].rank, name))
    alone = entry.model_copy(update={"relations": {"P30": None}})
    with pytest.raises(StageFailed, match="none of the 1 list questions can be extended"):
        extend_one(alone, "Which lands are in South?", relations="all")


def test_a_relation_that_leads_back_to_what_answers_were_found_by_is_not_asked(tmp_path: Path) -> None:
    found, _, known, _ = read_all(write_graph(tmp_path))
    capital = {fact.entity: fact.value.item for fact in found if fact.relation == "P36"}
    (seed,) = (row for row in ask(write_graph(tmp_path)).values() if row.text == "Which lands are in South?")
    answers = tuple(replace(answer, through=(str(capital[answer.entity]),)) for answer in seed.answers)
    open_to = {
        relation.id: can_ask(relation, replace(seed, answers=answers), group(found), Extend())
        for relation in known
    }
    assert not open_to["P36"]
    assert open_to["P37"]
    back = next(relation for relation in known if relation.id == "P36")
    assert can_ask(back, replace(seed, answers=answers), group(found), Extend(leads_back=True))
    assert can_ask(next(relation for relation in known if relation.id == "P36"), seed, group(found), Extend())


def test_a_relation_that_things_on_the_way_have_too_is_ambiguous(tmp_path: Path) -> None:
    found, _, known, _ = read_all(write_graph(tmp_path))
    asked = ask(write_graph(tmp_path))
    capitals = next(
        row for row in asked.values() if row.text == "What are the capitals of the lands that border Varn?"
    )
    lands = next(row for row in asked.values() if row.text.startswith("Which lands border the land whose"))
    continent = next(relation for relation in known if relation.id == "P30")
    # Countries and cities have a continent; `their` refers to the countries that the question asks for.
    assert [can_ask(continent, seed, group(found), Extend()) for seed in (capitals, lands)] == [True, True]
    clear = Extend(clear=True)
    assert [can_ask(continent, seed, group(found), clear) for seed in (capitals, lands)] == [False, True]


def test_a_condition_without_words_is_none(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    assert "P30" in {condition.relation for row in ask(entry).values() for condition in row.conditions}
    silent = entry.model_copy(
        update={"relations": {**entry.relations, "P30": RelationWords(words="continents")}}
    )
    asked = ask(silent).values()
    assert asked
    assert "P30" not in {condition.relation for row in asked for condition in row.conditions}


def test_a_question_that_nothing_extends_fails_where_it_is_alone(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    given = {"P30": None}
    with pytest.raises(StageFailed, match="none of the 1 list questions can be extended"):
        extend_one(entry.model_copy(update={"relations": given}), "Which lands are in South?")
