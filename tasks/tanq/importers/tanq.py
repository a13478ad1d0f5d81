"""Import published TANQ records as items to evaluate baselines and systems."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.scoring.items import BadItem
from tasks.sources.base_importer import Imported, Project, option
from tasks.sources.loose_fields import BadRecord
from tasks.sources.tanq_records import ASKED, PublishedRecord, read_record
from tasks.systems.own_items import validate_row
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
from tasks.tanq.build.tanq_item import ItemThing, TanqItem
from tasks.tanq.graph.seed_question import SeedProof
from tasks.tanq.importers.answer_noun import find_noun
from tasks.tanq.importers.published_table import VERDICTS, PublishedTable
from tasks.tanq.importers.records import ReadRecord, RecordsImporter

SOURCE = "tanq"
SKILL_NAMES: Mapping[str, tuple[str, ...]] = {
    FILTER_NUMBER: ("filter", "num"),
    FILTER_TIME: ("filter", "time"),
    FILTER_ENTITY: ("filter", "entit"),
    DATE_TO_YEAR: ("year",),
    CONVERSION: ("conver",),
    TIME_CALCULATION: ("calc",),
    APPROXIMATION: ("approx",),
}
"""Map each skill to word stems in its published names.

A published name means the first skill whose stems all occur in the name.
"""
FURTHER_WORDS = {"numeric": "num", "quantity": "num", "date": "time", "temporal": "time", "round": "approx"}
NO_SKILL = frozenset({"no skill", "none"})
OWN_FIELDS = frozenset({"rows", "columns", "proofs", "answer_table"})
"""Fields that occur only in items from our own publications (data/items.jsonl), not in the TANQ release."""
PUBLICATION = "publication.json"
OWN_FILES = ("data/items.jsonl", "tanq/test.jsonl", "test.jsonl")
"""Files to look for in a folder, in order: a file of our own publications, then of the TANQ release."""


class Tanq(RecordsImporter):
    """Import published TANQ records as a dataset for `evaluate tanq` (docs/tanq.md).

    Example: benchloom import tanq test.jsonl
    """

    name = "tanq"
    folder, file, row = Path("data/raw/tanq"), "items.parquet", TanqItem
    source = "https://github.com/google-deepmind/tanq"
    licence = "CC BY 4.0; the texts of proofs are Wikipedia's, CC BY-SA 4.0"
    attribution = "TANQ (Akhtar et al., 2024); Wikipedia contributors"
    rows, records, none = "items", "records", "no item of {:,} records"
    counted, then = "proofs", "now: benchloom evaluate tanq --dataset {folder} --system NAME"
    in_memory = 2_048
    """Lower than the default, because each item contains all its proofs."""

    called: str = option("Name of the new folder under data/raw/tanq.", "NAME", "--name", default="main")
    question: str = option(
        f"The field with the question. Default: the first existing field of {', '.join(ASKED)}.",
        "FIELD",
        default="",
    )

    others: Counter[str]
    asked: Counter[str]

    def bring_in(self, project: Project) -> Imported:
        """Convert the records to items, and write the items."""
        if self.question and self.question not in ASKED:
            what = f"{self.question[:40]!r} is not a field that is read"
            raise BadInput("--question", what, hint=", ".join(ASKED))
        if self.path.is_dir():
            there = [self.path / name for name in OWN_FILES if (self.path / name).is_file()]
            if not there:
                raise BadInput(
                    self.path, f"contains none of {', '.join(OWN_FILES)}", hint="give the path of the file"
                )
            self.path = there[0]
        self.others, self.asked = Counter(), Counter()
        return super().bring_in(project)

    def describe_source(self) -> dict[str, str]:
        """Describe the TANQ release, or our own publication if the file is in a publication's folder.

        Raises BadInput if the publication's record is not valid.
        """
        records = (place / PUBLICATION for place in self.path.absolute().parents[:2])
        record = next((path for path in records if path.is_file()), None)
        if record is None:
            return super().describe_source()
        try:
            told = json.loads(record.read_bytes())
            sources = [(str(entry["title"]), str(entry["licence"])) for entry in told["sources"]]
            name = str(told["dataset"])
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(record, "is not a valid publication record", hint="publish again") from error
        return {
            "source": f"publication of {name}",
            "licence": "; ".join(dict.fromkeys(licence for _, licence in sources)),
            "attribution": "; ".join(dict.fromkeys(title for title, _ in sources)),
        }

    def read_row(self, where: str, record: object) -> ReadRecord:
        """Convert a record to an item, and log the unreadable parts."""
        if isinstance(record, dict) and record.keys() >= OWN_FIELDS:
            own = read_own(record)
            return ReadRecord(own, own.question, own.init_qid, {"proofs": len(own.proofs)})
        read = read_record(record)
        made = make_published_item(read, self.question, f"{self.path.name}#{read.id or where}", record)
        if not read.told:
            self.skipped.add("kind_not_told", where, f"taken as {read.kind}", read.id)
        for reason, count in (
            ("answer_not_in_table", made.apart),
            ("row_not_in_answers", made.unlisted),
            ("verdict_unknown", made.verdicts),
        ):
            if count:
                self.skipped.add(reason, where, f"{count} of them", read.id)
        for name in made.unknown:
            self.skipped.add("skill_unknown", where, name, read.id)
        self.others.update(read.others)
        self.asked[made.asked] += 1
        return ReadRecord(
            made.item, made.item.question, made.item.init_qid, {"proofs": len(made.item.proofs)}
        )

    def word_more(self) -> list[str]:
        """Return lines for the report: fallback fields that were read as the question, and unknown fields."""
        first, *fallbacks = [self.question] if self.question else ASKED
        lines = [
            f"asked: {name} of {self.asked[name]:,} records, which lack {first}"
            for name in fallbacks
            if self.asked[name]
        ]
        if self.others:
            listed = ", ".join(f"{name} ({count:,})" for name, count in sorted(self.others.items()))
            lines.append(f"not understood, kept in column `record` under their own names: {listed}")
        return lines

    def describe_options(self) -> Mapping[str, object]:
        """Return the fields used as questions and the unknown fields, for about.json."""
        return {
            "question": self.question or None,
            "asked": dict(sorted(self.asked.items())),
            "not_understood": dict(sorted(self.others.items())),
        }


@dataclass(frozen=True)
class ReadItem:
    """An item, the field with its question, and the parts of the record that could not be read.

    - asked: name of the field that contains the question.
    - unknown: published skill names that `find_skill` does not recognise.
    - apart: number of answers that pass the filters but are not in the table.
    - unlisted: number of table rows without an answer; 0 if the record has no answers.
    - verdicts: number of proofs with an unknown verdict, which counts as not enough information.
    """

    item: TanqItem
    asked: str
    unknown: tuple[str, ...]
    apart: int
    unlisted: int
    verdicts: int


def read_own(record: dict[str, Any]) -> TanqItem:
    """Read an item from one of our own publications. Raises BadRecord if the item is not valid."""
    unknown = record.keys() - {part.name for part in fields(TanqItem)}
    if unknown:
        raise BadRecord(f"bad_item: the record has the unknown field {min(unknown)!r}")
    try:
        return validate_row(TanqItem, record)
    except BadItem as error:
        raise BadRecord(f"bad_item: {error}") from error


def make_published_item(record: PublishedRecord, asked: str, place: str, given: object) -> ReadItem:
    """Convert a record to an item. place: the record's position in the source, as `file#id`.

    asked: the field with the question; if empty, the first field of `ASKED` that contains text is used.
    given: the published record, which the item stores unchanged. Raises BadRecord if the record has no
    question or no table.
    """
    name = asked or next(name for name in ASKED if record.texts[name])
    question = record.texts[name]
    if not question:
        raise BadRecord(f"no_question: {name} contains no text")
    table = PublishedTable(record)
    rows = list(table.make_rows())
    columns = tuple(table.make_column(place, rows) for place in range(len(table.names)))
    skills = [(name, find_skill(name)) for name in record.skills if name.lower() not in NO_SKILL]
    noun = find_noun(record.texts["init_question"] or question)
    answers = record.answers
    item = TanqItem(
        id=make_id(SOURCE, record.id, question, [list(row) for row in table.rows]),
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
        extended_types=tuple(column.kind for column in columns),
        skills=tuple(
            SkillUse(name, "", "", "", "", "") for name in dict.fromkeys(ours for _, ours in skills if ours)
        ),
        columns=columns,
        rows=tuple(rows),
        answer_table="\n".join("|".join(row) for row in table.rows),
        intermediates=tuple(
            dict.fromkeys(
                ItemThing(part.item or part.name, part.name, part.article)
                for answer in answers
                for part in answer.composed
            )
        ),
        things=tuple(dict.fromkeys(table.list_things())),
        instance_type=tuple(dict.fromkeys(class_id for answer in answers for class_id in answer.classes)),
        init_answer_proof=tuple(
            SeedProof(table.identify(answer), article, text)
            for answer in answers
            for article, text in answer.proofs
        ),
        proofs=tuple(table.list_proofs()),
        source=SOURCE,
        origin=(Origin("evidence", place),),
        record=json.dumps(given),
    )
    return ReadItem(
        item,
        name,
        tuple(name for name, ours in skills if not ours),
        sum(answer.filter_pass is not False for answer in table.left),
        sum(answer is None for answer in table.answers) if answers else 0,
        sum(
            proof.said not in VERDICTS
            for answer in answers
            for value in answer.values
            for proof in value.proofs
        ),
    )


def find_skill(name: str) -> str:
    """Return the skill for a published name, such as `Filtering numeric`; empty if unknown."""
    words = name.lower()
    for other, ours in FURTHER_WORDS.items():
        words = words.replace(other, ours)
    words = words.replace("time-to-year", "year")
    return next((ours for ours, parts in SKILL_NAMES.items() if all(part in words for part in parts)), "")
