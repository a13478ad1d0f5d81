"""Records of TANQ (Akhtar et al.): a question, its answer list with values and proofs, and its answer table.

Names of fields differ among releases and those that follow them; several are read for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.sources.loose_fields import (
    BadRecord,
    find_article,
    find_field,
    find_item,
    find_line,
    find_property,
    list_values,
    make_line,
)
from tasks.sources.qampari import read_kind

ASKED = ("question", "final_question", "ext_question_cleaned", "ext_question_rephrased", "ext_question")
"""Fields that may hold what is asked in the end, the best first."""
PROPERTIES = ("question_properties", "question_property", "properties")
KINDS = ("question_type", "type", "kind", "init_question_type")
SKILLS = ("skills", "skill", "reasoning_skills", "augmentations")
ANSWERS = ("answer_list", "answers", "ext_answer_list")
NAMES = ("answer", "answer_text", "init_answer", "entity", "label", "name", "text", "value")
ITEMS = (
    "wikidata_id", "init_answer_wikidata_id", "answer_wikidata_id", "entity_id", "qid", "wd_id",
    "value_wikidata_id", "id",
)  # fmt: skip
ARTICLES = (
    "wikipedia_title", "wikipedia_url", "wikipedia_id", "init_answer_wikipedia_id", "answer_url", "url",
    "article",
)  # fmt: skip
EXTENSIONS = (
    "extensions",
    "ext_answers",
    "answer_properties",
    "relations",
    "attributes",
    "values",
    "ext_answer_list",
)
RELATIONS = ("property_label", "relation_label", "property", "relation", "property_name", "header", "label")
RELATION_IDS = ("property_id", "pid", "relation_id", "wd_property_id", "property", "relation", "id")
VALUES = ("values", "ext_answers", "ext_answer", "answers", "answer", "value")
TYPES = ("value_type", "datatype", "ext_type", "type")
PROOFS = ("proofs", "proof", "ext_answer_proof", "evidence", "evidences")
FIRST_PROOFS = ("init_answer_proof", "init_proof", "init_proofs")
TEXTS = ("text", "proof_text", "sentence", "evidence", "content", "table", "infobox")
PAGES = ("wikipedia_title", "page_title", "title", "page", "article", "found_in_url", "wikipedia_url", "url")
SAID = ("eval_result", "evaluation", "label", "verdict")
MOST_TEXT, MOST_ROWS, MOST_CELL = 20_000, 2_000, 5_000
Rows = tuple[tuple[tuple[str, ...], ...], ...]
"""Rows of cells of values, the header first."""


@dataclass(frozen=True)
class PublishedProof:
    """A text, with its article, sections and position; said: the publisher's verdict, empty for none."""

    text: str
    article: str
    section: str
    parent: str
    position: int
    kind: str
    said: str


@dataclass(frozen=True)
class PublishedValue:
    """A value of an answer's relation."""

    text: str
    item: str
    article: str
    proofs: tuple[PublishedProof, ...]


@dataclass(frozen=True)
class PublishedRelation:
    """A relation of an answer with its values. id: a property's, else empty; type: as the publisher says."""

    id: str
    label: str
    type: str
    values: tuple[PublishedValue, ...]


@dataclass(frozen=True)
class PublishedEntity:
    """An entry of the answer list; filter_pass is None where it is not said."""

    name: str
    item: str
    article: str
    classes: tuple[str, ...]
    filter_pass: bool | None
    relations: tuple[PublishedRelation, ...]
    proofs: tuple[PublishedProof, ...]


@dataclass(frozen=True)
class PublishedRecord:
    """A record. texts: the question in each of its forms, by field; table: None where it has none."""

    id: str
    kind: str
    texts: Mapping[str, str]
    skills: tuple[str, ...]
    types: tuple[str, ...]
    classes: tuple[str, ...]
    between: tuple[str, ...]
    entities: tuple[PublishedEntity, ...]
    table: Rows | None
    unread: int


