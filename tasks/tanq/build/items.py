"""Stage: build the finished items, each with a question, an answer table, and proofs for every cell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.settings import Settings
from tasks.tanq.build.item_faults import list_faults
from tasks.tanq.build.proofs import Proof
from tasks.tanq.build.rephrase import RephrasedQuestion
from tasks.tanq.build.skills import SkilledQuestion
from tasks.tanq.build.tables import AnswerTable
from tasks.tanq.build.tanq_item import ItemProof, ItemThing, TanqItem, write_answer
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support


class Items(Settings):
    """The settings in params.yaml under `tanq.items`."""

    share: float = Field(default=0.1, gt=0, le=1)
    """Maximum share of items with the same shape.

    An item's shape is the shape of its list question plus its skills.
    """
    gaps: float = Field(default=1, ge=0, le=1)
    """Maximum share of items whose answer has an empty cell."""
    plain: float = Field(default=1, ge=0, le=1)
    """Maximum share of items without a skill."""
    classes: bool = False
    """Balance items over classes of answers; otherwise, the most common class has the most items."""


@dataclass(frozen=True)
class Made:
    """The input rows from which items are built, indexed by id."""

    seeds: Mapping[str, SeedQuestion]
    tables: Mapping[str, AnswerTable]
    rephrased: Mapping[str, RephrasedQuestion]
    facts: Mapping[str, Fact]
    things: Mapping[str, Thing]
    kinds: Mapping[str, str]
    """Map each relation to the kind of its values."""
    proofs: Mapping[str, Sequence[Proof]]
    """Map each fact to the proofs that support it."""


def items(
    skills: list[SkilledQuestion],
    rephrase: list[RephrasedQuestion],
    tables: list[AnswerTable],
    seeds: list[SeedQuestion],
    facts: Iterable[Fact],
    things: list[Thing],
    relations: list[Relation],
    proofs: Iterable[Proof],
    verify: list[ProofVerdict],
    params: Items,
    entry: TanqSet,
) -> Drafts[TanqItem]:
    """Combine questions, tables and proofs into items, and return the items selected for the set.

    Drop reasons: `answer_in_question`, `relations_out_of_order`, `noun_unlike_answers` and `unit_not_named`
    (the faults of TANQ, section 3.5), `shared_name`, and `not_chosen`. Raises StageFailed if no item is left.
    """
    made = gather(rephrase, tables, seeds, facts, things, relations, proofs, verify)
    ranks = {relation.id: relation.rank for relation in relations}
    drafts = [make_item(question, made) for question in skills]
    dropped: list[Dropped] = []
    good: list[TanqItem] = []
    for draft in drafts:
        found = next(list_faults(draft, ranks), None)
        if found:
            dropped.append(Dropped(draft.id, *found, (Origin("row", f"skills#{draft.id}"),)))
        else:
            good.append(draft)
    chosen = choose_items(good, entry.questions, params, entry.seed)
    kept = {item.id for item in chosen}
    dropped += [
        Dropped(item.id, "not_chosen", item.shape, (Origin("row", f"skills#{item.id}"),))
        for item in good
        if item.id not in kept
    ]
    if not chosen:
        raise StageFailed(
            f"none of the {len(drafts):,} questions became an item: {len(good):,} passed all checks, but no "
            f"shape may have more than {params.share:.0%} of the items (tanq.items.share)"
        )
    return Drafts(chosen, dropped)


def gather(
    rephrase: Sequence[RephrasedQuestion],
    tables: Sequence[AnswerTable],
    seeds: Sequence[SeedQuestion],
    facts: Iterable[Fact],
    things: Iterable[Thing],
    relations: Iterable[Relation],
    proofs: Iterable[Proof],
    verify: Iterable[ProofVerdict],
) -> Made:
    """Index the input rows by id, and keep only the facts and proofs that the tables use."""
    used = {fact for table in tables for row in table.rows for cell in row.cells for fact in cell.facts}
    supporting = {verdict.id for verdict in verify if verdict.label == Support.SUPPORTED}
    by_fact: defaultdict[str, list[Proof]] = defaultdict(list)
    for proof in proofs:
        if proof.id in supporting and proof.fact in used:
            by_fact[proof.fact].append(proof)
    return Made(
        {seed.id: seed for seed in seeds},
        {table.id: table for table in tables},
        {question.id: question for question in rephrase},
        {fact.id: fact for fact in facts if fact.id in used},
        {thing.id: thing for thing in things},
        {relation.id: relation.kind for relation in relations},
        by_fact,
    )


def make_item(question: SkilledQuestion, made: Made) -> TanqItem:
    """Return the item for a question with skills."""
    table = made.tables[question.question]
    seed = made.seeds[table.seed]
    rephrased = made.rephrased[question.question]
    entities = [row.entity for row in question.rows]
    used = sorted({fact for row in question.rows for cell in row.cells for fact in cell.facts})
    answers = [answer for answer in seed.answers if answer.entity in set(entities)]
    between = list(dict.fromkeys(thing for answer in answers for thing in answer.through))
    values = [value for fact in used if (value := made.facts[fact].value.item)]
    skilled = "+".join(use.name for use in question.skills) or "no skill"
    return TanqItem(
        id=question.id,
        kind=seed.kind,
        shape=f"{seed.shape}, {skilled}",
        init_qid=seed.id,
        init_question=seed.text,
        ext_question=table.text,
        ext_question_rephrased=rephrased.tagged,
        ext_question_cleaned=rephrased.text,
        question=question.text,
        noun=seed.noun,
        relations=table.relations,
        extended_types=tuple(made.kinds[relation] for relation in table.relations),
        skills=question.skills,
        columns=question.columns,
        rows=question.rows,
        answer_table=write_answer(question.columns, question.rows),
        intermediates=tuple(show_thing(thing, made.things) for thing in between),
        things=tuple(show_thing(thing, made.things) for thing in dict.fromkeys([*entities, *values])),
        instance_type=list_classes(entities, made.things),
        init_answer_proof=tuple(proof for proof in seed.proofs if proof.entity in set(entities)),
        proofs=tuple(
            make_proof(proof, made.facts[fact])
            for fact in used
            for proof in sorted(made.proofs.get(fact, ()), key=lambda proof: proof.id)
        ),
        source=seed.source,
        near=tuple(show_thing(thing, made.things) for thing in seed.near),
        origin=tuple(
            Origin("row", f"{stage}#{row}")
            for stage, row in (("skills", question.id), ("tables", table.id), ("seeds", seed.id))
        )
        + tuple(Origin("row", f"verify#{proof.id}") for fact in used for proof in made.proofs.get(fact, ())),
    )


def make_proof(proof: Proof, fact: Fact) -> ItemProof:
    """Return the item's record of a proof that supports a fact."""
    return ItemProof(
        proof.id, fact.id, fact.entity, fact.relation, fact.shown, proof.article, proof.revision,
        proof.section, proof.parent, proof.position, proof.kind, proof.headers, proof.row, proof.text,
        Support.SUPPORTED, proof.mention,
    )  # fmt: skip


