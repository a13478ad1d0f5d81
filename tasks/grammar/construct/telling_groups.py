"""Select groups of a SQL template whose answers differ between the template and its likely misreadings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from tasks.databases.columns import Column
from tasks.databases.execution import SafeDatabase
from tasks.databases.literals import bind, read_literal
from tasks.databases.profile.readings import list_readings
from tasks.databases.values import Value
from tasks.errors import SqlError, SqlTimeout, StageFailed
from tasks.grammar.construct.fill_in import Group, Rows, make_comparable, read_some
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.misreadings import list_misreadings
from tasks.grammar.construct.queries import FilledSql, FreeQuery
from tasks.grammar.construct.sql_templates import SqlTemplate

# Five columns have 120 orders, and six columns would have 720.
WIDEST = 5
"""Answers with at most this many columns are compared in every column order."""


@dataclass(frozen=True)
class FilledGroup:
    """A group with the typed values of its placeholders and the rows of its answer."""

    group: Group
    values: Mapping[str, str | int | float]
    due: Rows


class Reruns:
    """Runs queries with a group's values, and compares the results with the group's answer."""

    def __init__(self, schema: Sequence[Column], safe: SafeDatabase) -> None:
        self._schema, self._safe = schema, safe

    def run(self, query: FreeQuery, filled: FilledGroup) -> Rows | None:
        """Run a query with a group's values; return at most one row more than the group's answer has.

        Returns None if the database rejects the query. Raises StageFailed if the query exceeds its time
        limit: a timeout depends on the machine, so it does not count as a rejection.
        """
        sql = FilledSql(query).write([filled.values[name] for name in query.placeholders])
        statement, given = bind(sql, self._safe.dialect, self._schema)
        try:
            return read_some(self._safe, statement, given, len(filled.due) + 1)
        except SqlTimeout as error:
            raise StageFailed(
                f"the SQL of a second reading did not finish within {self._safe.limits.timeout_s:g} s "
                f"({sql}); raise grammar.second_reading.limits.timeout_s, or add an index to the database"
            ) from error
        except SqlError:
            return None

    def differs(self, query: FreeQuery, filled: FilledGroup) -> bool:
        """Return whether a query fails, or returns rows other than a group's answer."""
        found = self.run(query, filled)
        return found is None or not is_same(found, filled.due)


def read_due(group: Group) -> Rows:
    """Return the rows of a group's answer."""
    return [tuple(row) for row in json.loads(group.answer_rows)]


def is_same(found: Rows, due: Rows) -> bool:
    """Return whether two answers have the same rows, regardless of the order of rows and columns."""
    if len(found) != len(due) or (found and len(found[0]) != len(due[0])):
        return False
    wanted = make_comparable(due)
    if make_comparable(found) == wanted or not found:
        return True
    width = len(found[0])
    if not 1 < width <= WIDEST:
        return False
    return any(make_comparable(_order(found, places)) == wanted for places in permutations(range(width)))


def _order(rows: Rows, places: Sequence[int]) -> list[tuple[Value, ...]]:
    return [tuple(row[place] for place in places) for row in rows]


def choose_telling(
    candidates: Sequence[FilledGroup], misreadings: Sequence[FreeQuery], reruns: Reruns, most: int
) -> list[FilledGroup]:
    """Select at most `most` groups whose answers distinguish a template from its likely misreadings.

    Candidates are tested in order. The first candidate is always selected. A later candidate is selected if
    its answer rules out a misreading that no earlier candidate ruled out.
    """
    chosen: list[FilledGroup] = []
    untold = list(misreadings)
    for filled in candidates:
        if len(chosen) == most or (chosen and not untold):
            break
        left = [query for query in untold if not reruns.differs(query, filled)]
        if len(left) < len(untold) or not chosen:
            chosen.append(filled)
        untold = left
    return chosen


class TellingGroups:
    """Selects the groups that second readings are compared with, once per SQL template."""

    def __init__(
        self,
        templates: Mapping[str, SqlTemplate],
        groups: Mapping[str, list[Group]],
        schema: Sequence[Column],
        safe: SafeDatabase,
        most: int,
    ) -> None:
        self._templates, self._groups, self._schema, self._most = templates, groups, schema, most
        self._chosen: dict[str, list[FilledGroup]] = {}
        self.reruns = Reruns(schema, safe)

    def find(self, template: str) -> list[FilledGroup]:
        """Return the selected groups of a template, given its id."""
        if template not in self._chosen:
            sql = self._templates[template].sql
            filled = FilledSql(read_stored(sql, self._schema), list_readings(self._schema))
            candidates = [
                FilledGroup(group, read_values(filled, group), read_due(group))
                for group in self._groups.get(template, [])
            ]
            misreadings = list_misreadings(sql, self._schema) if candidates else []
            self._chosen[template] = choose_telling(candidates, misreadings, self.reruns, self._most)
        return self._chosen[template]


def read_values(filled: FilledSql, group: Group) -> Mapping[str, str | int | float]:
    """Return the typed values of a template's placeholders, read from a group's SQL."""
    literals = filled.read(group.sql)
    if literals is None:
        raise StageFailed(f"the query of group {group.id} does not match its SQL template: {group.sql}")
    return {name: read_literal(literal) for name, literal in literals.items()}
