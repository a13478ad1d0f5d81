"""Stage: add skills (filtering, conversion, calculation, approximation) to questions (step 5)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.settings import Settings
from tasks.tanq.build.extend import ExtendedQuestion, list_wanted
from tasks.tanq.build.mention_numbers import list_numbers
from tasks.tanq.build.proofs import Proof
from tasks.tanq.build.rephrase import RephrasedQuestion
from tasks.tanq.build.skill_choices import Doubts, list_uses
from tasks.tanq.build.skill_draws import SkillLimits, Uses, draw_uses, split_choices
from tasks.tanq.build.skill_table import BaseColumn, BaseRow, BaseTable, apply_skills
from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.skill_words import make_tags, say_use, write_question
from tasks.tanq.build.tables import AnswerTable
from tasks.tanq.build.tanq_item import FinalColumn, FinalRow
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.showing import QUANTITY
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support

STRIDE = 3
"""Offset in `counts` between two variants of a question."""


@dataclass(frozen=True)
class SkilledQuestion:
    """A row of stage `skills`: a question and its answer, with up to three skills (step 5).

    id: the id of the question with its skills. question: the id of the extended question.
    """

    id: str
    question: str
    text: str
    skills: tuple[SkillUse, ...]
    columns: tuple[FinalColumn, ...]
    rows: tuple[FinalRow, ...]
    origin: tuple[Origin, ...]


class Skills(Settings):
    """The settings in params.yaml under `tanq.skills`."""

    counts: tuple[int, ...] = Field(default=(1, 2, 0, 1, 3, 1, 2, 0, 1, 1), min_length=1)
    """Numbers of skills per question, repeated cyclically; at most three in TANQ.

    A question whose table allows no skill counts as a question with 0 skills.
    """
    variants: int = Field(default=2, ge=1)
    """Maximum number of variants of a question with different skills."""
    margin: float = Field(default=0.05, ge=0, lt=1)
    """Minimum relative distance of amounts from a filter's bound, because texts round amounts."""
    least: int = Field(default=2, ge=1)
    """Minimum number of rows after filters."""
    filled: float = Field(default=0.5, gt=0, le=1)
    """Minimum share of rows with a value in a converted or rounded column."""
    choice: bool = False
    """Drop filters after which the column contains only the filter's value (reason `no_choice`)."""


@dataclass(frozen=True)
class GraphByIds:
    """The facts, relations and entities by id, and the tag of each relation by the relation's id."""

    facts: Mapping[str, Fact]
    relations: Mapping[str, Relation]
    things: Mapping[str, Thing]
    tags: Mapping[str, str]


@dataclass(frozen=True)
class SkillDraft:
    """A question for which skills are chosen.

    choices: maps each skill to its possible uses. noun: the noun for the answers of the question.
    """

    question: RephrasedQuestion
    table: BaseTable
    noun: str
    choices: Mapping[str, Sequence[SkillUse]]
    doubts: Doubts


def skills(
    rephrase: list[RephrasedQuestion],
    tables: list[AnswerTable],
    extend: list[ExtendedQuestion],
    seeds: list[SeedQuestion],
    facts: Iterable[Fact],
    relations: list[Relation],
    things: list[Thing],
    proofs: Iterable[Proof],
    verify: list[ProofVerdict],
    params: Skills,
    entry: TanqSet,
) -> Drafts[SkilledQuestion]:
    """Choose skills for each question, and apply the skills to the question's table.

    Drop reason of filters: `no_choice`. Raises StageFailed if no question is left.
    """
    by_id = {table.id: table for table in tables}
    extended = {question.id: question for question in extend}
    nouns = {seed.id: seed.noun for seed in seeds}
    graph = make_graph(list_wanted(extend, facts), relations, things)
    steps = find_steps(proofs, verify, graph)
    drafts: list[SkillDraft] = []
    dropped: list[Dropped] = []
    for question in sorted(rephrase, key=lambda question: make_id(entry.seed, question.id)):
        answer = by_id[question.id]
        table = make_base(answer, graph)
        doubts = find_doubts(answer, extended[question.id], graph, steps)
        choices = list_uses(table, Decimal(str(params.margin)), params.least, doubts)
        if params.choice:
            choices, refused = split_choices(table, choices)
            dropped += [drop_filter(question, table, use) for use in refused]
        drafts.append(SkillDraft(question, table, nouns[answer.seed], choices, doubts))
    rows = [
        make_skilled(draft.question, draft.table, uses, draft.noun)
        for draft, uses in draw_all(drafts, params, entry.seed)
    ]
    if not rows:
        raise StageFailed(
            f"none of the {len(tables):,} tables has a question; rephrase.dropped.parquet gives the reasons"
        )
    return Drafts(rows, dropped)


