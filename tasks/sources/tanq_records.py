"""Read records of TANQ (Akhtar et al.) in the layout of their release; the input is untrusted.

A record is a question with its answer list, and its answer table as text. Each answer has columns of values
with their proofs. Unknown fields are not errors: the reader counts them by their path, such as
`answer_list.extension_answer.note`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tasks.sources.loose_fields import (
    BadRecord,
    find_item,
    find_line,
    find_property,
    list_values,
    make_line,
    read_title,
)
from tasks.sources.qampari import COMPOSITION, SIMPLE, read_kind
from tasks.sources.wikipedia.article import CELL, INFOBOX, TEXT

ASKED = ("ext_question_rephrased", "ext_question_cleaned", "ext_question")
"""Fields that may contain the question to ask; the field that the release uses comes first."""
QUESTIONS = ("init_question", *ASKED)
TABLE, TEXTS = "table", "text"
PROOF_KINDS = {"infobox": INFOBOX, TABLE: CELL, TEXTS: TEXT}
"""`proof_type` -> the kind of article part."""
LABEL, ITEM, REVISION, MENTION, HEADERS, CELL_TEXT, SHOWN = (
    "label", "id", "revision", "mention", "headers", "cell", "shown",
)  # fmt: skip
"""Fields that only files published by this project contain.

- LABEL, ITEM: the name and id of an answer or value.
- REVISION: the revision of a proof's page.
- MENTION: the part of the proof's text that names the value.
- HEADERS: the headers of the proof's cell or entry.
- CELL_TEXT: the text of the proof's cell in a table.
- SHOWN: the text of a value in the answer table.
"""
RECORD_FIELDS = frozenset(
    {*QUESTIONS, "init_qid", "question_properties", "answer_list", "extended_types", "answer_table"}
)
ANSWER_FIELDS = frozenset(
    {
        "init_answer_wikidata_id", "init_answer_wikipedia_id", "init_answer_composed", "init_answer_proof",
        "filter_pass", "instance_type", "extension_answer", LABEL, ITEM,
    }
)  # fmt: skip
COLUMN_FIELDS = frozenset(
    {
        "extension_property_id", "extension_property_label", "extension_entity", "extension_wikidata_id",
        "extension_wikipedia_id", "proof",
    }
)  # fmt: skip
PROOF_FIELDS = frozenset(
    {"proof_type", "section", "parent_section", "found_in_url", "index", "eval_result"}
    | {REVISION, MENTION, HEADERS, CELL_TEXT}
)
CONTENT_FIELDS = {
    INFOBOX: frozenset({"key", "value"}),
    CELL: frozenset({"rows", "caption"}),
    TEXT: frozenset({"text"}),
}
NAMES = (LABEL, "name", "title", "text", "value", "amount", "time", "answer", "answer_text")
"""Metadata fields that may contain a value's text, best field first."""
TIME, AMOUNT = re.compile(r"[+-]?(\d{4}-\d\d-\d\d)T[\d:.]+Z?"), re.compile(r"\+(\d[\d.]*)")
IDS = re.compile(r"[QPL][1-9]\d*|https?://\S+")
# Limits of untrusted input: maximum characters of a question, rows of a table, characters of a cell, and
# nesting depth of metadata.
MOST_TEXT, MOST_ROWS, MOST_CELL, MOST_DEPTH = 20_000, 2_000, 5_000, 4
Rows = tuple[tuple[str, ...], ...]
"""Rows of cells; the first row is the header."""


@dataclass(frozen=True)
class PublishedThing:
    """An entity with its name, Wikidata item and article title; each of the three may be empty."""

    name: str
    item: str
    article: str


@dataclass(frozen=True)
class PublishedProof:
    """A proof of a value: a sentence, an infobox entry or a table.

    - `text`: the sentence, or the value of the infobox entry with the key `key`.
    - `rows`: the table's rows.
    - `said`: the publisher's verdict; empty if the proof has no verdict.

    Only files published by this project contain `revision` and the fields after it.
    """

    kind: str
    text: str
    key: str
    caption: str
    rows: Rows
    article: str
    section: str
    parent: str
    position: int
    said: str
    revision: int | None = None
    mention: str = ""
    headers: tuple[str, ...] = ()
    cell: str = ""


