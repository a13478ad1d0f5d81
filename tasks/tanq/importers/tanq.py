"""Published records of TANQ become items that baselines and systems can be evaluated on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.sources.base_importer import Imported, Project, option
from tasks.sources.loose_fields import BadRecord
from tasks.sources.tanq_records import (
    ASKED,
    PublishedEntity,
    PublishedProof,
    PublishedRecord,
    Rows,
    read_record,
)
from tasks.tanq.build.skill_use import (
    APPROXIMATION,
    CONVERSION,
    DATE_TO_YEAR,
    FILTER_ENTITY,
    FILTER_NUMBER,
    FILTER_TIME,
    TIME_CALCULATION,
    SkillUse,
)
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, ItemProof, ItemThing, TanqItem
from tasks.tanq.graph.seed_question import SeedProof
from tasks.tanq.importers.answer_noun import find_noun
from tasks.tanq.importers.records import ReadRecord, RecordsImporter
from tasks.tanq.labels import Support

SOURCE = "tanq"
FIRST = "entity"
SKILL_NAMES: Mapping[str, tuple[str, ...]] = {
    FILTER_NUMBER: ("filter", "num"),
    FILTER_TIME: ("filter", "time"),
    FILTER_ENTITY: ("filter", "entit"),
    DATE_TO_YEAR: ("year",),
    CONVERSION: ("conver",),
    TIME_CALCULATION: ("calc",),
    APPROXIMATION: ("approx",),
}
"""Skill -> the parts of words that name it, the first that fits counts."""
FURTHER_WORDS = {"numeric": "num", "quantity": "num", "date": "time", "temporal": "time", "round": "approx"}
VERDICTS: Mapping[str, Support] = {
    **dict.fromkeys((Support.SUPPORTED, "verifiable", "true", "yes", "entailment"), Support.SUPPORTED),
    **dict.fromkeys((Support.REFUTED, "contradiction"), Support.REFUTED),
}
"""What a publisher calls a verdict -> ours; none at all is of what survived, any other is not enough."""
UNIT = re.compile(r"\(([^()]+)\)$")
NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e[+-]?\d+)?%?", re.IGNORECASE)
DATE = re.compile(
    r"(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\d{4}(?: BCE)?|\d{4}-\d\d-\d\d|\d+(?:st|nd|rd|th) century.*"
)


class Tanq(RecordsImporter):
    """Bring in published records of TANQ as a dataset for `evaluate tanq` (docs/tanq.md).

    Example: benchloom import tanq tanq_test.jsonl.gz --question ext_question_rephrased
    """

    name = "tanq"
    folder, file, row = Path("data/raw/tanq"), "items.parquet", TanqItem
    source = "https://github.com/google-deepmind/tanq"
    licence = "as its publisher states; the texts of proofs are Wikipedia's, CC BY-SA 4.0"
    attribution = "TANQ (Akhtar et al., 2024)"
    rows, records, none = "items", "records", "no item of {:,} records"
    counted, then = "proofs", "now: benchloom evaluate tanq --dataset {folder} --system NAME"
    in_memory = 2_048
    """Each item holds its proofs."""

    called: str = option("Of the folder under data/raw/tanq.", "NAME", "--name", default="main")
    question: str = option(
        "That is asked. Default: the cleaned one, else what there is.", "FIELD", default=""
    )

    def bring_in(self, project: Project) -> Imported:
        """Write the records' items."""
        if self.question and self.question not in ASKED:
            what = f"{self.question[:40]!r} is no field that is read"
            raise BadInput("--question", what, hint=", ".join(ASKED))
        return super().bring_in(project)

    def read_row(self, where: str, record: object) -> ReadRecord:
        """Make a record's item, and write down what of it cannot be read."""
        read = read_record(record)
        made = make_published_item(read, self.question, f"{self.path.name}#{read.id or where}")
        for reason, count in (("answer_unread", read.unread), ("answer_not_in_table", made.apart)):
            if count:
                self.skipped.add(reason, where, f"{count} of them", read.id)
        for name in made.unknown:
            self.skipped.add("skill_unknown", where, name, read.id)
        return ReadRecord(
            made.item, made.item.question, made.item.init_qid, {"proofs": len(made.item.proofs)}
        )

    def describe_options(self) -> Mapping[str, object]:
        """Name the field that is asked."""
        return {"question": self.question or None}


@dataclass(frozen=True)
class ReadItem:
    """An item; unknown: skills that are none of ours; apart: answers that the table does not have."""

    item: TanqItem
    unknown: tuple[str, ...]
    apart: int


