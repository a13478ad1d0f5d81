"""Stage: a reader interprets each text from the schema alone, and the stage compares the answers."""

from __future__ import annotations

import asyncio
import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.literals import bind
from tasks.databases.profile.readings import list_readings
from tasks.databases.rendering import write_plain
from tasks.errors import SqlError, SqlTimeout, StageFailed
from tasks.grammar.construct.back_check import parse_letter
from tasks.grammar.construct.fill_in import Group, make_comparable, read_some
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.queries import FilledSql, FreeQuery, Query, write_filled
from tasks.grammar.construct.reading_file import FileReadings, read_readings
from tasks.grammar.construct.reading_queries import (
    ReadingQueries,
    ReadQuery,
    Slots,
    list_slots,
    number_placeholders,
    parse_reading,
    write_reading_grammar,
)
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_second_reading import (
    READ_OTHERWISE,
    SAME,
    UNREAD,
    WIDTH,
    SqlReading,
    compare_sql,
    read_as_sql,
)
from tasks.grammar.construct.sql_templates import OwnTemplate, SqlTemplate
from tasks.grammar.construct.telling_groups import TellingGroups, read_values
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.models.ask import Ask
from tasks.settings import Settings

UNKNOWN = "unknown_text"
"""The drop reason of a line in the readings file whose text does not exist."""


class SecondReading(Settings):
    """The settings in params.yaml under `grammar.second_reading`."""

    by: Literal["none", "model", "file"] = "none"
    """The reader: `none` for no reader, `model` for the model with the role `reader`, or `file` for people.

    People write their readings to data/labels/<database>.readings.jsonl or .csv.
    """
    groups: int = Field(default=3, ge=1)
    """The number of groups per SQL template whose answers are compared."""
    candidates: int = Field(default=12, ge=1)
    """For free-form SQL, the number of groups to sample per SQL template (or `groups`, if that is larger).

    From this sample, the stage selects groups whose answers differ between the SQL and likely misreadings.
    """
    told_by: int = Field(default=6, ge=1)
    """The maximum number of groups to select from the sampled `candidates`."""
    seed: int = 0
    """The seed for sampling groups."""
    limits: QueryLimits = QueryLimits()
    """The limits of each query that is derived from a reading."""


@dataclass(frozen=True)
class TextReading:
    """The reading of a text. If there is no usable reading, `read` is None and `problem` states why."""

    text: TextTemplate
    read: ReadQuery | None
    origin: tuple[Origin, ...]
    problem: str = ""


class ReadingRequests:
    """Asks the reader what a text asks for and, if there are several join paths, which path is meant."""

    def __init__(self, schema: Sequence[Column], slots: Slots, queries: ReadingQueries, ask: Ask) -> None:
        self._slots, self._queries, self._ask = slots, queries, ask
        tables = sorted({column.table for column in schema})
        self._tables = [{"name": table, "columns": _list_names(table, schema)} for table in tables]
        self._keys = [f"{column.id} = {column.references}" for column in schema if column.references]

    async def read(self, text: TextTemplate) -> TextReading:
        """Return the reader's reading of one text."""
        shown, names = number_placeholders(text.text)
        answer = await self._ask(
            "second_reading",
            {"text": shown, "tables": self._tables, "keys": self._keys},
            role="reader",
            row=text.id,
            parse=lambda reply: parse_reading(reply, self._slots, len(names)),
            grammar=write_reading_grammar(self._slots, len(names)),
            max_tokens=256,
        )
        origin = (*list_rows(text), Origin("call", answer.call))
        if answer.value is None:
            return TextReading(text, None, origin, answer.text)
        try:
            found = self._queries.list_queries(answer.value, names)
        except BrokenRule as broken:
            return TextReading(text, None, origin, f"{answer.text} ({broken.reason}: {broken})")
        if len(found) == 1:
            return TextReading(text, found[0], origin)
        letters = ascii_uppercase[: len(found)]
        ways = [" and ".join(f"{a} = {b}" for a, b in read.query.joins) for read in found]
        chosen = await self._ask(
            "second_reading_way",
            {"text": shown, "ways": list(zip(letters, ways, strict=True))},
            role="reader",
            row=text.id,
            parse=lambda reply: parse_letter(reply, letters),
            grammar=f"root ::= [{letters}]",
            max_tokens=4,
        )
        origin = (*origin, Origin("call", chosen.call))
        if chosen.value is None:
            return TextReading(text, None, origin, f"{answer.text}, by which way: {chosen.text}")
        return TextReading(text, found[letters.index(chosen.value)], origin)


