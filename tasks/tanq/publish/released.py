"""Write items in the record format of TANQ's release, with predictions for its evaluator."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tasks.artifacts.export import write_jsonl
from tasks.artifacts.parquet import StoredRows
from tasks.errors import BadInput
from tasks.sources.qampari import read_kind
from tasks.sources.tanq_records import CELL_TEXT, HEADERS, ITEM, LABEL, MENTION, PROOF_KINDS, REVISION, SHOWN
from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, ItemProof, ItemThing, TanqItem
from tasks.tanq.solve.prediction import Prediction

PAGE = "https://en.wikipedia.org/wiki/"
ITEM_ID = re.compile(r"Q[1-9]\d*")
PROOF_TYPES = {kind: name for name, kind in PROOF_KINDS.items()}
UNIT = re.compile(r"\s*\([^()]+\)$")
TITLE, BAR, COLON = "title", " | ", ": "
OPTION = "--prediction-key"
Record = dict[str, Any]


def write_released(items: Path, predictions: Path | None, key: str, out: Path) -> list[str]:
    """Write `test.jsonl` with one record per item to the folder `out`, and return notes for the user.

    items, predictions: paths of artifacts. key: the record field for the predicted table. If `key` is not
    empty, there is one file `test.SYSTEM.jsonl` per system, which omits questions without a reply. Raises
    BadInput if records already have a field `key`, or if there are no predictions.
    """
    stored = StoredRows(items, TanqItem)
    names, renamed = name_records(stored)
    said = [f"init_qid: {renamed:,} of {len(names):,} names were made unique by a number"] if renamed else []
    if not key:
        write_jsonl(out / "test.jsonl", (write_record(item, names[item.id]) for item in stored))
        return said
    if predictions is None:
        raise BadInput(OPTION, "needs predictions", hint="publish an evaluation or its output folder")
    tables: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for prediction in StoredRows(predictions, Prediction):
        tables[prediction.system][prediction.item] = write_prediction(prediction)
    for system, name in name_files(sorted(tables)).items():
        told = tables[system]
        answered = (item for item in stored if told.get(item.id) is not None)
        write_jsonl(
            out / name, (add_prediction(item, names[item.id], key, told[item.id] or "") for item in answered)
        )
        if lost := sum(table is None for table in told.values()):
            said.append(f"{name}: {lost:,} of {len(told):,} questions have no reply and are left out")
    return said


def name_records(items: Iterable[TanqItem]) -> tuple[dict[str, str], int]:
    """Return a unique record name for every item, and the number of names that needed a numeric suffix.

    Names must be unique, because the evaluator keys its output by `init_qid`, and several questions may come
    from one list question. Except for imported records, names include the question's kind if the list
    question's id does not state it.
    """
    wanted = {item.id: _name_record(item) for item in items}
    names: dict[str, str] = {}
    taken = set[str]()
    known = set(wanted.values())
    numbers: Counter[str] = Counter()
    for key, name in wanted.items():
        own = name
        # A numbered name must not be a name that another item has without a number.
        while own in taken or (own != name and own in known):
            numbers[name] += 1
            own = f"{name}__{numbers[name] + 1}"
        taken.add(own)
        names[key] = own
    return names, sum(names[key] != name for key, name in wanted.items())


def _name_record(item: TanqItem) -> str:
    name = item.init_qid or item.id
    return name if item.record or read_kind(name) == item.kind else f"{name}__{item.kind}"


def name_files(systems: Sequence[str]) -> dict[str, str]:
    """Return a unique file name for each system, such as `test.oracle-agent-1-random-simple.jsonl`."""
    names: dict[str, str] = {}
    for system in systems:
        stem = re.sub(r"[^\w.-]+", "-", system)
        tries = (stem, *(f"{stem}-{number}" for number in range(2, len(systems) + 2)))
        names[system] = next(
            name for suffix in tries if (name := f"test.{suffix}.jsonl") not in names.values()
        )
    return names


def add_prediction(item: TanqItem, name: str, key: str, table: str) -> Record:
    """Return an item's record with a prediction and with all fields that the evaluator reads.

    Raises BadInput if the record already has a field `key`.
    """
    record = write_record(item, name)
    if key in record:
        raise BadInput(OPTION, f"record {name} already has a field {key!r}", hint="choose another field")
    if not isinstance(record.get("ext_question_rephrased"), str):
        record["ext_question_rephrased"] = item.question
    if not isinstance(record.get("answer_table"), str):
        record["answer_table"] = item.answer_table
    return {**record, key: table}


def write_prediction(prediction: Prediction) -> str | None:
    """Return a prediction's table for the evaluator; empty if there is no table, None if there is no reply.

    A first header `title` is followed by a space, because the evaluator reads `title|` as the table's title.
    """
    if prediction.failed:
        return None
    rows = [list(row) for row in prediction.table or ()]
    if rows and rows[0][0].casefold() == TITLE:
        rows[0][0] += " "
    return "\n".join("|".join(row) for row in rows)


def write_record(item: TanqItem, name: str) -> Record:
    """Return an item's record: the imported record, or a new record made from the item's columns."""
    if item.record:
        given: Record = json.loads(item.record)
        return {**given, "init_qid": name}
    proofs: defaultdict[str, list[ItemProof]] = defaultdict(list)
    for proof in item.proofs:
        proofs[proof.fact].append(proof)
    return {
        "init_qid": name,
        "init_question": item.init_question,
        "ext_question": item.ext_question,
        "ext_question_cleaned": item.ext_question_cleaned,
        "ext_question_rephrased": item.question,
        "question_properties": [
            name_property(column) for column in item.columns if column.relation in item.relations
        ],
        "answer_list": [write_row(row, item, proofs) for row in item.rows],
        "extended_types": [use.name for use in item.skills],
        "answer_table": item.answer_table,
    }


def name_property(column: FinalColumn) -> str:
    """Return the property label of a column, which is the header without the unit."""
    return UNIT.sub("", column.header)


def write_row(row: FinalRow, item: TanqItem, proofs: Mapping[str, Sequence[ItemProof]]) -> Record:
    """Return the record of one answer.

    Every answer lists all intermediate entities of the question, because items do not store which of them
    belong to an answer.
    """
    article = next((thing.article for thing in item.things if thing.id == row.entity), "")
    return {
        **write_ids("init_answer", row.entity, article),
        ITEM: row.entity,
        LABEL: row.label,
        "init_answer_composed": [write_thing(thing) for thing in item.intermediates],
        "init_answer_proof": [
            {"proof_text": proof.text, "found_in_url": write_address(proof.article)}
            for proof in item.init_answer_proof
            if proof.entity == row.entity
        ],
        "filter_pass": row.filter_pass,
        "instance_type": list(item.instance_type),
        "extension_answer": [
            value
            for column, cell in zip(item.columns, row.cells, strict=True)
            for value in write_cell(cell, column, item, proofs)
        ],
    }


def write_cell(
    cell: FinalCell, column: FinalColumn, item: TanqItem, proofs: Mapping[str, Sequence[ItemProof]]
) -> Iterator[Record]:
    """Yield a record for each value in a cell, with proofs. Columns that a skill added have no property."""
    asked = column.relation in item.relations
    shown = cell.values
    if not asked or not cell.facts:
        for text in shown:
            yield write_value(text, text, column, item, (), asked=asked)
        return
    for place, fact in enumerate(cell.facts):
        own = proofs.get(fact, ())
        text = shown[place] if len(shown) == len(cell.facts) else shown[0] if shown else ""
        yield write_value(own[0].value if own else text, text, column, item, own, asked=True)


def write_value(
    text: str, shown: str, column: FinalColumn, item: TanqItem, proofs: Sequence[ItemProof], *, asked: bool
) -> Record:
    """Return the record of one value. text: the value in the proofs. shown: the value after the skills."""
    named = [thing for thing in item.things if thing.label == text]
    thing = named[0] if len(named) == 1 else ItemThing("", text, "")
    metadata = {"value": text, ITEM: thing.id, SHOWN: shown if shown != text else ""}
    return {
        "extension_property_id": column.relation if asked else None,
        "extension_property_label": name_property(column),
        "extension_entity": {name: value for name, value in metadata.items() if value},
        **write_ids("extension", thing.id, thing.article),
        "proof": [write_proof(proof) for proof in proofs],
    }


def write_ids(name: str, item: str, article: str) -> Record:
    """Return fields with an entity's Wikidata id and article; a field is None if the entity has no value."""
    return {
        f"{name}_wikidata_id": item if ITEM_ID.fullmatch(item) else None,
        f"{name}_wikipedia_id": article or None,
    }


