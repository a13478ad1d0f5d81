"""Plan the rows of a synthetic database: which tables, how many rows, and what a cell may hold.

The plan is told to the model, and for a model that decodes by a grammar it is one: keys are right by then,
and amounts are those of the source, the higher part for the group that the conjecture puts ahead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column, split_column_id
from tasks.databases.values import Value
from tasks.longform.build.sql import quote, write_literal
from tasks.longform.rows import Conjecture, ControlledQuestion, SourceColumn

FREE = r"""text ::= [A-Z] [A-Za-z0-9 .&:-]{2,36}"""
OFFERED = 3
"""Values offered for a cell: others for every row, or a small model writes the same row again and again."""
LOOKUPS = 2
"""Rows of a table that is there only because a key needs it."""


@dataclass(frozen=True)
class CellPlan:
    """What one cell may hold: one of `choices`, written as SQL, or an invented text where there are none."""

    choices: tuple[str, ...] = ()

    def write_rule(self) -> str:
        """Write the cell as a part of a GBNF rule."""
        if not self.choices:
            return '"\'" text "\'"'
        literals = [json.dumps(choice, ensure_ascii=False) for choice in self.choices]
        return literals[0] if len(literals) == 1 else f"({' | '.join(literals)})"


@dataclass(frozen=True)
class TablePlan:
    """The rows of one table. rows: for each row its cells, in the order of `columns`."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[CellPlan, ...], ...]

    def write_rule(self) -> str:
        """Write the table's INSERT statement as a part of a GBNF rule."""
        head = f"INSERT INTO {quote(self.table)} ({', '.join(map(quote, self.columns))}) VALUES\n("
        parts = [json.dumps(head, ensure_ascii=False)]
        for number, row in enumerate(self.rows):
            if number:
                parts.append(json.dumps("),\n("))
            for place, cell in enumerate(row):
                parts += ['", "'] if place else []
                parts.append(cell.write_rule())
        parts.append(json.dumps(");\n"))
        return " ".join(parts)


def write_grammar(plan: Sequence[TablePlan]) -> str:
    """Write the GBNF of a reply that follows a plan."""
    return f"root ::= {' '.join(table.write_rule() for table in plan)}\n{FREE}"


def plan_rows(
    question: ControlledQuestion,
    conjecture: Conjecture,
    source: Mapping[str, SourceColumn],
    per_group: int,
) -> list[TablePlan]:
    """Plan tables in an order in which every key refers to an earlier one.

    source: the database's columns by id. per_group: rows of the compared table for each of the two groups.
    """
    return _Planner(question, conjecture, source, per_group).plan()


