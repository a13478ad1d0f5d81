"""A small complete run of GRAMMAR on the clinic: real stages with hand-written templates and texts."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.contracts import ContractFinding, read_findings
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id, schema_of
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.balanced import Balanced, balanced
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.queries import write_template
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import OwnTemplate, SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.construct.unbalanced import Unbalanced, unbalanced
from tasks.grammar.corpus.answer_facts import AnswerFactsParams, answer_facts
from tasks.grammar.corpus.documents import UNREAD, Documents, documents
from tasks.grammar.corpus.profiles import Profiles, profiles
from tasks.grammar.corpus.questions import Questions, questions
from tasks.grammar.corpus.true_documents import TrueDocuments, true_documents
from tasks.grammar.publish.contracts import ROWS, Contracts, contracts
from tasks.models.calls import Call
from tests.grammar.sample import make_call
from tests.grammar.scripted import SCHEMA, make_database

SQL = (
    "SELECT doctors.hourly_rate FROM doctors WHERE doctors.name = '[doctors.name]'",
    "SELECT doctors.specialty FROM doctors WHERE doctors.name = '[doctors.name]'",
    "SELECT clinics.town FROM clinics WHERE clinics.name = '[clinics.name]'",
    "SELECT visits.reason FROM visits WHERE visits.day = '[visits.day]' "
    "AND visits.\"order\" = '[visits.order]'",
)
TEXTS = {
    SQL[0]: ("hourly rate of [doctors.name]", "How much does doctor [doctors.name] take for an hour?"),
    SQL[1]: ("specialty of [doctors.name]", "Tell me, what specialty does doctor [doctors.name] have?"),
    SQL[2]: ("town of [clinics.name]", "I wonder in which town the clinic [clinics.name] is to be found?"),
    SQL[3]: (
        "reason of visit [visits.order] on [visits.day]",
        "Could you look up the reason of visit number [visits.order] on [visits.day]?",
    ),
}


SETTINGS = {
    "grammar.text_templates.criteria.short.prompt": "texts/short",
    "grammar.text_templates.criteria.short.samples": 1,
    "grammar.text_templates.criteria.short.example.text": "height of lighthouse [lighthouses.name] in feet",
    "grammar.balanced.criteria": ["short", "long"],
    "grammar.balanced.texts": 1,
    "grammar.documents.words": [8, 90],
    "grammar.documents.written_by": "plain",
    "grammar.documents.readable": 0.5,
    "grammar.questions.criteria": ["short", "long"],
    "grammar.questions.grounded": True,
}


@dataclass
class World:
    folder: Path
    database: Path

    def path(self, stem: str) -> Path:
        return self.folder / f"{stem}.parquet"

    def read(self, stem: str) -> list[dict[str, Any]]:
        return pq.read_table(self.path(stem)).to_pylist()

    def plant(
        self, stem: str, change: Callable[[list[dict[str, Any]]], Any], schema: pa.Schema | None = None
    ) -> None:
        """Change an artifact's file directly; every cell may be NULL."""
        rows = self.read(stem)
        rows = change(rows) or rows
        due = schema or schema_of(ROWS[stem])
        loose = pa.schema([field.with_nullable(True) for field in due])
        pq.write_table(pa.Table.from_pylist(rows, schema=loose), self.path(stem))

    def check(
        self, out: str = "contracts", whole: Path | None = None, **params: Any
    ) -> list[ContractFinding]:
        """Run the stage, with the database as a part of `whole`. Errors of the stage are raised."""
        contracts(
            **{stem: self.path(stem) for stem in ROWS},
            database=DatabaseEntry(name="clinic", title="Clinic", file=self.database, world=whole),
            settings=SETTINGS,
            params=Contracts(**params),
            out=self.folder / out,
        )
        return read_findings(self.folder / out)