def make_published_item(record: PublishedRecord, asked: str, place: str) -> ReadItem:
    """Make the item of a record. asked: the field that is asked, empty for the best; place: `file#id`.

    Raises BadRecord.
    """
    field = asked or next(name for name in ASKED if record.texts[name])
    if not record.texts[field]:
        raise BadRecord(f"no_question: {field} is no text")
    table = record.table or _build_table(record)
    question = _remove_tags(record.texts[field], table[0], record)
    names = [" ".join(header) for header in table[0][1:]]
    # Two answers may have one name: rows of it take them in turn, those that pass first.
    unlisted: defaultdict[str, list[PublishedEntity]] = defaultdict(list)
    for entity in sorted(record.entities, key=lambda own: own.filter_pass is False):
        unlisted[_fold(entity.name)].append(entity)
    rows = [_make_row(row, names, _take_first(unlisted.get(_fold(", ".join(row[0]))))) for row in table[1:]]
    left = [entity for own in unlisted.values() for entity in own]
    rows += [_make_left(entity, names) for entity in left if entity.filter_pass is False]
    skills = [(name, find_skill(name)) for name in record.skills]
    columns = tuple(_make_column(name, place, rows, record) for place, name in enumerate(names))
    noun = find_noun(record.texts["init_question"] or question)
    item = TanqItem(
        id=make_id(SOURCE, record.id, question, [list(map(list, row)) for row in table]),
        kind=record.kind,
        shape=f"{record.kind} {noun}",
        init_qid=record.id,
        init_question=record.texts["init_question"],
        ext_question=record.texts["ext_question"],
        ext_question_rephrased=record.texts["ext_question_rephrased"],
        ext_question_cleaned=record.texts["ext_question_cleaned"],
        question=question,
        noun=noun,
        relations=tuple(column.relation for column in columns),
        extended_types=record.types,
        skills=tuple(
            SkillUse(name, "", "", "", "", "") for name in dict.fromkeys(own for _, own in skills if own)
        ),
        columns=columns,
        rows=tuple(rows),
        answer_table="\n".join("|".join(", ".join(cell) for cell in row) for row in table),
        intermediates=tuple(ItemThing(name, name, "") for name in record.between),
        things=tuple(dict.fromkeys(_list_things(record))),
        instance_type=record.classes
        or tuple(dict.fromkeys(own for e in record.entities for own in e.classes)),
        init_answer_proof=tuple(
            SeedProof(_name(entity), proof.article, proof.text)
            for entity in record.entities
            for proof in entity.proofs
        ),
        proofs=tuple({own.id: own for own in _list_proofs(record)}.values()),
        source=SOURCE,
        origin=(Origin("evidence", place),),
    )
    return ReadItem(
        item,
        tuple(name for name, own in skills if not own),
        sum(own.filter_pass is not False for own in left),
    )


def find_skill(name: str) -> str:
    """Find the skill that a publisher's name means, `Filtering numeric`; empty for none."""
    words = name.lower()
    for other, own in FURTHER_WORDS.items():
        words = words.replace(other, own)
    words = words.replace("time-to-year", "year")
    return next((own for own, parts in SKILL_NAMES.items() if all(part in words for part in parts)), "")


def find_verdict(said: str) -> Support:
    """Find the label that a publisher's verdict means."""
    return VERDICTS.get(said, Support.NOT_ENOUGH) if said else Support.SUPPORTED


def _build_table(record: PublishedRecord) -> Rows:
    """Build the table of an answer list: entities that pass, relations in the order in which they come."""
    passing = [entity for entity in record.entities if entity.filter_pass is not False]
    labels = list(dict.fromkeys(own.label for entity in passing for own in entity.relations))
    if not labels:
        raise BadRecord("no_table: no answer that passes has a value")
    header = ((FIRST,), *((label,) for label in labels))
    rows = [((entity.name,), *(_find_values(entity, label) for label in labels)) for entity in passing]
    return (header, *rows)


def _make_row(
    row: Sequence[tuple[str, ...]], names: Sequence[str], entity: PublishedEntity | None
) -> FinalRow:
    label = ", ".join(row[0])
    if entity is None:
        return FinalRow(label, label, True, tuple(FinalCell(cell, ()) for cell in row[1:]))
    cells = [_make_cell(cell, entity, name) for cell, name in zip(row[1:], names, strict=True)]
    return FinalRow(_name(entity), label, True, tuple(cells))


def _take_first(named: list[PublishedEntity] | None) -> PublishedEntity | None:
    return named.pop(0) if named else None