def read_record(record: object) -> PublishedRecord:
    """Read a record. Raises BadRecord."""
    if not isinstance(record, Mapping):
        raise BadRecord("no_object: it is no JSON object")
    texts = {name: find_line(record, (name,)) for name in ("init_question", *ASKED)}
    if not any(texts[name] for name in ASKED):
        raise BadRecord(f"no_question: none of {', '.join(ASKED)} is a text")
    if max(map(len, texts.values())) > MOST_TEXT:
        raise BadRecord(f"too_long: a question has more than {MOST_TEXT:,} characters")
    properties = find_field(record, PROPERTIES)
    own = properties if isinstance(properties, Mapping) else {}
    name = find_line(record, ("init_qid", "qid", "id"))
    kind = read_kind(find_line(own, KINDS) or find_line(record, KINDS)) or read_kind(name)
    if not kind:
        raise BadRecord("no_kind: neither its type nor its id says simple, intersection or composition")
    skills = find_field(own, SKILLS) or find_field(record, SKILLS) or ()
    given = list_values(find_field(record, ANSWERS))
    entities = [_read_entity(entry) for entry in given]
    table = _read_table(record.get("answer_table"))
    if table is None and not any(entity and entity.relations for entity in entities):
        raise BadRecord("no_table: it has neither answer_table nor an answer list with values")
    return PublishedRecord(
        name,
        kind,
        texts,
        _list_names(skills),
        _list_names(find_field(record, ("extended_types", "ext_types", "extension_types"))),
        _list_names(find_field(record, ("instance_type", "instance_types"))),
        _list_names(find_field(record, ("intermediate_entities", "intermediates"))),
        tuple(entity for entity in entities if entity),
        table,
        sum(entity is None for entity in entities),
    )


def _read_entity(entry: object) -> PublishedEntity | None:
    if isinstance(entry, str):
        entry = {"answer": entry}
    if not isinstance(entry, Mapping):
        return None
    name = find_line(entry, NAMES)
    if not name:
        return None
    passed = entry.get("filter_pass")
    return PublishedEntity(
        name,
        find_item(entry, ITEMS),
        find_article(entry, ARTICLES),
        _list_names(find_field(entry, ("instance_type", "instance_types"))),
        passed if isinstance(passed, bool) else None,
        tuple(_merge(_read_relations(find_field(entry, EXTENSIONS)))),
        tuple(_read_proofs(find_field(entry, (*FIRST_PROOFS, *PROOFS)))),
    )


def _read_relations(given: object) -> list[PublishedRelation]:
    """Read relations: a list of objects, or an object by property."""
    if isinstance(given, Mapping):
        given = [
            {"property": key, **own} if isinstance(own, Mapping) else {"property": key, "values": own}
            for key, own in given.items()
        ]
    found = []
    for own in list_values(given):
        if not isinstance(own, Mapping):
            continue
        name, label = find_property(own, RELATION_IDS), find_line(own, RELATIONS)
        raw = find_field(own, VALUES)
        shared = own if not any(isinstance(value, Mapping) for value in list_values(raw)) else {}
        values = [_read_value(value, shared) for value in list_values(raw)]
        if name or label:
            kept = tuple(value for value in values if value)
            found.append(PublishedRelation(name, label or name, find_line(own, TYPES), kept))
    return found


def _merge(relations: Sequence[PublishedRelation]) -> list[PublishedRelation]:
    """Merge entries of one relation: some releases have one for each value."""
    merged: dict[tuple[str, str], PublishedRelation] = {}
    for own in relations:
        before = merged.get((own.id, own.label))
        values = dict.fromkeys((*(before.values if before else ()), *own.values))
        merged[own.id, own.label] = PublishedRelation(own.id, own.label, own.type, tuple(values))
    return list(merged.values())


def _read_value(value: object, beside: Mapping[str, object]) -> PublishedValue | None:
    """Read a value. beside: the relation's entry, which holds proofs and ids of a value that is a text."""
    own = value if isinstance(value, Mapping) else {**beside, "value": value}
    text = find_line(own, ("value", "text", "answer", "ext_answer", "label", "name", "amount", "time"))
    if not isinstance(value, Mapping):
        text = make_line(value)
    if not text:
        return None
    items = ("value_wikidata_id", "ext_answer_wikidata_id", *ITEMS)
    articles = ("ext_answer_wikipedia_id", *ARTICLES)
    proofs = tuple(_read_proofs(find_field(own, PROOFS)))
    return PublishedValue(text, find_item(own, items), find_article(own, articles), proofs)