class _Planner:
    def __init__(
        self,
        question: ControlledQuestion,
        conjecture: Conjecture,
        source: Mapping[str, SourceColumn],
        per_group: int,
    ) -> None:
        self.question, self.conjecture, self.source = question, conjecture, source
        self.count = 2 * per_group
        self.columns = [row.column for row in source.values()]
        self.keys: dict[str, list[Value]] = {}
        """Column id -> its values in the rows planned so far."""
        self.group_table = split_column_id(question.focus.group)[0]

    def plan(self) -> list[TablePlan]:
        return [self._plan_table(table) for table in self._order_tables()]

    def _order_tables(self) -> list[str]:
        wanted = list(self.question.focus.tables)
        for table in wanted:  # grows: what a key needs that may not be NULL
            needed = [self._target(one) for one in self._own(table) if not one.nullable and one.references]
            wanted += [name for name in dict.fromkeys(needed) if name not in wanted]
        ordered: list[str] = []
        while len(ordered) < len(wanted):
            free = [
                table
                for table in wanted
                if table not in ordered
                and not {self._target(one) for one in self._own(table) if one.references}
                & (set(wanted) - set(ordered) - {table})
            ]
            ordered.append(free[0] if free else next(table for table in wanted if table not in ordered))
        return ordered

    def _own(self, table: str) -> list[Column]:
        return [column for column in self.columns if column.table == table]

    def _target(self, column: Column) -> str:
        return split_column_id(column.references or "")[0]

    def _plan_table(self, table: str) -> TablePlan:
        focus = self.question.focus
        linking = table in focus.tables and table not in {focus.table, self.group_table}
        counted = table == focus.table or linking
        count = self.count if counted else LOOKUPS
        columns = [column for column in self._own(table) if self._is_filled(column)]
        cells = [[self._plan_cell(column, number) for column in columns] for number in range(count)]
        for place, column in enumerate(columns):
            fixed = [row[place].choices for row in cells]
            if all(len(choices) == 1 for choices in fixed):
                self.keys[column.id] = [choices[0] for choices in fixed]
        return TablePlan(table, tuple(column.name for column in columns), tuple(map(tuple, cells)))

    def _is_filled(self, column: Column) -> bool:
        focus = self.question.focus
        joined = column.references is not None and self._target(column) in focus.tables
        return (
            not column.nullable
            or column.primary_key
            or joined
            or column.id in {*focus.measures, focus.group, focus.name}
        )

    def _plan_cell(self, column: Column, number: int) -> CellPlan:
        """Plan the cell of the row `number`; rows of the compared table take the two groups in turn."""
        focus, group = self.question.focus, self.question.groups[number % 2]
        if column.references:
            return self._plan_key(column, number)
        if column.id == focus.group:
            return CellPlan((write_literal(group),))
        if column.primary_key and column.type == "integer":
            return CellPlan((str(number + 1),))
        values = [json.loads(value) for value in self.source[column.id].values]
        if column.id in focus.measures:
            return self._offer(self._choose_amounts(column.id, group, values), number)
        if column.primary_key and column.table == self.group_table != focus.table:
            return CellPlan((write_literal(_abbreviate(group)),))
        if (column.primary_key or not column.descriptive) and len(values) >= self.count:
            return CellPlan((write_literal(values[number % len(values)]),))
        if column.type == "text" and not values:
            return CellPlan()
        return self._offer(values, number)

    def _offer(self, values: Sequence[Value], number: int) -> CellPlan:
        """Offer a few of some values, so that rows after each other have none in common."""
        place = number // 2 * OFFERED + (number % 2)
        offered = dict.fromkeys(values[(place + step) % len(values)] for step in range(OFFERED))
        return CellPlan(tuple(map(write_literal, offered)))

    def _plan_key(self, column: Column, number: int) -> CellPlan:
        values = self.keys.get(column.references or "", [])
        if not values:
            return CellPlan(("NULL",))
        if self._target(column) == self.question.focus.table:
            return CellPlan((str(values[number % len(values)]),))
        if self._target(column) == self.group_table and self._is_grouping(column):
            return CellPlan((str(values[number % 2]),))
        alike = [one.id for one in self._own(column.table) if one.references == column.references]
        return CellPlan((str(values[(number + alike.index(column.id)) % len(values)]),))

    def _is_grouping(self, column: Column) -> bool:
        """Tell whether a key is the one that the question's source joins by."""
        return f"{quote(column.table)}.{quote(column.name)}" in self.question.focus.source

    def _choose_amounts(self, measure: str, group: str, values: Sequence[Value]) -> list[Value]:
        """Choose the amounts that a group may have, in an order of their own for each question."""
        ordered = sorted(values, key=lambda value: float(str(value)))
        place = self.question.focus.measures.index(measure)
        part = max(1, len(ordered) * 2 // 3)
        chosen = ordered[-part:] if self.conjecture.expected[place] == group else ordered[:part]
        return sorted(chosen, key=lambda value: make_id(self.question.id, measure, value))


def _abbreviate(name: str) -> str:
    words = re.findall(r"[^\W_]+", name)
    return ("".join(word[0] for word in words) if len(words) > 1 else name[:3]).upper()[:4]
