"""Hold a reading against groups of its text: the query that follows must give their answers."""

from __future__ import annotations

import heapq
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.databases.literals import bind
from tasks.errors import SqlError, SqlTimeout, StageFailed
from tasks.grammar.construct.comparable_answers import make_comparable, read_some
from tasks.grammar.construct.fill_in import Group, format_value
from tasks.grammar.construct.queries import Query, write_filled
from tasks.grammar.construct.reading_queries import ReadQuery
from tasks.grammar.construct.sql_templates import SqlTemplate

LITERAL = r"('(?:[^']|'')*'|-?[0-9][0-9.eE+-]*)"
WIDTH = 80


@dataclass(frozen=True)
class OtherAnswer:
    """A group of which a reading gives another answer. sql: the reading's; found: what it gives."""

    group: Group
    sql: str
    found: str


def choose_groups(groups: Iterable[Group], count: int, seed: int) -> dict[str, list[Group]]:
    """Choose so many groups of each SQL template, in a seeded order; of the others only ids are hashed."""
    chosen: defaultdict[str, list[tuple[int, str, Group]]] = defaultdict(list)
    for group in groups:
        own = chosen[group.sql_template]
        heapq.heappush(own, (-int(make_id(seed, group.id), 16), group.id, group))
        if len(own) > count:
            heapq.heappop(own)
    return {
        template: [group for *_, group in sorted(own, key=lambda ranked: ranked[:2], reverse=True)]
        for template, own in chosen.items()
    }


def find_other_answer(
    read: ReadQuery,
    template: SqlTemplate,
    groups: Iterable[Group],
    schema: Sequence[Column],
    safe: SafeDatabase,
) -> OtherAnswer | None:
    """Find a group that a reading gives another answer of, on the database; None if there is none.

    In which order columns are asked for makes no difference. Raises StageFailed if a query exceeds its time
    limit, since that depends on the machine.
    """
    query = _order_columns(read.query, template)
    for group in groups:
        values = read_values(template, group)
        sql = write_filled(query, {name: values[own] for name, own in read.names.items()})
        if sql == group.sql:
            continue  # the group's answer is what this gives
        due = [tuple(row) for row in json.loads(group.answer_rows)]
        statement, given = bind(sql, safe.dialect, schema)
        try:
            found = read_some(safe, statement, given, len(due) + 1)
        except SqlTimeout as error:
            raise StageFailed(
                f"a text's reading did not end within {safe.limits.timeout_s:g} s ({sql}); raise "
                "grammar.second_reading.limits.timeout_s, or give the database an index"
            ) from error
        except SqlError as error:
            # A text compared with a number: SQLite finds nothing, a server refuses.
            return OtherAnswer(group, sql, f"nothing ({type(error).__name__})")
        if make_comparable(found) != make_comparable(due):
            text = "; ".join(", ".join(map(format_value, row)) for row in found)
            return OtherAnswer(group, sql, text[:WIDTH] or "nothing")
    return None


def read_values(template: SqlTemplate, group: Group) -> Mapping[str, str | int | float]:
    """Read the values that a group's SQL has for its template's placeholders, with their types."""
    pieces = re.split(r"'\[([^\[\]]*)\]'", template.sql)
    pattern = "".join(LITERAL if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
    match = re.fullmatch(pattern, group.sql)
    if match is None:
        raise StageFailed(f"group {group.id} is not its SQL template with values: {group.sql}")
    return dict(zip(pieces[1::2], map(_read_literal, match.groups()), strict=True))


def _read_literal(text: str) -> str | int | float:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return float(text) if set(text) & set(".eE") else int(text)


def _order_columns(query: Query, template: SqlTemplate) -> Query:
    same = set(query.projection) == set(template.projection)
    return replace(query, projection=template.projection) if same else query