def write_thing(thing: ItemThing) -> Record:
    """Return the record of an intermediate entity."""
    return {**write_ids("answer", thing.id, thing.article), ITEM: thing.id, LABEL: thing.label}


def write_proof(proof: ItemProof) -> Record:
    """Return a proof in the release's format for infoboxes, tables or texts."""
    own: Record = {REVISION: proof.revision, MENTION: proof.mention}
    if proof.kind == INFOBOX:
        content: Record = {"key": proof.headers[-1] if proof.headers else "", "value": proof.text}
        own[HEADERS] = list(proof.headers)
    elif proof.kind == CELL:
        content = {"rows": write_rows(proof), "caption": None}
        own |= {HEADERS: list(proof.headers), CELL_TEXT: proof.text}
    else:
        content = {"text": proof.text}
    return {
        **content,
        "section": proof.section,
        "parent_section": proof.parent,
        "found_in_url": write_address(proof.article),
        "index": proof.position,
        "proof_type": PROOF_TYPES.get(proof.kind, PROOF_TYPES[TEXT]),
        "eval_result": str(proof.eval_result),
        **{name: value for name, value in own.items() if value not in (None, "", [])},
    }


def write_rows(proof: ItemProof) -> list[Record]:
    """Split the row of a cell, such as `Name: Oslo | Area: 454`, into a row of headers and a row of cells."""
    parts = (proof.row or proof.text).split(BAR)
    pairs = [part.partition(COLON) if COLON in part else ("", "", part) for part in parts]
    headers, cells = [header for header, _, _ in pairs], [cell for _, _, cell in pairs]
    rows = [headers, cells] if any(headers) else [cells]
    return [{"cells": [{"cell_value": cell} for cell in row]} for row in rows]


def write_address(article: str) -> str | None:
    """Return the URL of an article in the English Wikipedia; None if there is no article."""
    return PAGE + quote(article.replace(" ", "_"), safe="/:,()'!*;@$") if article else None