@dataclass(frozen=True)
class PublishedValue:
    """A value of a property, from an answer's `extension_answer` list.

    - `texts`: possible names of the value, best first.
    - `shown`: the text in the answer table; only files published by this project contain it.
    """

    id: str
    label: str
    texts: tuple[str, ...]
    shown: str
    item: str
    article: str
    proofs: tuple[PublishedProof, ...]


@dataclass(frozen=True)
class PublishedTanqAnswer:
    """An entry of the answer list.

    - `filter_pass`: None if the record has no such field.
    - `composed`: the entities that a composed answer was made from; empty for other answers.
    """

    thing: PublishedThing
    classes: tuple[str, ...]
    filter_pass: bool | None
    composed: tuple[PublishedThing, ...]
    values: tuple[PublishedValue, ...]
    proofs: tuple[tuple[str, str], ...]
    """Proofs from QAMPARI, each as (article, text)."""


@dataclass(frozen=True)
class PublishedRecord:
    """A record: a question with its answers.

    - `texts`: field -> the question's text in this field.
    - `table`: None if the record has no table.
    - `told`: whether the record's id states its kind; otherwise, the kind is derived from the answers.
    - `others`: path of an unknown field -> number of occurrences.
    """

    id: str
    kind: str
    told: bool
    texts: Mapping[str, str]
    skills: tuple[str, ...]
    answers: tuple[PublishedTanqAnswer, ...]
    table: Rows | None
    others: Mapping[str, int] = field(default_factory=dict)


def read_record(record: object) -> PublishedRecord:
    """Convert a published record. Raises BadRecord if the record cannot be used."""
    if not isinstance(record, Mapping):
        raise BadRecord("no_object: the record is not a JSON object")
    texts = {name: find_line(record, (name,)) for name in QUESTIONS}
    if not any(texts[name] for name in ASKED):
        raise BadRecord(f"no_question: none of the fields {', '.join(ASKED)} contains text")
    if max(map(len, texts.values())) > MOST_TEXT:
        raise BadRecord(f"too_long: a question has more than {MOST_TEXT:,} characters")
    name = find_line(record, ("init_qid",))
    reader = RecordReader()
    answers = tuple(reader.read_answers(record))
    table = _read_table(record.get("answer_table"))
    if table is None and not any(answer.values for answer in answers):
        raise BadRecord("no_table: the record has neither a valid answer_table nor an answer with a value")
    kind = read_kind(name)
    return PublishedRecord(
        name,
        kind or (COMPOSITION if any(answer.composed for answer in answers) else SIMPLE),
        bool(kind),
        texts,
        _list_names(record.get("extended_types")),
        answers,
        table,
        reader.others,
    )


