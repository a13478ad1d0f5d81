"""A finished question with its answer table: the row of stage items, of imported and of own questions."""

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


def write_answer(columns: Sequence[FinalColumn], rows: Iterable[FinalRow]) -> str:
    """Write the rows that pass; the values of a cell are joined by `, `."""
    lines = [[ENTITY, *(column.header for column in columns)]]
    lines += [[row.label, *(", ".join(cell.values) for cell in row.cells)] for row in rows if row.filter_pass]
    return "\n".join("|".join(map(clean_cell, line)) for line in lines)


def clean_cell(text: str) -> str:
    """Write a cell on one line without the sign that parts cells."""
    return " ".join(text.replace("|", " ").split())


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
    eval_result: Support
    mention: str = ""


@dataclass(frozen=True)
class ItemThing:
    """A thing that an item names: its id in the graph and its article, empty for none."""

    id: str
    label: str
    article: str


@dataclass(frozen=True)
class TanqItem:
    """Stage items, imports and own datasets: a question with its answer table and the proofs of every cell.

    question: what is asked in the end; ext_question_rephrased has the tags, ext_question_cleaned not;
    instance_type: labels of what the answers are instances of; extended_types: of the relations' values;
    intermediates: things on the way to the answers of a composition; near: things that meet one condition of
    an intersection alone, none if they are not known; rows: with those that fail a filter;
    answer_table: `a|b` lines, first header `entity`, values of a cell joined by `, `; record: of an imported
    item the whole record as it was published, in JSON, also what no column here holds; else empty.
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
