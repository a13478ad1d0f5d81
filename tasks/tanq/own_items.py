"""Read a user's questions with answer tables: a folder with items.parquet, or items.jsonl."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.artifacts.rows import Origin, make_id
from tasks.scoring.items import BadItem, Record
from tasks.systems.own_items import LINES, MOST_TEXT, Reader, Source, check_choice, take_text
from tasks.tanq.rows import KINDS, SUPPORTED, FinalCell, FinalColumn, FinalRow, ItemProof, TanqItem
from tasks.tanq.solve.table_text import write_table_text

MOST_CELLS = 20_000


def _check(item: TanqItem) -> TanqItem:
    if not item.question.strip() or not item.columns or not any(row.filter_pass for row in item.rows):
        raise BadItem("has no question, no column or no row")
    return item


def _make_item(record: Record, source: Source) -> TanqItem:
    """Make an item of its question and table; the rest is optional."""
    question = take_text(record, "question")
    table = _read_table(record.get("answer_table"))
    kind = check_choice("kind", take_text(record, "kind", default=KINDS[0]), KINDS)
    given = record.get("proofs") or []
    if not isinstance(given, list):
        raise BadItem("proofs is no list")
    proofs = tuple(_read_proof(proof, place) for place, proof in enumerate(given))
    text = write_table_text([[", ".join(cell) for cell in row] for row in table])
    return TanqItem(
        id=take_text(record, "id", default="") or make_id("own table", question, text),
        kind=kind,
        shape="",
        init_qid="",
        init_question="",
        ext_question="",
        ext_question_rephrased="",
        ext_question_cleaned="",
        question=question,
        noun="",
        relations=tuple(name for (name, *_) in table[0][1:]),
        extended_types=(),
        skills=(),
        columns=tuple(FinalColumn(header, header, "text", "") for (header, *_) in table[0][1:]),
        rows=tuple(_make_row(row) for row in table[1:]),
        answer_table=text,
        intermediates=(),
        things=(),
        instance_type=(),
        init_answer_proof=(),
        proofs=proofs,
        source=LINES,
        origin=(Origin("file", LINES),),
    )


def _make_row(row: Sequence[tuple[str, ...]]) -> FinalRow:
    name = ", ".join(row[0])
    return FinalRow(name, name, True, tuple(FinalCell(values, ()) for values in row[1:]))


def _read_table(table: object) -> list[list[tuple[str, ...]]]:
    """Read a table: lines of `a|b`, or a list of rows of texts, numbers, null or lists of these."""
    if isinstance(table, str):
        table = [line.split("|") for line in table.strip("\n").split("\n")]
    if not isinstance(table, list) or not all(isinstance(row, list) for row in table) or len(table) < 2:
        raise BadItem("answer_table is no table: lines of `a|b`, or a list of rows, the header first")
    if sum(map(len, table)) > MOST_CELLS:
        raise BadItem(f"answer_table has more than {MOST_CELLS:,} cells")
    rows = [[_read_cell(cell) for cell in row] for row in table]
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows) or not all(row[0] for row in rows):
        raise BadItem("answer_table needs two columns or more, in every row, and a name for each row")
    if any(len(header) != 1 for header in rows[0]):
        raise BadItem("answer_table has a header that is not one text")
    return rows


def _read_cell(cell: object) -> tuple[str, ...]:
    values = cell if isinstance(cell, list) else [cell]
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise BadItem("answer_table has a cell that is no text, number, null or list of these")
        text = "" if value is None else " ".join(str(value).replace("\0", "").replace("|", " ").split())
        if len(text) > MOST_TEXT:
            raise BadItem(f"answer_table has a cell of more than {MOST_TEXT:,} characters")
        found += [text] if text else []
    return tuple(found)


def _read_proof(proof: object, place: int) -> ItemProof:
    if not isinstance(proof, dict):
        raise BadItem("proofs has what is no object with `article` and `text`")
    article, text = take_text(proof, "article"), take_text(proof, "text")
    section = take_text(proof, "section", default="")
    return ItemProof(
        id=make_id("own proof", place, article, text),
        fact="",
        entity="",
        relation="",
        value="",
        article=article,
        revision=None,
        section=section,
        parent="",
        position=place,
        kind="text",
        headers=(),
        row="",
        text=text,
        eval_result=SUPPORTED,
    )


READER = Reader(_make_item, _check, TanqItem, page="docs/tanq.md")