def make_world(root: Path) -> World:
    world = World(root / "data" / "grammar" / "clinic", make_database(root / "clinic.sqlite"))
    templates, texts = [], []
    calls = {"sql_templates": [], "text_templates": [], "back_check": [], "documents": []}

    def call(stem: str, row: str) -> Origin:
        made: Call = make_call(stem, row, "text")
        calls[stem].append(made)
        return Origin("call", made.id)

    for sql, (short, long) in TEXTS.items():
        query = read_template(sql, SCHEMA)
        origin = (
            *(Origin("row", f"schema#{column}") for column in query.projection),
            call("sql_templates", sql),
        )
        template = SqlTemplate(
            query.id, write_template(query), query.tables, query.projection, query.placeholders, 3, origin
        )
        templates.append(template)
        for criterion, text in (("short", short), ("long", long)):
            own = make_id("text", template.id, text)
            origin = (Origin("row", f"sql_templates#{template.id}"), call("text_templates", own))
            texts.append(TextTemplate(own, template.id, criterion, text, origin))
    confirmed = [
        TextTemplate(
            text.id, text.sql_template, text.criterion, text.text,
            (Origin("row", f"text_templates#{text.id}"), call("back_check", text.id)),
        )
        for text in texts
    ]  # fmt: skip
    kept = [replace(text, origin=(Origin("row", f"back_check#{text.id}"),)) for text in confirmed]
    entry = DatabaseEntry(file=world.database)
    groups = list(fill_in(templates, SCHEMA, entry, FillIn(every_value_matters=False)).rows)
    made = {
        "schema": Drafts[Column](SCHEMA),
        "own_templates": Drafts[OwnTemplate]([]),
        "sql_templates": Drafts(templates),
        "text_templates": Drafts(texts),
        "back_check": Drafts(confirmed),
        "second_reading": Drafts(kept),
        "fill_in": fill_in(templates, SCHEMA, entry, FillIn(every_value_matters=False)),
        "unbalanced": unbalanced(kept, groups, Unbalanced()),
        "balanced": balanced(kept, groups, [], Balanced(criteria=("short", "long"))),
    }
    made |= make_corpus(groups, templates, made["balanced"], made["unbalanced"], world.database)
    for stem, drafts in made.items():
        write_rows(world.path(stem), ROWS[stem], drafts.rows)
        write_rows(world.path(f"{stem}.dropped"), Dropped, drafts.dropped)
    for stem, rows in calls.items():
        write_rows(world.path(f"{stem}.calls"), Call, rows)
    return world


async def ask_nobody(prompt, *_, **__):
    """Raise an error, for a stage that must not call a model."""
    raise AssertionError(f"{prompt} was asked")


def make_corpus(groups, templates, in_balance, others, database) -> dict[str, Drafts[Any]]:
    """Write documents about doctors and clinics, one sentence per fact; one fact was not read."""
    entry = DatabaseEntry(name="clinic", file=database)
    things = profiles(
        list(in_balance.rows),
        templates,
        SCHEMA,
        entry,
        {},
        Profiles(entities={"clinic": ("doctors", "clinics")}),
    )
    params = Documents(written_by="plain", words=(8, 90), readable=0.5)
    told = asyncio.run(documents(list(things.rows), SCHEMA, entry, params, ask_nobody))
    missed = next(fact for profile in things.rows for fact in profile.facts if len(profile.facts) > 1)
    unread = Dropped(missed.id, UNREAD, missed.attribute, (Origin("row", f"profiles#{things.rows[0].id}"),))
    told = Drafts(list(told.rows), [*told.dropped, unread])
    true = true_documents(
        list(things.rows), list(told.dropped), groups, templates, SCHEMA, entry, TrueDocuments()
    )
    asked = questions(
        list(in_balance.rows),
        list(others.rows),
        list(true.rows),
        list(told.rows),
        entry,
        Questions(criteria=("short", "long")),
    )
    needed = answer_facts(
        list(things.rows),
        list(told.rows),
        list(told.dropped),
        list(asked.rows),
        groups,
        templates,
        SCHEMA,
        entry,
        AnswerFactsParams(),
    )
    return {
        "profiles": things,
        "documents": told,
        "true_documents": true,
        "questions": asked,
        "answer_facts": needed,
    }