async def second_reading(
    back_check: list[TextTemplate],
    sql_templates: list[SqlTemplate],
    own_templates: list[OwnTemplate],
    fill_in: Iterable[Group],
    schema: list[Column],
    database: DatabaseEntry,
    labels: Path,
    params: SecondReading,
    ask: Ask,
) -> Drafts[TextTemplate]:
    """Keep the texts whose reading has the same answers as their groups, or all texts if there is no reader.

    `labels` is the folder that contains the readings files. The reader states what a text asks for, and which
    columns the text's values are compared with. The stage then writes the SQL. With free-form SQL, a reader
    model writes the SQL. Texts that a person wrote are always kept; their field `reading` contains the
    outcome. The drop reasons are:

    - `read_otherwise`: the answer of a group differs;
    - `unread`: there is no reading, no valid query for the reading, or no group for a comparison;
    - `unknown_text`: the file contains a line for a text that does not exist.
    """
    if params.by == "none":
        return Drafts([replace(text, origin=list_rows(text)) for text in back_check])
    slots = list_slots(schema)
    queries = ReadingQueries(schema, slots)
    templates = {template.id: template for template in sql_templates}
    free = {
        name
        for name, template in templates.items()
        if isinstance(read_stored(template.sql, schema), FreeQuery)
    }
    readings: Sequence[TextReading | SqlReading]
    unknown: list[Dropped] = []
    if params.by == "file":
        file = read_readings(labels, database.name, back_check, schema, slots, queries)
        readings, unknown = _take_readings(back_check, file), _drop_unknown(file)
    else:
        requests = ReadingRequests(schema, slots, queries, ask)
        readings = await asyncio.gather(
            *(
                read_as_sql(text, schema, list_rows(text), ask)
                if text.sql_template in free
                else requests.read(text)
                for text in back_check
            )
        )
    groups = choose_groups(fill_in, max(params.groups, params.candidates), params.seed)
    # The queries run one after the other, so one process is enough.
    with ensure_unchanged(database), SafeDatabase(database, params.limits, children=1) as safe:
        telling = TellingGroups(templates, groups, schema, safe, params.told_by)
        outcomes = [
            compare_sql(reading, telling)
            if isinstance(reading, SqlReading)
            else _compare(reading, templates[name], groups.get(name, [])[: params.groups], schema, safe)
            for reading in readings
            for name in [reading.text.sql_template]
        ]
    own = {(template.id, text.text) for template in own_templates for text in template.texts}
    outcomes = [
        keep_own(outcome, text) if (text.sql_template, text.text) in own else outcome
        for outcome, text in zip(outcomes, back_check, strict=True)
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
            readings.append(
                TextReading(text, None, list_rows(text), f"{file.place} has no reading of this text")
            )
        else:
            source = Origin("evidence", f"{file.place}, line {found.line}")
            readings.append(TextReading(text, found.read, (*list_rows(text), source)))
    return readings


def _drop_unknown(file: FileReadings) -> list[Dropped]:
    return [
        Dropped(
            make_id("reading", line),
            UNKNOWN,
            f"line {line}: no text has the id {name[:80]}",
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
        return Dropped(
            text.id, UNREAD, f"{text.text} -- its SQL template has no group for a comparison", reading.origin
        )
    other = find_other_answer(reading.read, template, groups, schema, safe)
    if other is None:
        return replace(text, origin=reading.origin, reading=SAME)
    origin = (*reading.origin, Origin("row", f"fill_in#{other.group.id}"))
    detail = f"was read as: {other.sql}, which gives {other.found}, not {other.group.answer}"
    return Dropped(text.id, READ_OTHERWISE, f"{text.text} -- {detail}", origin)


def keep_own(outcome: TextTemplate | Dropped, text: TextTemplate) -> TextTemplate:
    """Return a user-written text, with the outcome of its reading in the field `reading`."""
    if isinstance(outcome, TextTemplate):
        return outcome
    detail = outcome.detail.removeprefix(f"{text.text} -- ")
    return replace(text, origin=outcome.origin, reading=f"{outcome.reason}: {detail}")


def list_rows(text: TextTemplate) -> tuple[Origin, ...]:
    """Return a text's origin: its row in back_check."""
    return (Origin("row", f"back_check#{text.id}"),)


def _list_names(table: str, schema: Sequence[Column]) -> list[str]:
    """List a table's columns for the reader, with their readable names."""
    own = [column for column in schema if column.table == table]
    return [f"{column.name} = {column.words}" if column.words else column.name for column in own]


@dataclass(frozen=True)
class OtherAnswer:
    """A group whose answer differs from a reading's answer, with the reading's SQL and answer (`found`)."""

    group: Group
    sql: str
    found: str


def choose_groups(groups: Iterable[Group], count: int, seed: int) -> dict[str, list[Group]]:
    """Sample `count` groups of each SQL template with a seed, without keeping all groups in memory."""
    chosen: defaultdict[str, list[tuple[int, str, Group]]] = defaultdict(list)
    for group in groups:
        own = chosen[group.sql_template]
        heapq.heappush(own, (-int(make_id(seed, group.id), 16), group.id, group))
        if len(own) > count:
            heapq.heappop(own)
    return {
        template: [
            group for *_, group in sorted(texts_of_template, key=lambda ranked: ranked[:2], reverse=True)
        ]
        for template, texts_of_template in chosen.items()
    }


def find_other_answer(
    read: ReadQuery,
    template: SqlTemplate,
    groups: Iterable[Group],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> OtherAnswer | None:
    """Return the first group for which a reading's query has a different answer on the database, or None.

    The order of the selected columns is ignored. Raises StageFailed if a query exceeds its time limit: a
    timeout depends on the machine, so it does not count as a different answer.
    """
    query = _order_columns(read.query, template)
    readings = list_readings(schema)
    filled = FilledSql(read_stored(template.sql, schema), readings)
    for group in groups:
        values = read_values(filled, group)
        sql = write_filled(query, {name: values[key] for name, key in read.names.items()}, readings)
        if sql == group.sql:
            continue  # the same SQL has the same answer
        due = [tuple(row) for row in json.loads(group.answer_rows)]
        statement, given = bind(sql, safe.dialect, schema)
        try:
            # One additional row is enough to show that the answer is larger.
            found = read_some(safe, statement, given, len(due) + 1)
        except SqlTimeout as error:
            raise StageFailed(
                f"the SQL of a second reading did not finish within {safe.limits.timeout_s:g} s ({sql}); "
                "raise grammar.second_reading.limits.timeout_s, or add an index to the database"
            ) from error
        except SqlError as error:
            # If a query compares a text with a number, SQLite returns no rows, but a server returns an error.
            return OtherAnswer(group, sql, f"nothing ({type(error).__name__})")
        if make_comparable(found) != make_comparable(due):
            text = "; ".join(", ".join(map(write_plain, row)) for row in found)
            return OtherAnswer(group, sql, text[:WIDTH] or "nothing")
    return None


def _order_columns(query: Query, template: SqlTemplate) -> Query:
    same = set(query.projection) == set(template.projection)
    return replace(query, projection=template.projection) if same else query
