"""Define the schema of a finished question with its answer table, for stages, imports and user datasets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.graph.seed_question import SeedProof
from tasks.tanq.labels import Support

ENTITY = "entity"


@dataclass(frozen=True)
class FinalColumn:
    """A column of an answer table.

    header: the header, including the unit, as in `area (km²)`. kind: the kind of values.
    """

    relation: str
    header: str
    kind: str
    unit: str


@dataclass(frozen=True)
class FinalCell:
    """The displayed values of a cell, and the ids of their facts; a calculated value has several facts."""

    values: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class FinalRow:
    """The row of an answer entity; a row with `filter_pass` false is not in the answer table."""

    entity: str
    label: str
    filter_pass: bool
    cells: tuple[FinalCell, ...]


def write_answer(columns: Sequence[FinalColumn], rows: Iterable[FinalRow]) -> str:
    """Format the answer table without rows that fail a filter; the values of a cell are joined by `, `."""
    lines = [[ENTITY, *(column.header for column in columns)]]
    lines += [[row.label, *(", ".join(cell.values) for cell in row.cells)] for row in rows if row.filter_pass]
    return "\n".join("|".join(map(clean_cell, line)) for line in lines)


def clean_cell(text: str) -> str:
    """Return the text of a cell on one line, without the separator `|`."""
    return " ".join(text.replace("|", " ").split())


@dataclass(frozen=True)
class ItemProof:
    """A proof in an item, with the fact that the proof is about.

    value: the fact's displayed value. eval_result: the verdict's label. mention: the words that name the
    value.
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
    eval_result: Support
    mention: str = ""


@dataclass(frozen=True)
class ItemThing:
    """An entity that an item names.

    id: the id in the graph. article: the title of the entity's Wikipedia article; empty if there is no
    article.
    """

    id: str
    label: str
    article: str


@dataclass(frozen=True)
class TanqItem:
    """A row of stage `items`, an import or a user's dataset: a question, its answer table, and all proofs.

    - question: the final question. `ext_question_rephrased` contains tags; `ext_question_cleaned` has none.
    - instance_type: labels of the answers' classes. extended_types: kinds of the relations' values.
    - intermediates: the intermediate entities of a composition.
    - near: entities that meet exactly one condition of an intersection; empty if unknown.
    - rows: all rows, including the rows that fail a filter.
    - answer_table: lines of `a|b`; the first header is `entity`; the values of a cell are joined by `, `.
    - record: for an imported item, the whole published record as JSON; otherwise empty.
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
    record: str = ""
