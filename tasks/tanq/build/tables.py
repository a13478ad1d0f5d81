"""Stage: build answer tables from supported facts, and shorten the questions to match (step 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.settings import Settings
from tasks.tanq.build.extend import ExtendedQuestion, list_wanted
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.build.wording import extend_text
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.graph.showing import QUANTITY
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support


@dataclass(frozen=True)
class TableCell:
    """The supported values of an entity for a relation, possibly none, with the ids of their facts."""

    facts: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class TableRow:
    """The cells of an entity, in the order of the table's relations."""

    entity: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class AnswerTable:
    """A row of stage `tables`: the part of an extended question that proofs support (step 3).

    - id: the id of the question.
    - unsupported: number of the question's facts without a supporting proof.
    - rows_left_out, relations_left_out: entities and relations without a supported cell.
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


EMPTY = TableCell((), ())


class Tables(Settings):
    """The settings in params.yaml under `tanq.tables`.

    The defaults are the TANQ paper's values, except for `most_values` and `least_rows`.
    """

    most_values: int = Field(default=5, gt=0)
    """Maximum number of values per cell; questions with more are dropped (TANQ, section 3, step 3)."""
    least_rows: int = Field(default=2, gt=0)
    """Minimum number of rows in a table."""
    whole_cells: bool = False
    """Empty a cell if one of its values has no supporting proof, because an incomplete list is wrong.

    A cell with several amounts retains only the first amount with evidence.
    """
    rows_kept: float = Field(default=0, ge=0, le=1)
    """Minimum share of a question's answers that remain as rows; 1 requires all answers."""
    cells_filled: float = Field(default=0, ge=0, le=1)
    """Minimum share of filled cells in a column, which is otherwise removed; 1 allows no empty cell."""


def tables(
    candidates: list[ExtendedQuestion],
    seeds: list[SeedQuestion],
    verify: list[ProofVerdict],
    facts: Iterable[Fact],
    things: list[Thing],
    relations: list[Relation],
    params: Tables,
) -> Drafts[AnswerTable]:
    """Build the table of each question from supported values: one row per entity, one column per relation.

    Rows and columns without a value are removed from the table and from the question. Drop reasons:
    `no_values`, `few_rows`, `rows_missing`, `many_values`.
    """
    known = {fact.id: fact for fact in list_wanted(candidates, facts)}
    supported = {verdict.fact for verdict in verify if verdict.label == Support.SUPPORTED}
    asked = {seed.id: seed.text for seed in seeds}
    by_relation = {relation.id: relation for relation in relations}
    by_id = {thing.id: thing for thing in things}
    kept: list[AnswerTable] = []
    dropped: list[Dropped] = []
    for question in candidates:
        origin = (Origin("row", f"candidates#{question.id}"),)
        cells = fill_cells(question, known, supported, params)
        columns = keep_columns(question, cells, params)
        rows = list_rows(question, cells, columns)
        if reason := find_fault(question, rows, columns, params):
            sizes = f"rows: {len(rows)} of {len(question.entities)}, columns: {len(columns)}"
            detail = f"{question.text} ({sizes})"
            dropped.append(Dropped(question.id, reason, detail, origin))
            continue
        left = {row.entity for row in rows}
        kept.append(
            AnswerTable(
                question.id,
                question.seed,
                question.text
                if columns == question.relations
                else extend_text(asked[question.seed], [by_relation[column] for column in columns], by_id),
                columns,
                tuple(rows),
                sum(fact not in supported for fact in question.facts),
                tuple(entity for entity in question.entities if entity not in left),
                tuple(relation for relation in question.relations if relation not in columns),
                origin,
            )
        )
    return Drafts(kept, dropped)


def fill_cells(
    question: ExtendedQuestion, facts: Mapping[str, Fact], supported: set[str], params: Tables
) -> dict[tuple[str, str], TableCell]:
    """Map each (entity, relation) to its cell, with the supported values in the question's order."""
    found: dict[tuple[str, str], list[Fact]] = {}
    for name in question.facts:
        fact = facts[name]
        found.setdefault((fact.entity, fact.relation), []).append(fact)
    return {
        (entity, relation): _make_cell(found.get((entity, relation), ()), supported, whole=params.whole_cells)
        for entity in question.entities
        for relation in question.relations
    }


def keep_columns(
    question: ExtendedQuestion, cells: Mapping[tuple[str, str], TableCell], params: Tables
) -> tuple[str, ...]:
    """Return the relations with at least one filled cell and with the required share of filled cells."""

    def count(relation: str) -> int:
        return sum(bool(cells[entity, relation].values) for entity in question.entities)

    least = params.cells_filled * len(question.entities)
    return tuple(relation for relation in question.relations if count(relation) >= max(least, 1))


def list_rows(
    question: ExtendedQuestion, cells: Mapping[tuple[str, str], TableCell], columns: Sequence[str]
) -> list[TableRow]:
    """List the rows that have a value in one of the columns."""
    return [
        TableRow(entity, tuple(cells[entity, column] for column in columns))
        for entity in question.entities
        if any(cells[entity, column].values for column in columns)
    ]


def find_fault(
    question: ExtendedQuestion, rows: Sequence[TableRow], columns: Sequence[str], params: Tables
) -> str:
    """Return the reason why a table cannot be used; empty if the table can be used."""
    if not columns:
        return "no_values"
    if len(rows) < params.least_rows:
        return "few_rows"
    if len(rows) < params.rows_kept * len(question.entities):
        return "rows_missing"
    most = max(len(cell.values) for row in rows for cell in row.cells)
    return "many_values" if most > params.most_values else ""


def _make_cell(facts: Sequence[Fact], supported: set[str], *, whole: bool) -> TableCell:
    kept = [fact for fact in facts if fact.id in supported]
    if whole and facts and all(fact.value.kind == QUANTITY for fact in facts):
        kept = kept[:1]  # alternative figures are not a list: one supported amount is enough
    elif whole and len(kept) < len(facts):
        return EMPTY
    # Statements with the same value and different qualifiers count as one value.
    values = tuple(dict.fromkeys(fact.shown for fact in kept))
    return TableCell(tuple(fact.id for fact in kept), values)