def drop_filter(question: RephrasedQuestion, table: BaseTable, use: SkillUse) -> Dropped:
    """Return the drop record of a filter after which the column contains only the filter's value."""
    column = table.columns[table.find(use.relation)]
    detail = (
        f"{column.one} {use.operator} {use.operand}, the only {column.one} that it leaves: {question.text}"
    )
    name = make_id(question.id, use.name, use.relation, use.operator, use.operand)
    return Dropped(name, "no_choice", detail, (Origin("row", f"rephrase#{question.id}"),))


def draw_all(drafts: Sequence[SkillDraft], params: Skills, seed: int) -> Iterator[tuple[SkillDraft, Uses]]:
    """Yield each question with its chosen skills; no two variants of a question have the same skills."""
    bare = sum(not draft.choices for draft in drafts)
    turns = params.counts
    # Tables that allow no skill count as questions without skills. If these are enough, the 0s are removed.
    if bare * len(turns) >= turns.count(0) * len(drafts) and any(turns):
        turns = tuple(count for count in turns if count)
    used: Counter[str] = Counter()
    for place, draft in enumerate(drafts):
        taken: set[Uses] = set()
        for variant in range(params.variants if draft.choices else 1):
            uses = draw_uses(
                draft.table,
                draft.choices,
                turns[(place + STRIDE * variant) % len(turns)],
                used,
                draft.doubts,
                SkillLimits(params.least, params.filled, params.choice),
                make_id(seed, draft.question.id, variant),
            )
            if uses in taken:
                # draw_uses has already counted the uses of this variant, which is not part of the set.
                used.subtract(use.name for use in uses)
                continue
            taken.add(uses)
            yield draft, uses


def make_skilled(question: RephrasedQuestion, table: BaseTable, uses: Uses, noun: str) -> SkilledQuestion:
    """Return the question and its answer with the given skills applied."""
    said = tuple(replace(use, words=say_use(use, table, noun)) for use in uses)
    columns, rows = apply_skills(table, said)
    text = write_question(question.tagged, table, said, noun)
    return SkilledQuestion(
        make_id(question.id, text),
        question.id,
        text,
        said,
        columns,
        rows,
        (Origin("row", f"rephrase#{question.id}"), Origin("row", f"tables#{question.id}")),
    )


def make_graph(facts: Iterable[Fact], relations: Sequence[Relation], things: Iterable[Thing]) -> GraphByIds:
    """Index the facts, relations and entities of tables by id."""
    return GraphByIds(
        {fact.id: fact for fact in facts},
        {relation.id: relation for relation in relations},
        {thing.id: thing for thing in things},
        make_tags({relation.id: relation.label for relation in relations}),
    )


def make_base(answer: AnswerTable, graph: GraphByIds) -> BaseTable:
    """Return the answer table with facts in place of their ids, before skills are applied."""
    columns = tuple(make_column(graph.relations[relation], graph) for relation in answer.relations)
    rows = tuple(
        BaseRow(
            row.entity,
            graph.things[row.entity].label,
            tuple(tuple(graph.facts[fact] for fact in cell.facts) for cell in row.cells),
        )
        for row in answer.rows
    )
    return BaseTable(columns, rows)


def make_column(relation: Relation, graph: GraphByIds) -> BaseColumn:
    """Return a relation's column with its names, unit and tag."""
    unit = graph.things[relation.unit].label if relation.unit in graph.things else ""
    return BaseColumn(relation.id, relation.words, relation.one, relation.kind, unit, graph.tags[relation.id])


def find_doubts(
    answer: AnswerTable, question: ExtendedQuestion, graph: GraphByIds, steps: Mapping[str, Decimal]
) -> Doubts:
    """Return the facts of a question that its table does not contain, and the precision of amounts.

    steps: the result of `find_steps`.
    """
    supported = {fact for row in answer.rows for cell in row.cells for fact in cell.facts}
    left: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    for name in question.facts:
        fact = graph.facts[name]
        if name not in supported:
            left[fact.entity, fact.relation].append(fact)
    return Doubts({key: tuple(facts) for key, facts in left.items()}, steps)


def find_steps(
    proofs: Iterable[Proof], verify: Sequence[ProofVerdict], graph: GraphByIds
) -> dict[str, Decimal]:
    """Map each fact to the place value of the last digit in its most precise supporting figure.

    Only facts with an amount are included. The unit of a figure is ignored.
    """
    supporting = {verdict.id for verdict in verify if verdict.label == Support.SUPPORTED}
    found: defaultdict[str, list[Decimal]] = defaultdict(list)
    for proof in proofs:
        fact = graph.facts.get(proof.fact)
        if proof.id in supporting and fact is not None and fact.value.kind == QUANTITY:
            found[proof.fact] += [written.step for written in list_numbers(proof.mention)]
    return {fact: min(steps) for fact, steps in found.items() if steps}