class RecordReader:
    """Reads the parts of one record, and counts unknown fields."""

    def __init__(self) -> None:
        self.others: Counter[str] = Counter()

    def read_answers(self, record: Mapping[str, object]) -> Iterator[PublishedTanqAnswer]:
        """Yield the entries of the answer list."""
        self._count(record, RECORD_FIELDS, "")
        for place, entry in self._list_objects(record, "answer_list", ""):
            self._count(entry, ANSWER_FIELDS, place)
            passed, given = entry.get("filter_pass"), entry.get("instance_type")
            if not isinstance(passed, bool | None):
                self.others[f"{place}filter_pass"] += 1
            values = [
                self._read_value(*part) for part in self._list_objects(entry, "extension_answer", place)
            ]
            yield PublishedTanqAnswer(
                PublishedThing(
                    find_line(entry, (LABEL,)),
                    find_item(entry, ("init_answer_wikidata_id",)) or find_line(entry, (ITEM,)),
                    _read_page(entry.get("init_answer_wikipedia_id")),
                ),
                _list_names(given),
                passed if isinstance(passed, bool) else None,
                tuple(_read_things(entry.get("init_answer_composed"))),
                tuple(value for value in values if value),
                tuple(self._read_first_proofs(entry, place)),
            )

    def _read_first_proofs(self, entry: Mapping[str, object], place: str) -> Iterator[tuple[str, str]]:
        for inner, proof in self._list_objects(entry, "init_answer_proof", place):
            self._count(proof, frozenset({"proof_text", "found_in_url"}), inner)
            if text := make_line(proof.get("proof_text")):
                yield _read_page(proof.get("found_in_url")), text

    def _read_value(self, place: str, entry: Mapping[str, object]) -> PublishedValue | None:
        self._count(entry, COLUMN_FIELDS, place)
        label = find_line(entry, ("extension_property_label",))
        name = find_property(entry, ("extension_property_id",)) or find_line(
            entry, ("extension_property_id",)
        )
        if not (name or label):
            self.others[f"{place}extension_property_label"] += 1
            return None
        metadata = entry.get("extension_entity")
        own = metadata if isinstance(metadata, Mapping) else {}
        item = find_item(entry, ("extension_wikidata_id",)) or make_line(own.get(ITEM))
        article = _read_page(entry.get("extension_wikipedia_id"))
        texts = dict.fromkeys((*_find_texts(metadata), *filter(None, (article, item))))
        proofs = [self._read_proof(*part) for part in self._list_objects(entry, "proof", place)]
        return PublishedValue(
            name,
            label or name,
            tuple(texts),
            make_line(own.get(SHOWN)),
            item,
            article,
            tuple(proof for proof in proofs if proof),
        )

    def _read_proof(self, place: str, proof: Mapping[str, object]) -> PublishedProof | None:
        told = make_line(proof.get("proof_type")).lower()
        kind = PROOF_KINDS.get(told) or _guess_kind(proof)
        if told and told not in PROOF_KINDS:
            self.others[f"{place}proof_type"] += 1
        self._count(proof, PROOF_FIELDS | CONTENT_FIELDS[kind], place)
        rows = tuple(self._read_rows(proof, place)) if kind == CELL else ()
        text = make_line(proof.get("value" if kind == INFOBOX else "text"))
        key = make_line(proof.get("key")) if kind == INFOBOX else ""
        if not (rows or text or key):
            self.others[f"{place}{next(iter(sorted(CONTENT_FIELDS[kind])))}"] += 1
            return None
        index, revision, said = proof.get("index"), proof.get("revision"), proof.get("eval_result")
        position = int(make_line(index)) if re.fullmatch(r"\d{1,9}", make_line(index)) else 0
        if index is not None and make_line(index) != str(position):
            self.others[f"{place}index"] += 1
        return PublishedProof(
            kind,
            text,
            key,
            make_line(proof.get("caption")) if kind == CELL else "",
            rows,
            _read_page(proof.get("found_in_url")),
            make_line(proof.get("section")),
            make_line(proof.get("parent_section")),
            position,
            str(said).lower() if isinstance(said, bool) else make_line(said).lower(),
            revision if type(revision) is int and 0 <= revision < 2**63 else None,
            make_line(proof.get(MENTION)),
            tuple(map(make_line, list_values(proof.get(HEADERS)))),
            make_line(proof.get(CELL_TEXT)),
        )

    def _read_rows(self, proof: Mapping[str, object], place: str) -> Iterator[tuple[str, ...]]:
        for outer, row in self._list_objects(proof, "rows", place):
            self._count(row, frozenset({"cells"}), outer)
            cells = []
            for inner, cell in self._list_objects(row, "cells", outer):
                self._count(cell, frozenset({"cell_value"}), inner)
                cells.append(make_line(cell.get("cell_value")))
            if any(cells):
                yield tuple(cells)

    def _list_objects(
        self, record: Mapping[str, object], name: str, place: str
    ) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the objects of a list, each with its path; count the entries that are not objects."""
        for entry in list_values(record.get(name)):
            if isinstance(entry, Mapping):
                yield f"{place}{name}.", entry
            elif entry is not None:
                self.others[f"{place}{name}"] += 1

    def _count(self, entry: Mapping[str, object], known: frozenset[str], place: str) -> None:
        self.others.update(f"{place}{name}" for name in entry if name not in known)


def _guess_kind(proof: Mapping[str, object]) -> str:
    return CELL if "rows" in proof else INFOBOX if "key" in proof or "value" in proof else TEXT


def _read_page(value: object) -> str:
    """Return the page title in a URL or title; for any other value, return its text on one line."""
    return read_title(value) or make_line(value)


def _find_texts(metadata: object) -> Iterator[str]:
    """Yield possible names of a value from its metadata: known fields first, then other fields except ids."""
    found = list(_walk(metadata, "", 0))
    ranks = {name: rank for rank, name in enumerate(NAMES)}
    for name, text in sorted(found, key=lambda pair: ranks.get(pair[0], len(NAMES))):
        if name in ranks or not IDS.fullmatch(text):
            short = TIME.fullmatch(text) or AMOUNT.fullmatch(text)
            yield from (short[1], text) if short else (text,)


def _walk(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for each text in nested metadata; `field` is the innermost field with the text."""
    if depth > MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in (ITEM, SHOWN):
                yield from _walk(inner, str(key), depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, name, depth + 1)
    elif text := make_line(value):
        yield name, text