def _read_proofs(given: object) -> list[PublishedProof]:
    """Read proofs: texts, objects, or an object of lists by their kind."""
    if isinstance(given, Mapping) and not any(name in given for name in (*TEXTS[:5], *PAGES)):
        given = [
            {**own, "kind": kind} if isinstance(own, Mapping) else {"text": own, "kind": kind}
            for kind, listed in given.items()
            for own in list_values(listed)
        ]
    found = []
    for place, own in enumerate(list_values(given)):
        fields: Mapping[str, object] = own if isinstance(own, Mapping) else {"text": own}
        text = next(filter(None, (_flatten(fields.get(name)) for name in TEXTS)), "")
        if not text:
            continue
        position = fields.get("position")
        said = fields.get("eval_result")
        found.append(
            PublishedProof(
                text[:MOST_TEXT],
                find_article(fields, PAGES),
                find_line(fields, ("section", "section_title")),
                find_line(fields, ("parent", "parent_section", "parent_section_title")),
                position if type(position) is int and 0 <= position < 2**31 else place,
                _read_part(find_line(fields, ("kind", "type", "proof_type", "evidence_type", "source"))),
                str(said).lower() if isinstance(said, bool) else find_line(fields, SAID).lower(),
            )
        )
    return found


def _read_part(name: str) -> str:
    return next(
        (
            kind
            for part, kind in (("box", "infobox"), ("tab", "cell"), ("cell", "cell"))
            if part in name.lower()
        ),
        "text",
    )


def _flatten(value: object) -> str:
    """Write a text, or a table's or infobox's rows, on one line."""
    if isinstance(value, Mapping):
        pairs = ((make_line(key), _flatten_list(own)) for key, own in value.items())
        return "; ".join(f"{key}: {own}" for key, own in pairs if own)
    return _flatten_list(value)


def _flatten_list(value: object) -> str:
    """Write a list of texts or of lists of texts; deeper ones are not read."""
    rows = [
        ", ".join(filter(None, map(make_line, row))) if isinstance(row, list) else make_line(row)
        for row in list_values(value)
    ]
    return "; ".join(filter(None, rows))


def _list_names(given: object) -> tuple[str, ...]:
    """List names of a list of texts or objects, or the keys of an object that are not false."""
    if isinstance(given, Mapping):
        given = [key for key, own in given.items() if own]
    if isinstance(given, tuple):
        given = list(given)
    names = (
        find_line(own, NAMES) if isinstance(own, Mapping) else make_line(own) for own in list_values(given)
    )
    return tuple(dict.fromkeys(filter(None, names)))


def _read_table(given: object) -> Rows | None:
    """Read an answer table: lines of `a|b`, a list of rows, or a list of objects; None for none."""
    rows: list[object]
    if isinstance(given, str):
        lines = given.replace("\r\n", "\n").strip("\n").split("\n")
        rows = [line.split("|") for line in lines if line.strip()]
    elif isinstance(given, list) and given and all(isinstance(row, Mapping) for row in given):
        headers = list(dict.fromkeys(key for row in given for key in row))
        rows = [list(headers), *([row.get(key) for key in headers] for row in given)]
    elif isinstance(given, list):
        rows = given
    else:
        return None
    if len(rows) < 2 or not all(isinstance(row, list) for row in rows):
        return None
    if len(rows) > MOST_ROWS:
        raise BadRecord(f"too_long: its answer_table has {len(rows):,} rows")
    read = [tuple(_read_cell(cell) for cell in row) for row in rows if isinstance(row, list)]
    width = len(read[0])
    if width < 2 or any(len(row) > width for row in read) or not all(read[0]):
        raise BadRecord(
            "bad_table: rows of its answer_table are longer than the header, or a header is empty"
        )
    if any(not row or not row[0] for row in read):
        raise BadRecord("bad_table: a row of its answer_table has no entity")
    return tuple((*row, *((),) * (width - len(row))) for row in read)


def _read_cell(cell: object) -> tuple[str, ...]:
    values = tuple(filter(None, (make_line(value).replace("|", " ") for value in list_values(cell))))
    if max(map(len, values), default=0) > MOST_CELL:
        raise BadRecord(f"too_long: a cell of its answer_table has more than {MOST_CELL:,} characters")
    return values