def _make_left(entity: PublishedEntity, names: Sequence[str]) -> FinalRow:
    """Make the row of an answer that fails a filter."""
    cells = (_make_cell(_find_values(entity, name), entity, name) for name in names)
    return FinalRow(_name(entity), entity.name, False, tuple(cells))


def _make_cell(cell: tuple[str, ...], entity: PublishedEntity, name: str) -> FinalCell:
    """Make a cell; one text of several values is told apart by the answer list, never by its commas alone."""
    values = _find_values(entity, name)
    text = ", ".join(cell)
    same = len(values) > 1 and sorted(_fold(own) for own in values) == sorted(
        _fold(own) for own in _split(text, values)
    )
    kept = tuple(_split(text, values)) if same else cell
    facts = tuple(_name_fact(entity, name, own) for own in kept if own in values)
    return FinalCell(kept, facts or tuple(_name_fact(entity, name, own) for own in values if kept))


def _split(text: str, values: Sequence[str]) -> list[str]:
    """Split a text at the values that it joins, longest first, so that commas within them stay."""
    pattern = "|".join(re.escape(own) for own in sorted(values, key=lambda own: (-len(own), own)))
    found = re.findall(pattern, text, re.IGNORECASE)
    return found if not re.sub(pattern, "", text, flags=re.IGNORECASE).strip(" ,;") else []


def _find_values(entity: PublishedEntity, name: str) -> tuple[str, ...]:
    wanted = _fold_header(name)
    for own in entity.relations:
        if wanted in (_fold_header(own.label), _fold_header(own.id)):
            return tuple(dict.fromkeys(value.text.replace("|", " ") for value in own.values))
    return ()


def _make_column(name: str, place: int, rows: Sequence[FinalRow], record: PublishedRecord) -> FinalColumn:
    values = [value for row in rows for value in row.cells[place].values]
    wanted = _fold_header(name)
    alike = [
        own for entity in record.entities for own in entity.relations if _fold_header(own.label) == wanted
    ]
    unit = UNIT.search(name)
    kind = "text"
    if values and all(map(DATE.fullmatch, values)):
        kind = "time"
    elif values and all(map(NUMBER.fullmatch, values)):
        kind = "quantity"
    elif any(value.item for own in alike for value in own.values):
        kind = "item"
    return FinalColumn(next((own.id for own in alike if own.id), name), name, kind, unit[1] if unit else "")


def _list_things(record: PublishedRecord) -> Iterator[ItemThing]:
    for entity in record.entities:
        yield ItemThing(_name(entity), entity.name, entity.article)
        for own in entity.relations:
            for value in own.values:
                if value.item or value.article:
                    yield ItemThing(value.item or value.text, value.text, value.article)


def _list_proofs(record: PublishedRecord) -> Iterator[ItemProof]:
    for entity in record.entities:
        for own in entity.relations:
            for value in own.values:
                fact = _name_fact(entity, own.label, value.text.replace("|", " "))
                for proof in value.proofs:
                    yield _make_proof(proof, fact, _name(entity), own.id or own.label, value.text)


def _make_proof(proof: PublishedProof, fact: str, entity: str, relation: str, value: str) -> ItemProof:
    return ItemProof(
        id=make_id(fact, proof.article, proof.section, proof.position, proof.text),
        fact=fact,
        entity=entity,
        relation=relation,
        value=value,
        article=proof.article,
        revision=None,
        section=proof.section,
        parent=proof.parent,
        position=proof.position,
        kind=proof.kind,
        headers=(),
        row=proof.text if proof.kind == "cell" else "",
        text=proof.text,
        eval_result=find_verdict(proof.said),
    )


def _remove_tags(question: str, header: Sequence[tuple[str, ...]], record: PublishedRecord) -> str:
    """Remove the tags of relations in parentheses, and nothing else that stands in them."""
    known = {_fold_header(own.label) for entity in record.entities for own in entity.relations}
    known |= {_fold_header(" ".join(cell)) for cell in header}
    without = re.sub(
        r"\s*\(([^()]*)\)", lambda tag: "" if _fold_header(tag[1]) in known else tag[0], question
    )
    return " ".join(without.split())


def _name(entity: PublishedEntity) -> str:
    return entity.item or entity.name


def _name_fact(entity: PublishedEntity, name: str, value: str) -> str:
    return make_id("published fact", _name(entity), _fold_header(name), value)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _fold_header(name: str) -> str:
    return _fold(UNIT.sub("", name).replace("_", " "))
