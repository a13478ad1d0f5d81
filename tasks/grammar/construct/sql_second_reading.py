"""The second reading of free-form SQL: the reader writes SQL, given only the text and the schema.

No cell is sent to the model. The stage fills in a group's values, runs the SQL, and compares the rows with
the group's answer. For this comparison, the stage selects groups whose answers differ between the template
and its likely misreadings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tasks.artifacts.rows import Dropped, Origin
from tasks.databases.columns import Column
from tasks.databases.rendering import write_plain
from tasks.grammar.construct.any_templates import MAX_SQL, check_operators, strip_reply
from tasks.grammar.construct.free_reading import parse_free, read_free
from tasks.grammar.construct.queries import FreeQuery
from tasks.grammar.construct.reading_queries import number_placeholders
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.telling_groups import TellingGroups, is_same
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.models.ask import Ask, Unparsed

READ_OTHERWISE, UNREAD = "read_otherwise", "unread"
SAME = "same"
"""The value of the field `reading` if a text's reading has the same answers as the text's groups."""
WIDTH = 80
"""The maximum number of characters of a reading's answer in the detail of a dropped row."""
NUMBERED = re.compile(r"\[(\d+)(?::[^\]]*)?\]")


@dataclass(frozen=True)
class SqlReading:
    """The SQL that the reader wrote for a text.

    If there is no usable SQL, `query` is None and `problem` states why.
    """

    text: TextTemplate
    query: FreeQuery | None
    origin: tuple[Origin, ...]
    problem: str = ""


async def read_as_sql(
    text: TextTemplate, schema: Sequence[Column], origin: tuple[Origin, ...], ask: Ask
) -> SqlReading:
    """Return the SQL that the reader writes for a text."""
    shown, names = number_placeholders(text.text)
    tables = sorted({column.table for column in schema})
    answer = await ask(
        "second_reading_sql",
        {
            "text": shown,
            "tables": [
                {"name": table, "columns": [column for column in schema if column.table == table]}
                for table in tables
            ],
        },
        role="reader",
        row=text.id,
        parse=lambda reply: parse_sql_reading(reply, names, schema),
        max_tokens=1_024,
    )
    origin = (*origin, Origin("call", answer.call))
    problem = "" if answer.value else f"{answer.text} ({answer.problem})"
    return SqlReading(text, answer.value, origin, problem)


def parse_sql_reading(reply: str, names: Sequence[str], schema: Sequence[Column]) -> FreeQuery:
    """Parse a reply as SQL, with `[1]` for the text's first value. Raises Unparsed."""
    sql = strip_reply(reply)
    if len(sql) > MAX_SQL:
        raise Unparsed(f"unreadable: the SQL has more than {MAX_SQL:,} characters")

    def name(found: re.Match[str]) -> str:
        number = int(found[1])
        if not 1 <= number <= len(names):
            raise Unparsed(f"wrong_placeholder: the text has no value {number}")
        return f"[{names[number - 1]}]"

    sql = NUMBERED.sub(name, sql)
    try:
        query = read_free(sql, schema)
        check_operators(parse_free(query.sql))
    except BrokenRule as broken:
        raise Unparsed(f"{broken.reason}: {broken}") from broken
    except RecursionError as error:
        raise Unparsed("unreadable: the SQL is nested too deeply") from error
    if unknown := sorted(set(query.placeholders) - set(names)):
        raise Unparsed(f"wrong_placeholder: the text has no [{unknown[0]}]")
    return query


def compare_sql(reading: SqlReading, telling: TellingGroups) -> TextTemplate | Dropped:
    """Return the text if its reading has the same answers as the selected groups, otherwise a dropped row."""
    text, query = reading.text, reading.query
    if query is None:
        return Dropped(text.id, UNREAD, f"{text.text} -- {reading.problem}", reading.origin)
    groups = telling.find(text.sql_template)
    if not groups:
        return Dropped(
            text.id, UNREAD, f"{text.text} -- its SQL template has no group for a comparison", reading.origin
        )
    for filled in groups:
        found = telling.reruns.run(query, filled)
        if found is None or not is_same(found, filled.due):
            gives = "; ".join(", ".join(map(write_plain, row)) for row in found or [])[:WIDTH] or "nothing"
            detail = f"was read as: {query.sql}, which gives {gives}, not {filled.group.answer}"
            origin = (*reading.origin, Origin("row", f"fill_in#{filled.group.id}"))
            return Dropped(text.id, READ_OTHERWISE, f"{text.text} -- {detail}", origin)
    return replace(text, origin=reading.origin, reading=SAME)