def _read_things(given: object) -> Iterator[PublishedThing]:
    """Yield the entities in a list of ids, URLs, titles, or objects that contain these."""
    for value in list_values(given):
        if isinstance(value, Mapping):
            ids = {name: text for name, text in _walk(value, "", 0) if name not in NAMES}
            item = find_item(ids, tuple(ids)) or make_line(value.get(ITEM))
            article = next((_read_page(text) for name, text in ids.items() if "wikipedia" in name), "")
            name = find_line(value, NAMES) or article or item
        else:
            item, name = find_item({ITEM: value}, (ITEM,)), _read_page(value)
            article = "" if item else name
            name = item or name
        if name:
            yield PublishedThing(name, item, article)


def _list_names(given: object) -> tuple[str, ...]:
    """Return the names in a list of strings or objects; for an object, the keys with truthy values."""
    if isinstance(given, Mapping):
        given = [key for key, amount in given.items() if amount]
    names = (
        find_line(value, NAMES) if isinstance(value, Mapping) else make_line(value)
        for value in list_values(given)
    )
    return tuple(dict.fromkeys(filter(None, names)))


def _read_table(given: object) -> Rows | None:
    """Return the rows of an answer table: lines of `a|b`, or a list of rows; None for any other value.

    Raises BadRecord if the table is too long or its rows do not fit the header.
    """
    rows: Sequence[object]
    if isinstance(given, str):
        rows = [line.split("|") for line in given.splitlines() if line.strip()]
    else:
        rows = given if isinstance(given, list) else []
    if len(rows) < 2 or not all(isinstance(row, list) for row in rows):
        return None
    if len(rows) > MOST_ROWS:
        raise BadRecord(f"too_long: answer_table has {len(rows):,} rows")
    read = [tuple(_read_cell(cell) for cell in row) for row in rows if isinstance(row, list)]
    width = len(read[0])
    if width < 2 or any(len(row) > width for row in read) or not all(read[0]):
        raise BadRecord(
            "bad_table: answer_table has fewer than 2 columns, an empty header, "
            "or a row longer than the header"
        )
    if any(not row or not row[0] for row in read):
        raise BadRecord("bad_table: a row of answer_table has no entity")
    return tuple((*row, *[""] * (width - len(row))) for row in read)


def _read_cell(cell: object) -> str:
    text = ", ".join(filter(None, (make_line(value).replace("|", " ") for value in list_values(cell))))
    if len(text) > MOST_CELL:
        raise BadRecord(f"too_long: a cell of answer_table has more than {MOST_CELL:,} characters")
    return text
