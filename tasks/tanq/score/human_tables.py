"""Stage: read human-written tables, for the human baseline (TANQ, section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import BadInput
from tasks.judging.human_files import ESCAPE, FormLine, read_field, read_lines, write_form
from tasks.judging.human_labels import FOLDER
from tasks.scoring.items import BadItem
from tasks.tanq.build.tanq_item import ItemProof, TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.solve.prediction import ORACLE, Prediction
from tasks.tanq.solve.table_text import read_table

PEOPLE = "people"
"""The value of `model` in predictions by people."""
FORM_COLUMNS = ("id", "question", "evidence", "table", "rater")
HINT = "expected the columns id and table, and rater if several people wrote tables; see docs/tanq.md"
UNREADABLE, NO_ID, NO_ITEM, NO_TABLE, TWICE = (
    "unreadable", "no_id", "unknown_item", "no_table", "written_twice",
)  # fmt: skip


def human_tables(items: list[TanqItem], entry: TableEvaluation) -> Drafts[Prediction]:
    """Read human-written tables as predictions; return no rows if the evaluation names no file.

    A line has the `id` of an item, a `table` (lines of `a|b`) and a `rater`; lines with an empty table are
    skipped. Drop reasons, with the line in `detail`: `unreadable`; `no_id`; `unknown_item` (not in the
    set); `no_table` (no lines of `a|b`); `written_twice` (by the same rater). Raises BadInput if the file
    cannot be read or contains no usable table.
    """
    if entry.people is None:
        return Drafts([])
    by_id = {item.id: item for item in items}
    kept: dict[str, Prediction] = {}
    dropped: list[Dropped] = []
    for line in read_lines(entry.people, ("id", "table"), HINT):
        found = _read_line(line, by_id, entry.people)
        if isinstance(found, Dropped):
            dropped.append(found)
        elif found is not None and found.id in kept:
            dropped.append(_drop(line, TWICE, f"item {found.item} already has a table by this rater"))
        elif found is not None:
            kept[found.id] = found
    if not kept:
        raise BadInput(entry.people, dropped[0].detail if dropped else "contains no table", hint=HINT)
    return Drafts([kept[name] for name in sorted(kept)], dropped)


def make_table_form(items: Iterable[TanqItem]) -> str:
    """Return the CSV form for annotators: each question with its evidence, in order of id."""
    return write_form(
        FORM_COLUMNS,
        (
            (item.id, item.question, "\n".join(map(cite_proof, item.proofs)), "", "")
            for item in sorted(items, key=lambda item: item.id)
        ),
    )


def cite_proof(proof: ItemProof) -> str:
    """Return a proof's text, preceded by the titles of its page and sections."""
    place = " / ".join(filter(None, (proof.article, proof.parent, proof.section)))
    return f"[{place}] {proof.row or proof.text}"


def _read_line(line: FormLine, items: dict[str, TanqItem], file: Path) -> Prediction | Dropped | None:
    if line.record is None:
        return _drop(line, UNREADABLE, line.problem)
    text = line.record.get("table")
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    try:
        name, rater = read_field(line.record, "id"), read_field(line.record, "rater")
    except BadItem as error:
        return _drop(line, UNREADABLE, str(error))
    if not isinstance(text, str):
        return _drop(line, UNREADABLE, "table is not a text")
    if not name:
        return _drop(line, NO_ID, "has no id")
    if name not in items:
        return _drop(line, NO_ITEM, f"{name} is not an item of this set")
    table = read_table(text.removeprefix(ESCAPE))
    if table is None:
        return _drop(line, NO_TABLE, f"{name}: contains no lines of the form `a|b`")
    return Prediction(
        id=make_id(PEOPLE, name, rater),
        item=name,
        system=PEOPLE,
        setting=ORACLE,
        model=PEOPLE,
        shots=0,
        shot_choice="",
        instruction="",
        reply=text,
        table=table,
        left_out=(),
        steps=(),
        failed="",
        origin=(Origin("row", f"items#{name}"), Origin("file", (FOLDER / file.name).as_posix())),
    )


def _drop(line: FormLine, reason: str, what: str) -> Dropped:
    return Dropped(make_id("table of people", line.number, reason), reason, f"line {line.number}: {what}")
