"""Rows of building a question set, from list questions to items (section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

SIMPLE, INTERSECTION, COMPOSITION = "simple", "intersection", "composition"
KINDS = (SIMPLE, INTERSECTION, COMPOSITION)
SUPPORTED, REFUTED, NOT_ENOUGH = "supported", "refuted", "not enough information"
LABELS = (SUPPORTED, REFUTED, NOT_ENOUGH)


@dataclass(frozen=True)
class Condition:
    """What a list question demands of its answers. value: a thing's id; shown: its words.

    through: empty, or the relation that leads from an answer to the thing that `relation` is asked of.
    """

    relation: str
    value: str
    shown: str
    through: str = ""


@dataclass(frozen=True)
class SeedAnswer:
    """An answer of a list question. facts: what makes it one; through: the intermediate things."""

    entity: str
    facts: tuple[str, ...]
    through: tuple[str, ...]


@dataclass(frozen=True)
class SeedProof:
    """A text that came with an answer of an imported question."""

    entity: str
    article: str
    text: str


@dataclass(frozen=True)
class SeedQuestion:
    """Stage seeds: a list question, imported or made from the graph.

    shape: its kind with the relations and the direction of its conditions; noun: what its answers are called,
    `countries`; target: their class; source: `graph`, or the imported dataset; near: of an intersection, the
    things that meet one of its conditions and not the other, none if they are not known.
    """

    id: str
    kind: str
    shape: str
    text: str
    noun: str
    target: str
    conditions: tuple[Condition, ...]
    answers: tuple[SeedAnswer, ...]
    proofs: tuple[SeedProof, ...]
    source: str
    origin: tuple[Origin, ...]
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExtendedQuestion:
    """Stage extend: a list question with relations that hold for all its answers (step 1).

    facts: of every answer and relation, all values.
    """

    id: str
    seed: str
    text: str
    relations: tuple[str, ...]
    entities: tuple[str, ...]
    facts: tuple[str, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Proof:
    """Stage proofs: a sentence, table row or infobox entry that mentions a fact's other end (step 2).

    side: `entity` if the article is of the fact's entity, `value` if of its value; kind, section, parent,
    position, headers: as of a part of the article; row: the whole row of a cell, its headers with it, else
    empty; mention: the words that were found.
    """

    id: str
    fact: str
    side: str
    article: str
    revision: int | None
    section: str
    parent: str
    position: int
    kind: str
    headers: tuple[str, ...]
    row: str
    text: str
    mention: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class ProofVerdict:
    """Stage verify: what a proof says of its fact (step 3). id: the proof's; label: one of `LABELS`.

    by: `model`, or `rule` where no model was asked.
    """

    id: str
    fact: str
    statement: str
    label: str
    by: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class TableCell:
    """The supported values of an entity's relation; none for an empty cell."""

    facts: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class TableRow:
    """The cells of an entity, in the order of the table's relations."""

    entity: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class AnswerTable:
    """Stage tables: what is left of an extended question once every value has a supporting proof (step 3).

    id: the question's; unsupported: number of its facts without one; rows_left_out, relations_left_out: what
    has no supported cell.
    """

    id: str
    seed: str
    text: str
    relations: tuple[str, ...]
    rows: tuple[TableRow, ...]
    unsupported: int
    rows_left_out: tuple[str, ...]
    relations_left_out: tuple[str, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class RephrasedQuestion:
    """Stage rephrase: a question in a model's words (step 4).

    tagged: with the tag of each relation in parentheses; text: without them.
    """

    id: str
    tagged: str
    text: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class SkillUse:
    """A skill that a question takes (step 5).

    name: one of `skills.SKILLS`; relation: of the column that it works on, with `other` for a second one;
    operator: `=`, `>=` or `<=` of a filter; operand: its bound as shown, or the unit, the step or the like;
    words: the sentence or the words that say it in the question.
    """

    name: str
    relation: str
    other: str
    operator: str
    operand: str
    words: str


@dataclass(frozen=True)
class FinalColumn:
    """A column of an answer table. header: with its unit, `area (km²)`; kind: of its values."""

    relation: str
    header: str
    kind: str
    unit: str


@dataclass(frozen=True)
class FinalCell:
    """Values as shown, and the facts that they stand on; a made value may stand on several."""

    values: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class FinalRow:
    """A row of the answer list; one that fails a filter is not in the answer table."""

    entity: str
    label: str
    filter_pass: bool
    cells: tuple[FinalCell, ...]


@dataclass(frozen=True)
class SkilledQuestion:
    """Stage skills: a question and its answer with up to three skills, or none (step 5).

    id: of the question with its skills; question: the extended question's id.
    """

    id: str
    question: str
    text: str
    skills: tuple[SkillUse, ...]
    columns: tuple[FinalColumn, ...]
    rows: tuple[FinalRow, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class ItemProof:
    """A proof of an item with what it proves.

    value: as shown; eval_result: its verdict's label; mention: the words of the text that name the value.
    """

    id: str
    fact: str
    entity: str
    relation: str
    value: str
    article: str
    revision: int | None
    section: str
    parent: str
    position: int
    kind: str
    headers: tuple[str, ...]
    row: str
    text: str
    eval_result: str
    mention: str = ""


@dataclass(frozen=True)
class ItemThing:
    """A thing that an item names: its id in the graph and its article, empty for none."""

    id: str
    label: str
    article: str


@dataclass(frozen=True)
class TanqItem:
    """Stage items: a question with its answer table and the proofs of every cell.

    question: what is asked in the end; ext_question_rephrased has the tags, ext_question_cleaned not;
    instance_type: labels of what the answers are instances of; extended_types: of the relations' values;
    intermediates: things on the way to the answers of a composition; near: things that meet one condition of
    an intersection alone, none if they are not known; rows: with those that fail a filter;
    answer_table: `a|b` lines, first header `entity`, values of a cell joined by `, `.
    """

    id: str
    kind: str
    shape: str
    init_qid: str
    init_question: str
    ext_question: str
    ext_question_rephrased: str
    ext_question_cleaned: str
    question: str
    noun: str
    relations: tuple[str, ...]
    extended_types: tuple[str, ...]
    skills: tuple[SkillUse, ...]
    columns: tuple[FinalColumn, ...]
    rows: tuple[FinalRow, ...]
    answer_table: str
    intermediates: tuple[ItemThing, ...]
    things: tuple[ItemThing, ...]
    instance_type: tuple[str, ...]
    init_answer_proof: tuple[SeedProof, ...]
    proofs: tuple[ItemProof, ...]
    source: str
    origin: tuple[Origin, ...]
    near: tuple[ItemThing, ...] = ()
