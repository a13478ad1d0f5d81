"""Stage: extend list questions with relations that all answers have (TANQ, section 3, step 1)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.settings import Settings
from tasks.tanq.build.wording import extend_text
from tasks.tanq.graph.facts import Fact, Unread
from tasks.tanq.graph.graph_files import INSTANCE_OF
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.things import Thing
from tasks.tanq.graph.unread import UnreadIndex, name_statement


@dataclass(frozen=True)
class ExtendedQuestion:
    """A row of stage `extend`: a list question with relations that all its answers have (step 1).

    facts: the ids of the facts that state the answers' values for the relations.
    """

    id: str
    seed: str
    text: str
    relations: tuple[str, ...]
    entities: tuple[str, ...]
    facts: tuple[str, ...]
    origin: tuple[Origin, ...]


class Extend(Settings):
    """The settings in params.yaml under `tanq.extend`."""

    relations: tuple[int, int] | Literal["all"] = (1, 3)
    """Minimum and maximum number of relations per question.

    `all` makes one question per list question, with every relation that the answers have.
    """
    without: tuple[str, ...] = ()
    """Relations to exclude from extension, for example because articles do not state their values."""
    a_seed: int = Field(default=1, gt=0)
    """Number of extended questions per list question, each with different relations."""
    most_values: int = Field(default=5, gt=0)
    """Maximum number of values that an answer may have for a relation."""
    clear: bool = False
    """Exclude relations that could also refer to the intermediate entities of a question.

    For example, in a question about headquarters of companies, `their dates of founding` could mean the
    companies' dates.
    """
    leads_back: bool = False
    """Allow relations whose values are all intermediate entities of a question.

    For example, a question about the capitals of Peru's neighbours may ask for the country of each capital.
    """


def extend(
    seeds: list[SeedQuestion],
    facts: list[Fact],
    things: list[Thing],
    relations: list[Relation],
    unread: list[Unread],
    params: Extend,
) -> Drafts[ExtendedQuestion]:
    """Extend list questions with relations; the relations with the fewest uses so far come first.

    Excludes relations in the question's conditions, relations whose values the question names, and relations
    for which a value could not be read. Drop reasons: `no_relation` (the answers have too few relations in
    common); `incomplete` (too few relations were read completely). Raises StageFailed if no question can be
    extended.
    """
    index = UnreadIndex(unread, ())
    by_entity: defaultdict[str, defaultdict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in sorted(facts, key=lambda fact: fact.id):
        by_entity[fact.entity][fact.relation].append(fact)
    by_id = {thing.id: thing for thing in things}
    used: Counter[str] = Counter()
    rows: list[ExtendedQuestion] = []
    dropped: list[Dropped] = []
    least = 1 if isinstance(params.relations, str) else params.relations[0]
    for seed in seeds:
        origin = (Origin("row", f"seeds#{seed.id}"),)
        asked_of = [relation for relation in relations if relation.id not in params.without]
        open_to = [relation for relation in asked_of if can_ask(relation, seed, by_entity, params)]
        whole, missed = [], ""
        for relation in open_to:
            cells = (index.find_cell(answer.entity, relation.id) for answer in seed.answers)
            if cell := next(filter(None, cells), None):
                missed = missed or name_statement(cell)
            else:
                whole.append(relation)
        choices = draw_relations(seed.id, whole, used, params)
        if missed and (len(whole) < least or not choices):
            dropped.append(Dropped(seed.id, "incomplete", f"{missed}: {seed.text}", origin))
        elif len(whole) < least or not choices:
            detail = f"{len(open_to)} relations hold for all {len(seed.answers)} answers: {seed.text}"
            dropped.append(Dropped(seed.id, "no_relation", detail, origin))
        for choice in choices:
            asked = sorted(choice, key=lambda relation: (relation.rank, relation.id))
            entities = tuple(answer.entity for answer in seed.answers)
            rows.append(
                ExtendedQuestion(
                    make_id("extend", seed.id, [relation.id for relation in asked]),
                    seed.id,
                    extend_text(seed.text, asked, by_id),
                    tuple(relation.id for relation in asked),
                    entities,
                    tuple(
                        fact.id
                        for name in entities
                        for relation in asked
                        for fact in by_entity[name][relation.id]
                    ),
                    origin,
                )
            )
    if not rows:
        raise StageFailed(
            f"none of the {len(seeds)} list questions can be extended; the .dropped file gives the reasons"
        )
    return Drafts(rows, dropped)


def list_wanted(questions: Iterable[ExtendedQuestion], facts: Iterable[Fact]) -> list[Fact]:
    """List the facts that the questions use."""
    wanted = {fact for question in questions for fact in question.facts}
    return [fact for fact in facts if fact.id in wanted]


def can_ask(
    relation: Relation,
    seed: SeedQuestion,
    facts: Mapping[str, Mapping[str, Sequence[Fact]]],
    params: Extend,
) -> bool:
    """Return whether a question can be extended with a relation.

    All answers must have the relation, with at most `most_values` values per answer. The relation must not be
    a condition of the question, and the question must not name all values of the relation. Unless
    `leads_back` is set, the relation's values must not all be intermediate entities of the question. If
    `clear` is set, the relation must not be ambiguous; see `is_ambiguous`.
    """
    if any(relation.id in (condition.relation, condition.through) for condition in seed.conditions):
        return False
    told = led_back = True
    for answer in seed.answers:
        own = facts.get(answer.entity, {}).get(relation.id, ())
        if not 0 < len(own) <= params.most_values:
            return False
        told = told and any(says_value(seed.text, fact.shown) for fact in own)
        led_back = led_back and all(fact.value.item in answer.through for fact in own)
    if params.clear and is_ambiguous(relation, seed, facts):
        return False
    return not (told or (led_back and not params.leads_back))


def says_value(text: str, value: str) -> bool:
    """Return whether a text contains a value.

    A name may be part of a word, because "Kenyan" reveals Kenya. A number must be a separate word: "Thing
    Q30" does not contain 0.
    """
    before = r"(?<!\w)(?<!\w[-.,])" if value[:1].isdigit() else ""
    behind = r"(?!\w|[-.,]\w)" if value[-1:].isdigit() else ""
    return re.search(f"{before}{re.escape(value)}{behind}", text) is not None


def is_ambiguous(
    relation: Relation, seed: SeedQuestion, facts: Mapping[str, Mapping[str, Sequence[Fact]]]
) -> bool:
    """Return whether `their` could also refer to intermediate entities that have the relation.

    Intermediate entities in the answers' class do not count.
    """
    between = {thing for answer in seed.answers for thing in answer.through}
    others = {
        thing
        for thing in between
        if seed.target not in {fact.value.item for fact in facts.get(thing, {}).get(INSTANCE_OF, ())}
    }
    return any(facts.get(thing, {}).get(relation.id) for thing in others)


def draw_relations(
    seed: str, relations: Sequence[Relation], used: Counter[str], params: Extend
) -> list[tuple[Relation, ...]]:
    """Choose at most `a_seed` combinations of relations for a question, and update the counts in `used`."""
    if isinstance(params.relations, str):
        return [tuple(relations)] if relations else []
    least, most = params.relations
    chosen: list[tuple[Relation, ...]] = []
    for place in range(params.a_seed):
        # A hash of the list question's id varies the number of relations reproducibly.
        size = least + int(make_id(seed, place), 16) % (most - least + 1)
        options = [
            choice
            for choice in combinations(relations, min(size, len(relations)))
            if choice and choice not in chosen and len(choice) >= least
        ]
        if not options:
            break
        best = min(
            options,
            key=lambda choice: (
                sum(used[relation.id] for relation in choice),
                make_id(seed, [relation.id for relation in choice]),
            ),
        )
        used.update(relation.id for relation in best)
        chosen.append(best)
    return chosen
