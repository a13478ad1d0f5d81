"""Questions as the viewers show them: the answer's cells with their evidence (section 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tasks.artifacts.rows import Origin
from tasks.tanq.build.answer_table import FinalRow
from tasks.tanq.build.tanq_item import ItemProof, TanqItem
from tasks.tanq.labels import Support


class CellProof(NamedTuple):
    """A proof with its source. words: what is marked in its text; whole: the row that a cell stands in."""

    id: str
    article: str
    revision: int | None
    section: str
    parent: str
    kind: str
    headers: tuple[str, ...]
    text: str
    whole: str
    words: str
    label: str
    supports: bool


class ShownAnswerCell(NamedTuple):
    """Values of a cell, and the facts that they stand on, by which its proofs are found."""

    values: tuple[str, ...]
    facts: tuple[str, ...]


class ShownAnswerRow(NamedTuple):
    """A row of the answer list. passes: whether it is in the answer table."""

    label: str
    passes: bool
    cells: list[ShownAnswerCell]


@dataclass(frozen=True)
class ShownTableItem:
    """An item with its answer. proofs: by fact; steps: how its text came about, with their names."""

    id: str
    kind: str
    shape: str
    question: str
    steps: list[tuple[str, str]]
    skills: list[tuple[str, str]]
    headers: list[str]
    rows: list[ShownAnswerRow]
    proofs: dict[str, list[CellProof]]
    through: list[str]
    source: str
    origin: list[str]


def show_table_items(items: Iterable[TanqItem]) -> dict[str, ShownTableItem]:
    """Show items by id."""
    return {item.id: show_table_item(item) for item in items}


def show_table_item(item: TanqItem) -> ShownTableItem:
    """Show an item; a text that is that of the step before is left out."""
    proofs: defaultdict[str, list[CellProof]] = defaultdict(list)
    for proof in item.proofs:
        proofs[proof.fact].append(show_proof(proof))
    texts = (
        ("list question", item.init_question),
        ("extended", item.ext_question),
        ("reworded, with tags", item.ext_question_rephrased),
    )
    return ShownTableItem(
        id=item.id,
        kind=item.kind,
        shape=item.shape,
        question=item.question,
        steps=[(name, text) for name, text in texts if text and text != item.question],
        skills=[(skill.name.replace("_", " "), skill.words) for skill in item.skills],
        headers=[column.header for column in item.columns],
        rows=[_show_row(row) for row in item.rows],
        proofs=dict(proofs),
        through=[thing.label for thing in item.intermediates],
        source=item.source,
        origin=name_origin(item.origin),
    )


def show_proof(proof: ItemProof) -> CellProof:
    """Show a proof; where it does not keep the words that were found, the value's are marked."""
    return CellProof(
        proof.id,
        proof.article,
        proof.revision,
        proof.section,
        proof.parent,
        proof.kind,
        proof.headers,
        proof.text,
        proof.row,
        proof.mention or proof.value,
        proof.eval_result.shown,
        proof.eval_result == Support.SUPPORTED,
    )


def _show_row(row: FinalRow) -> ShownAnswerRow:
    cells = [ShownAnswerCell(cell.values, cell.facts) for cell in row.cells]
    return ShownAnswerRow(row.label, row.filter_pass, cells)


def name_origin(origin: Iterable[Origin]) -> list[str]:
    """Name what a row was made from."""
    return [f"{one.kind} {one.reference}" for one in origin]
