"""Stage: have each text read a second time, from the text and the schema alone, and compare the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.reading_answers import choose_groups, find_other_answer
from tasks.grammar.construct.reading_file import FileReadings, read_readings
from tasks.grammar.construct.reading_queries import ReadingQueries
from tasks.grammar.construct.reading_requests import ReadingRequests, TextReading, list_rows
from tasks.grammar.construct.reading_slots import list_slots
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.models.ask import Ask

READ_OTHERWISE, UNREAD, UNKNOWN = "read_otherwise", "unread", "unknown_text"


class SecondReading(BaseModel):
    """`grammar.second_reading` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Literal["none", "model", "file"] = "none"
    """Who reads: nobody, the role `reader`, or a person: data/labels/<database>.readings.jsonl, or .csv."""
    groups: int = Field(default=3, ge=1)
    """Groups of a text's SQL template whose answers are compared."""
    seed: int = 0
    """Of which groups."""
    limits: QueryLimits = QueryLimits()
    """Limits of each query that follows from a reading."""


async def second_reading(
    back_check: list[TextTemplate],
    sql_templates: list[SqlTemplate],
    fill_in: Iterable[Group],
    schema: list[Column],
    database: DatabaseEntry,
    labels: Path,
    params: SecondReading,
    ask: Ask,
) -> Drafts[TextTemplate]:
    """Keep the texts whose reading gives the answers of their groups; all of them if nobody reads.

    labels: the folder of people's files. The reader says what a text asks for and what its values are
    compared with; code writes the SQL. Drop reasons: `read_otherwise` (a group's answer is another one),
    `unread` (no reading, or one that makes no query), `unknown_text` (a file's line for a text that is not
    here).
    """
    if params.by == "none":
        return Drafts([replace(text, origin=list_rows(text)) for text in back_check])
    slots = list_slots(schema)
    queries = ReadingQueries(schema, slots)
    unknown: list[Dropped] = []
    if params.by == "file":
        file = read_readings(labels, database.name, back_check, schema, slots, queries)
        readings, unknown = _take_readings(back_check, file), _drop_unknown(file)
    else:
        requests = ReadingRequests(schema, slots, queries, ask)
        readings = await asyncio.gather(*(requests.read(text) for text in back_check))
    groups = choose_groups(fill_in, params.groups, params.seed)
    templates = {template.id: template for template in sql_templates}
    with ensure_unchanged(database), SafeDatabase(database, params.limits, children=1) as safe:
        outcomes = [
            _compare(reading, templates[name], groups.get(name, []), schema, safe)
            for reading in readings
            for name in [reading.text.sql_template]
        ]
    return Drafts(
        [outcome for outcome in outcomes if isinstance(outcome, TextTemplate)],
        [*(outcome for outcome in outcomes if isinstance(outcome, Dropped)), *unknown],
    )


def _take_readings(texts: Sequence[TextTemplate], file: FileReadings) -> list[TextReading]:
    readings = []
    for text in texts:
        found = file.by_text.get(text.id)
        if found is None:
            readings.append(TextReading(text, None, list_rows(text), f"{file.place} has no reading of it"))
        else:
            source = Origin("evidence", f"{file.place}, line {found.line}")
            readings.append(TextReading(text, found.read, (*list_rows(text), source)))
    return readings


def _drop_unknown(file: FileReadings) -> list[Dropped]:
    return [
        Dropped(
            make_id("reading", line),
            UNKNOWN,
            f"line {line}: no text here is {name[:80]}",
            (Origin("evidence", f"{file.place}, line {line}"),),
        )
        for line, name in file.unknown
    ]


def _compare(
    reading: TextReading,
    template: SqlTemplate,
    groups: Sequence[Group],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> TextTemplate | Dropped:
    text = reading.text
    if reading.read is None:
        return Dropped(text.id, UNREAD, f"{text.text} -- {reading.problem}", reading.origin)
    if not groups:
        return Dropped(text.id, UNREAD, f"{text.text} -- has no group to be compared by", reading.origin)
    other = find_other_answer(reading.read, template, groups, schema, safe)
    if other is None:
        return replace(text, origin=reading.origin)
    origin = (*reading.origin, Origin("row", f"fill_in#{other.group.id}"))
    detail = f"was read as: {other.sql}, which gives {other.found}, not {other.group.answer}"
    return Dropped(text.id, READ_OTHERWISE, f"{text.text} -- {detail}", origin)
