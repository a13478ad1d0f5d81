"""Stage: import list questions, or generate list questions from a graph (TANQ, section 3, step 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pydantic import Field

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.english import make_singular
from tasks.errors import StageFailed
from tasks.settings import Settings
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.facts import Fact, Unread
from tasks.tanq.graph.relation_words import CONDITIONS
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import (
    COMPOSITION,
    INTERSECTION,
    SIMPLE,
    Condition,
    SeedAnswer,
    SeedQuestion,
    choose_pronoun,
)
from tasks.tanq.graph.showing import ITEM, say_condition, say_value
from tasks.tanq.graph.things import Thing
from tasks.tanq.graph.unread import Others, UnreadIndex, name_statement

GRAPH = "graph"


class ListQuestions(Settings):
    """The settings in params.yaml under `tanq.list_questions`."""

    answers: tuple[int, int] = (3, 8)
    """Minimum and maximum number of answers to a question."""
    a_shape: int = Field(default=200, gt=0)
    """Maximum number of generated questions with the same shape (see `SeedQuestion`)."""


def list_questions(
    facts: list[Fact],
    things: list[Thing],
    relations: list[Relation],
    unread: list[Unread],
    entry: GraphSource,
    params: ListQuestions,
) -> Drafts[SeedQuestion]:
    """Return the imported questions, or generated questions if `seeds` is the graph's folder.

    Drop reasons:

    - `incomplete`: a statement that was not read could change the answers.
    - `no_entity`: an answer of an imported question is not in the graph.
    - `no_article`: an answer has no article, and therefore no evidence.
    - `many_alike`: more than `a_shape` generated questions have the same shape.

    Raises StageFailed if no question is left.
    """
    imported = entry.seeds != entry.graph
    index = UnreadIndex(unread, facts)
    drafts = (
        [Draft(seed) for seed in read_rows(entry.seeds, SeedQuestion)]
        if imported
        else _draft(facts, things, relations, index, entry, params)
    )
    articles = {thing.id: thing.article for thing in things}
    kept: defaultdict[str, list[SeedQuestion]] = defaultdict(list)
    dropped = []
    # Sorting by a hash makes the first `a_shape` questions of a shape a reproducible random sample.
    for draft in sorted(drafts, key=lambda draft: make_id(draft.seed.id)):
        seed = draft.seed
        if draft.open is not None:
            dropped.append(Dropped(seed.id, "incomplete", f"{name_statement(draft.open)}: {seed.text}"))
        elif any(answer.entity not in articles for answer in seed.answers):
            dropped.append(Dropped(seed.id, "no_entity", seed.text))
        elif not all(articles[answer.entity] for answer in seed.answers):
            dropped.append(Dropped(seed.id, "no_article", seed.text))
        elif not imported and len(kept[seed.shape]) == params.a_shape:
            dropped.append(Dropped(seed.id, "many_alike", seed.shape))
        else:
            kept[seed.shape].append(seed)
    rows = [seed for group in kept.values() for seed in group]
    if not rows:
        reasons = Counter(drop.reason for drop in dropped)
        said = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        first = f"; {said}; the first: {dropped[0].detail}" if dropped else ""
        raise StageFailed(f"{entry.seeds}: none of the {len(drafts)} list questions can be used{first}")
    return Drafts(rows, dropped)


def _draft(
    facts: list[Fact],
    things: list[Thing],
    relations: list[Relation],
    index: UnreadIndex,
    entry: GraphSource,
    params: ListQuestions,
) -> list[Draft]:
    least, most = params.answers
    view = view_graph(facts, things, relations, entry)
    asked = list_conditions(view, index, least)
    drafts = [
        *draft_simple(view, asked),
        *draft_intersections(view, asked),
        *draft_through_values(view, index, asked),
        *draft_values(view, index, asked, least),
    ]
    return [
        draft
        for draft in {draft.seed.id: draft for draft in drafts}.values()
        if least <= len(draft.seed.answers) <= most
    ]


@dataclass(frozen=True)
class Draft:
    """A candidate for a list question.

    open: an unread statement that could change the answers of the question; None if no statement could.
    """

    seed: SeedQuestion
    open: Unread | None = None


@dataclass(frozen=True)
class FulfilledCondition:
    """A condition, with the entities of a class that meet the condition.

    by: maps each entity to the id of the fact that fulfils the condition. others: entities that may also meet
    the condition.
    """

    target: str
    condition: Condition
    words: str
    by: Mapping[str, str]
    others: Others


@dataclass(frozen=True)
class GraphView:
    """The facts of a graph, indexed by class, relation and value to generate questions."""

    things: Mapping[str, Thing]
    relations: Mapping[str, Relation]
    facts: Mapping[str, Mapping[str, Sequence[Fact]]]
    """Map each relation to a map from entities to facts. Only facts whose value is an entity are included."""
    shared: Mapping[tuple[str, str], int]
    """Map each pair of relation and value to its number of facts."""
    nouns: Mapping[str, str]
    """Map each class to the plural noun for its entities. No question asks for a class without a noun."""
    conditions: Mapping[str, str]
    """Map each relation to the wording of its condition, such as `border {}`."""
    complete: frozenset[str]
    """Classes whose entities are all in the graph.

    Conditions apply only to complete classes, because the list of answers must be complete.
    """


def view_graph(
    facts: Sequence[Fact], things: Sequence[Thing], relations: Sequence[Relation], entry: GraphSource
) -> GraphView:
    """Index the facts of a graph to generate questions."""
    own: defaultdict[str, defaultdict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    shared: Counter[tuple[str, str]] = Counter()
    for fact in sorted(facts, key=lambda fact: fact.id):
        if fact.value.kind == ITEM and fact.value.item:
            own[fact.relation][fact.entity].append(fact)
            shared[fact.relation, fact.value.item] += 1
    given = {name: relation.condition for name, relation in entry.relations.items() if relation}
    return GraphView(
        {thing.id: thing for thing in things},
        {relation.id: relation for relation in relations},
        own,
        shared,
        entry.nouns,
        {name: words for name, words in {**CONDITIONS, **given}.items() if words},
        frozenset(entry.nouns) - frozenset(entry.incomplete),
    )


def list_conditions(view: GraphView, index: UnreadIndex, least: int) -> list[FulfilledCondition]:
    """List the conditions that at least `least` entities of a class meet."""
    found: defaultdict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for name in sorted(view.relations):
        if name not in view.conditions:
            continue
        for entity, facts in view.facts.get(name, {}).items():
            for target in view.things[entity].classes:
                for fact in facts if target in view.complete else ():
                    found[target, name, fact.value.item or ""].setdefault(entity, fact.id)
    asked = []
    for (target, name, value), by in sorted(found.items()):
        thing = view.things.get(value)
        if thing is None or len(by) < least:
            continue
        words = say_condition(view.conditions[name], thing.label)
        others = index.find_others(target, name, value, by.keys())
        asked.append(FulfilledCondition(target, Condition(name, value, thing.label), words, by, others))
    return asked


def draft_simple(view: GraphView, asked: Sequence[FulfilledCondition]) -> Iterator[Draft]:
    """Draft questions with one condition, such as `Which countries border Peru?`."""
    for question in asked:
        text = f"Which {view.nouns[question.target]} {question.words}?"
        answers = [SeedAnswer(entity, (fact,), ()) for entity, fact in sorted(question.by.items())]
        shape = f"{SIMPLE} {view.nouns[question.target]} {question.condition.relation}"
        seed = make_seed(view, SIMPLE, shape, text, question.target, (question.condition,), answers)
        yield Draft(seed, question.others.first())


def draft_intersections(view: GraphView, asked: Sequence[FulfilledCondition]) -> Iterator[Draft]:
    """Draft questions with two conditions on different relations.

    Each condition excludes at least one entity that meets the other condition.
    """
    by_entity: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, question in enumerate(asked):
        for entity in question.by:
            by_entity[question.target, entity].append(place)
    pairs = {pair for places in by_entity.values() for pair in combinations(places, 2)}
    for left, other in sorted(pairs):
        first, second = asked[left], asked[other]
        both = sorted(first.by.keys() & second.by.keys())
        if first.condition.relation == second.condition.relation or len(both) in (
            len(first.by),
            len(second.by),
        ):
            continue
        relations = sorted((first.condition.relation, second.condition.relation))
        noun = view.nouns[first.target]
        seed = make_seed(
            view,
            INTERSECTION,
            f"{INTERSECTION} {noun} {' '.join(relations)}",
            f"Which {noun} {first.words} and {second.words}?",
            first.target,
            (first.condition, second.condition),
            [SeedAnswer(entity, (first.by[entity], second.by[entity]), ()) for entity in both],
            near=sorted(first.by.keys() ^ second.by.keys()),
        )
        yield Draft(seed, first.others.meet(second.others))


def draft_through_values(
    view: GraphView, index: UnreadIndex, asked: Sequence[FulfilledCondition]
) -> Iterator[Draft]:
    """Draft questions that describe a value by one of its facts, such as a country by its capital.

    An example is `Which countries border the country whose capital is Lima?`. The fact must identify the
    value uniquely.
    """
    for question in asked:
        thing = view.things[question.condition.value]
        class_ = next((name for name in thing.classes if name in view.nouns), "")
        noun = view.nouns.get(class_, "")
        for name in sorted(view.relations):
            fact = _find_telling(view, thing.id, name)
            if fact is None or not noun or name == question.condition.relation:
                continue
            single = make_singular(noun)
            value = say_value(fact.shown, view.conditions.get(name, ""))
            described = f"the {single} whose {view.relations[name].one} is {value}"
            words = view.conditions[question.condition.relation].format(described)
            condition = Condition(question.condition.relation, fact.value.item or "", fact.shown, name)
            seed = make_seed(
                view,
                COMPOSITION,
                f"{COMPOSITION} {view.nouns[question.target]} {question.condition.relation} {name}",
                f"Which {view.nouns[question.target]} {words}?",
                question.target,
                (condition,),
                [
                    SeedAnswer(entity, (by, fact.id), (thing.id,))
                    for entity, by in sorted(question.by.items())
                ],
            )
            shared = index.find_others(class_, name, fact.value.item or "", (thing.id,))
            yield Draft(seed, question.others.first() or index.find_cell(thing.id, name) or shared.first())


def draft_values(
    view: GraphView, index: UnreadIndex, asked: Sequence[FulfilledCondition], least: int
) -> Iterator[Draft]:
    """Draft questions about a relation of the entities that meet a condition.

    An example is `What are the capitals of the countries that border Peru?`.
    """
    for question in asked:
        for name in sorted(view.relations):
            relation = view.relations[name]
            if name == question.condition.relation or relation.kind != ITEM:
                continue
            found: defaultdict[str, list[Fact]] = defaultdict(list)
            values = view.facts.get(name, {})
            for fact in (fact for entity in sorted(question.by) for fact in values.get(entity, ())):
                if fact.value.item and fact.value.item in view.things:
                    found[fact.value.item].append(fact)
            targets = {target for value in found for target in view.things[value].classes}
            reached = {fact.entity for facts in found.values() for fact in facts}
            if len(targets) != 1 or not targets <= view.nouns.keys() or len(found) < least:
                continue
            if reached != question.by.keys():
                continue
            target = targets.pop()
            if (
                target == question.target
            ):  # the neighbours of countries are countries, too: the noun would be ambiguous
                continue
            noun = view.nouns[question.target]
            condition = Condition(
                question.condition.relation, question.condition.value, question.condition.shown, name
            )
            seed = make_seed(
                view,
                COMPOSITION,
                f"{COMPOSITION} {view.nouns[target]} {name} {question.condition.relation}",
                f"What are the {relation.words} of the {noun} {choose_pronoun(noun)} {question.words}?",
                target,
                (condition,),
                [
                    SeedAnswer(
                        value,
                        tuple(fact.id for fact in facts) + tuple(question.by[fact.entity] for fact in facts),
                        tuple(fact.entity for fact in facts),
                    )
                    for value, facts in sorted(found.items())
                ],
            )
            cells = (index.find_cell(entity, name) for entity in sorted(question.by))
            yield Draft(seed, question.others.first() or next(filter(None, cells), None))


def make_seed(
    view: GraphView,
    kind: str,
    shape: str,
    text: str,
    target: str,
    conditions: tuple[Condition, ...],
    answers: Sequence[SeedAnswer],
    near: Sequence[str] = (),
) -> SeedQuestion:
    """Return a question generated from the graph. near: see `SeedQuestion`."""
    facts = sorted({fact for answer in answers for fact in answer.facts})
    return SeedQuestion(
        make_id("seed", text),
        kind,
        shape,
        text,
        view.nouns[target],
        target,
        conditions,
        tuple(answers),
        (),
        GRAPH,
        tuple(Origin("row", f"facts#{fact}") for fact in facts),
        tuple(near),
    )


def _find_telling(view: GraphView, thing: str, relation: str) -> Fact | None:
    """Return an entity's fact for a relation if the fact's value identifies the entity, otherwise None.

    The fact must be the entity's only fact for the relation, and no other entity may have the same value.
    """
    own = view.facts.get(relation, {}).get(thing, ())
    return own[0] if len(own) == 1 and view.shared[relation, own[0].value.item or ""] == 1 else None
