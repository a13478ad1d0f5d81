"""Read a user's questions with answer tables: a folder with items.parquet, or items.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.tanq.rows import KINDS, SUPPORTED, FinalCell, FinalColumn, FinalRow, ItemProof, TanqItem
from tasks.tanq.solve.table_text import write_table_text

PARQUET, LINES = "items.parquet", "items.jsonl"
MOST_CELLS, MOST_TEXT = 20_000, 100_000


class BadOwnTable(ValueError):
    """Raised for an item that cannot be asked; the message says why."""


@dataclass(frozen=True)
class OwnTableItems:
    """Items sorted by id. problems: one line for each that is left out."""

    items: tuple[TanqItem, ...]
    problems: tuple[str, ...]


def read_own_items(folder: Path) -> OwnTableItems:
    """Read a dataset folder. Raises BadInput without any item."""
    if not folder.is_dir():
        raise BadInput(folder, "is no folder", hint=f"a folder with {PARQUET} or {LINES}; see docs/tanq.md")
    found = next((folder / name for name in (PARQUET, LINES) if (folder / name).is_file()), None)
    if found is None:
        raise BadInput(folder, f"has neither {PARQUET} nor {LINES}", hint="see docs/tanq.md")
    items: dict[str, TanqItem] = {}
    problems: list[str] = []
    for place, record in _read_parquet(found) if found.name == PARQUET else _read_lines(found):
        try:
            item = _check(record if isinstance(record, TanqItem) else _read_item(record))
        except BadOwnTable as error:
            problems.append(f"{found.name}, {place}: {' '.join(str(error).split())}")
            continue
        if item.id in items:
            problems.append(f"{found.name}, {place}: the id {item.id!r} stands twice; the first is kept")
        else:
            items[item.id] = item
    if not items:
        raise BadInput(found, f"has no item that can be asked ({problems[0] if problems else 'it is empty'})")
    return OwnTableItems(tuple(items[name] for name in sorted(items)), tuple(problems))


def _read_parquet(file: Path) -> Iterator[tuple[str, TanqItem]]:
    for item in read_rows(file, TanqItem):
        yield f"item {item.id}", item


def _read_lines(file: Path) -> Iterator[tuple[str, object]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(file, f"cannot be read ({type(error).__name__})") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError):
                yield f"line {number}", None


def _check(item: TanqItem) -> TanqItem:
    if not item.question.strip() or not item.columns or not any(row.filter_pass for row in item.rows):
        raise BadOwnTable("has no question, no column or no row")
    return item


def _read_item(record: object) -> TanqItem:
    """Read an item of a line: its question and table; the rest is optional."""
    if not isinstance(record, dict):
        raise BadOwnTable("is no JSON object")
    question = _read_text(record, "question")
    table = _read_table(record.get("answer_table"))
    kind = _read_optional(record, "kind") or KINDS[0]
    if kind not in KINDS:
        raise BadOwnTable(f"kind is {kind[:40]!r}, and must be one of {', '.join(KINDS)}")
    given = record.get("proofs", [])
    if not isinstance(given, list):
        raise BadOwnTable("proofs is no list")
    proofs = tuple(_read_proof(proof, place) for place, proof in enumerate(given))
    text = write_table_text([[", ".join(cell) for cell in row] for row in table])
    return TanqItem(
        id=_read_optional(record, "id") or make_id("own table", question, text),
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
        raise BadOwnTable("answer_table is no table: lines of `a|b`, or a list of rows, the header first")
    if sum(map(len, table)) > MOST_CELLS:
        raise BadOwnTable(f"answer_table has more than {MOST_CELLS:,} cells")
    rows = [[_read_cell(cell) for cell in row] for row in table]
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows) or not all(row[0] for row in rows):
        raise BadOwnTable("answer_table needs two columns or more, in every row, and a name for each row")
    if any(len(header) != 1 for header in rows[0]):
        raise BadOwnTable("answer_table has a header that is not one text")
    return rows


def _read_cell(cell: object) -> tuple[str, ...]:
    values = cell if isinstance(cell, list) else [cell]
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise BadOwnTable("answer_table has a cell that is no text, number, null or list of these")
        text = "" if value is None else " ".join(_clean(str(value)).replace("|", " ").split())
        if len(text) > MOST_TEXT:
            raise BadOwnTable(f"answer_table has a cell of more than {MOST_TEXT:,} characters")
        found += [text] if text else []
    return tuple(found)


def _read_proof(proof: object, place: int) -> ItemProof:
    if not isinstance(proof, dict):
        raise BadOwnTable("proofs has what is no object with `article` and `text`")
    article, text = _read_text(proof, "article"), _read_text(proof, "text")
    section = _read_optional(proof, "section")
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


def _read_optional(record: Mapping[str, object], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    return _read_text({name: str(value) if type(value) is int else value}, name)


def _read_text(record: Mapping[str, object], name: str) -> str:
    text = record.get(name)
    if not isinstance(text, str) or not text.strip():
        raise BadOwnTable(f"{name} is missing" if text is None else f"{name} is no text, or empty")
    if len(text) > MOST_TEXT:
        raise BadOwnTable(f"{name} has more than {MOST_TEXT:,} characters")
    return _clean(text).strip()


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "")