def show_thing(name: str, things: Mapping[str, Thing]) -> ItemThing:
    """Return an entity with its label and article; an entity that is not in the graph has its id as label."""
    thing = things.get(name)
    return ItemThing(name, thing.label, thing.article) if thing else ItemThing(name, name, "")


def list_classes(entities: Iterable[str], things: Mapping[str, Thing]) -> tuple[str, ...]:
    """List the labels of the entities' classes, the most frequent first."""
    counts = Counter(
        things[name].label if name in things else name
        for entity in entities
        if entity in things
        for name in things[entity].classes
    )
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))


def choose_items(items: Sequence[TanqItem], most: int, params: Items, seed: int) -> list[TanqItem]:
    """Choose up to `most` items within the limits on shapes, gaps and items without skills.

    The selection alternates between groups of items with the same kind and skills. Items from unused list
    questions are chosen first, then items from unused extended questions. Within a group, items without gaps
    and with rare shapes come first.
    """
    order = _group(items, seed, classes=params.classes)
    # The limits are shares of the number of items, so the limits must be computed again for each number.
    for number in range(min(most, len(items)), 0, -1):
        # 1e-9 corrects floats below a whole number: 0.29 * 100 is 28.999999999999996.
        cap, gaps, plain = (int(share * number + 1e-9) for share in (params.share, params.gaps, params.plain))
        chosen = _fill(order, number, cap, gaps, plain) if cap else []
        if len(chosen) == number:
            return chosen
    return []


def has_gap(item: TanqItem) -> bool:
    """Return whether the answer table has an empty cell."""
    return any(not cell.values for row in item.rows if row.filter_pass for cell in row.cells)


def _group(items: Iterable[TanqItem], seed: int, *, classes: bool) -> list[list[TanqItem]]:
    """Group items by kind and skills, and also by noun if `classes` is set."""
    groups: defaultdict[tuple[object, ...], list[TanqItem]] = defaultdict(list)
    for item in sorted(items, key=lambda item: make_id(seed, item.id)):
        key = (item.kind, tuple(use.name for use in item.skills))
        groups[(item.noun, *key) if classes else key].append(item)
    return [groups[key] for key in sorted(groups, key=lambda key: make_id(seed, *key))]


def _fill(
    groups: Sequence[Sequence[TanqItem]], number: int, cap: int, gaps: int, plain: int
) -> list[TanqItem]:
    """Choose `number` items from alternating groups, or fewer if the limits exclude too many items.

    Within a group, items without gaps and with rare shapes come first. cap: maximum number of items per
    shape. gaps, plain: maximum number of items with a gap, and of items without a skill.
    """
    chosen: dict[str, TanqItem] = {}
    shapes: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    seeds: Counter[str] = Counter()
    for fresh in ("seed", "question", ""):
        added = True
        while added and len(chosen) < number:
            added = False
            for group in groups:
                free = (
                    item
                    for item in group
                    if item.id not in chosen
                    and shapes[item.shape] < cap
                    and (gaps or not has_gap(item))
                    and (plain or item.skills)
                    and _is_fresh(item, fresh, seeds, asked)
                )
                item = min(free, key=lambda item: (has_gap(item), shapes[item.shape]), default=None)
                if item is None or len(chosen) == number:
                    continue
                chosen[item.id] = item
                gaps -= has_gap(item)
                plain -= not item.skills
                shapes[item.shape] += 1
                asked[item.ext_question] += 1
                seeds[item.init_qid] += 1
                added = True
    return sorted(chosen.values(), key=lambda item: item.id)


def _is_fresh(item: TanqItem, fresh: str, seeds: Counter[str], asked: Counter[str]) -> bool:
    if fresh == "seed":
        return not seeds[item.init_qid]
    return fresh != "question" or not asked[item.ext_question]
