"""Plan the rows of a synthetic database: its tables, the number of rows, and the choices for each row.

The planned rows are whole rows of the source, chosen to support the conjecture. A group that is expected to
have the higher value gets rows from the upper part of its ranking. The other group gets rows from the lower
part of its ranking. The prompt describes the plan to the model. With constrained decoding, the plan is the
grammar, and the model chooses among interchangeable rows.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column, split_column_id
from tasks.databases.values import Value
from tasks.errors import SqlError
from tasks.longform.build.conjecture import Conjecture
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import YES
from tasks.longform.build.source_rows import Cells, WholeRow, list_keys, list_references
from tasks.longform.build.sql import quote, write_literal

OFFERED = 2
"""Number of source rows that the model can choose from for each planned row, if the source has that many."""
UPPER = 0.6
"""Fraction of a group's source rows from which planned rows are chosen.

The fraction contains the rows that best support the conjecture.
"""
ABOVE = 3
"""If a figure has a threshold, the minimum number of rows above the threshold in each group."""
DECOYS = 2
"""Number of rows in the decoy group, which the question does not name.

A query that does not filter by group includes these rows and is wrong.
"""
Place = list[dict[str, Cells]]
"""The options for one planned row of the compared table: joined source rows with equal `list_keys`."""


@dataclass(frozen=True)
class TablePlan:
    """The planned rows of one table.

    rows: the options for each planned row. An option has one SQL literal for each of `columns`.
    """

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]

    def write_rule(self) -> str:
        """Write the table's INSERT statement as part of a GBNF rule."""
        head = f"INSERT INTO {quote(self.table)} ({', '.join(map(quote, self.columns))}) VALUES\n("
        parts = [json.dumps(head, ensure_ascii=False)]
        for number, offered in enumerate(self.rows):
            if number:
                parts.append(json.dumps("),\n("))
            told = [json.dumps(", ".join(cells), ensure_ascii=False) for cells in offered]
            parts.append(told[0] if len(told) == 1 else f"({' | '.join(told)})")
        parts.append(json.dumps(");\n"))
        return " ".join(parts)


def write_grammar(plan: Sequence[TablePlan]) -> str:
    """Write the GBNF grammar of a reply that follows a plan."""
    return f"root ::= {' '.join(table.write_rule() for table in plan)}"


class RowPlanner:
    """Plans the rows of a question's database.

    - columns, rows: the columns and rows of the source
    - per_group: rows per group of the compared table; the first group gets one more row, and the second group
      one fewer
    """

    def __init__(
        self,
        question: ControlledQuestion,
        conjecture: Conjecture,
        columns: Sequence[Column],
        rows: Sequence[WholeRow],
        per_group: int,
    ) -> None:
        self.question, self.conjecture, self.columns = question, conjecture, columns
        self.focus, self.per_group = question.focus, per_group
        self.rows = [row for row in rows if row.focus == self.focus.id]
        self.referred = {}
        for row in rows:
            if not row.focus:
                ((table, cells),) = json.loads(row.tables).items()
                for column in columns:
                    if column.table == table:
                        self.referred[column.id, cells[column.name]] = (table, cells)
        self.key = self._find_key()
        self.over = next((figure for figure in question.figures if figure.over), None)
        self.taken: set[str] = set()

    def plan(self) -> list[TablePlan]:
        """Return the plan of each table; a referenced table precedes the tables that refer to it.

        Only foreign keys in a cycle may refer to a later table. Raises SqlError if no source row of a group
        has a value in every numeric column of the question.
        """
        places = self._choose_places()
        tables: dict[str, list[list[Cells]]] = defaultdict(list)
        seen: set[str] = set()
        for number, place in enumerate(places, start=1):
            offered = [self._renumber(joined, number) for joined in place]
            tables[self.focus.table].append([joined[self.focus.table] for joined in offered])
            first = offered[0]
            for table in self.focus.tables:
                if table != self.focus.table:
                    self._add(table, first[table], tables, seen)
            for table, cells in self._follow(first):
                self._add(table, cells, tables, seen)
        return [self._plan_table(table, tables[table]) for table in self._order(tables)]

    def _add(self, table: str, cells: Cells, tables: dict[str, list[list[Cells]]], seen: set[str]) -> None:
        told = json.dumps([table, cells], ensure_ascii=False)
        if told not in seen:
            seen.add(told)
            tables[table].append([cells])

    def _follow(self, joined: Mapping[str, Cells]) -> Iterator[tuple[str, Cells]]:
        """Yield the rows that the rows in `joined` refer to, directly or through other rows."""
        queue = list(list_references(joined, self.columns))
        for reference in queue:  # the loop body appends to this list
            if reference in self.referred:
                table, cells = self.referred[reference]
                yield table, cells
                queue += [
                    reference
                    for reference in list_references({table: cells}, self.columns)
                    if reference not in queue
                ]

    def _find_key(self) -> str:
        """Return the compared table's integer key, which is renumbered; empty if there is no such key."""
        own = [column for column in self.columns if column.table == self.focus.table and column.primary_key]
        return own[0].name if len(own) == 1 and own[0].type == "integer" and not own[0].references else ""

    def _renumber(self, joined: Mapping[str, Cells], number: int) -> dict[str, Cells]:
        """Return a copy of a joined row, with `number` as the key of the compared table's row.

        References to this key are also renumbered.
        """
        copy = {table: dict(cells) for table, cells in joined.items()}
        if self.key:
            copy[self.focus.table][self.key] = number
            for column in self.columns:
                if column.table in copy and column.references == f"{self.focus.table}.{self.key}":
                    copy[column.table][column.name] = number
        return copy

    def _choose_places(self) -> list[Place]:
        """Choose the planned rows of each group, then interleave the groups."""
        per_group = self.per_group + (1 if self.over else 0)  # a figure with a threshold skips some rows
        sizes = {name: per_group + (1, -1, 0)[turn % 3] for turn, name in enumerate(self.question.groups)}
        if self.question.decoy:
            sizes[self.question.decoy] = DECOYS
        # With `construct.rows: 1`, the second group would otherwise get no row.
        by_group = {name: self._choose_group(name, max(2, size)) for name, size in sizes.items()}
        mixed = [
            (turn / len(places), order, place)
            for order, places in enumerate(by_group.values())
            for turn, place in enumerate(places)
        ]
        return [place for *_, place in sorted(mixed, key=lambda entry: entry[:2])]

    def _choose_group(self, group: str, size: int) -> list[Place]:
        """Choose the planned rows of a group.

        If `size` exceeds `per_group`, one of the rows has an unknown amount, if the source has such a row.
        """
        known, unknown = self._rank(group)
        if not known:
            raise SqlError(f"the source has no rows of {group} with values in the question's columns")
        upper = known[: max(size, round(len(known) * UPPER))]
        above = [joined for joined in known if self._is_above(joined)]
        lacking = max(0, ABOVE - sum(joined in upper for joined in above))
        upper += [joined for joined in above if joined not in upper][:lacking]
        # A shuffle that depends only on the question, because the rows are sorted by amount.
        upper.sort(key=lambda joined: make_id(self.question.id, joined))
        gap = unknown[:1] if size > self.per_group else []
        places = self._place(self._mix(upper), size - len(gap))
        return places + [[joined] for joined in gap]

    def _place(self, rows: Sequence[dict[str, Cells]], size: int) -> list[Place]:
        """Assign source rows to planned rows.

        Rows with the most frequent keys come first, so that the other tables need few rows. If a figure has a
        threshold, the order from `_mix` is kept instead.
        """
        alike: defaultdict[str, list[dict[str, Cells]]] = defaultdict(list)
        for joined in rows:
            keys = list_keys(joined, self.focus, self.columns)
            alike[json.dumps([keys, self._is_above(joined)])].append(joined)
        # If there is a threshold, `_mix` has already set the order, which must not change.
        ordered = list(alike.values()) if self.over else sorted(alike.values(), key=lambda rows: -len(rows))
        # A link table refers to the key of one row. Without a renumbered key, no other row fits.
        offer = 1 if not self.key and len(self.focus.tables) > 2 else OFFERED
        spare = max(0, len(rows) - size)
        places: list[Place] = []
        while ordered and len(places) < size:
            for group in list(ordered):
                if len(places) < size:
                    taken = min(offer, len(group), 1 + spare)
                    spare -= taken - 1
                    places.append([group.pop(0) for _ in range(taken)])
                    if not group:
                        ordered.remove(group)
        return places

    def _mix(self, rows: Sequence[dict[str, Cells]]) -> list[dict[str, Cells]]:
        """Reorder rows: `ABOVE` rows above the threshold, then the other rows, above and below in turn."""
        above = [joined for joined in rows if self._is_above(joined)]
        below = [joined for joined in rows if joined not in above]
        turns = zip_longest(above[::2], below, above[1::2])
        return [*above[:ABOVE], *(row for turn in turns for row in turn if row and row not in above[:ABOVE])]

    def _is_above(self, joined: Mapping[str, Cells]) -> bool:
        """Return whether a row is above the threshold of a figure; True if no figure has a threshold."""
        name = split_column_id(self.over.over)[1] if self.over else ""
        return self.over is None or self._amount(joined, name) > self.over.threshold

    def _amount(self, joined: Mapping[str, Cells], name: str) -> float:
        return float(str(joined[self.focus.table][name]))

    def _rank(self, group: str) -> tuple[list[dict[str, Cells]], list[dict[str, Cells]]]:
        """Return a group's distinct rows as (complete, incomplete).

        An incomplete row lacks an amount that the question uses. The complete rows that best support the
        conjecture come first.
        """
        asked = {name for figure in self.question.figures for name in (figure.measure, figure.over) if name}
        names = [split_column_id(column)[1] for column in sorted(asked)]
        found: dict[str, dict[str, Cells]] = {}
        for row in self.rows:
            joined = json.loads(row.tables)
            if row.group == group and json.dumps(joined[self.focus.table]) not in self.taken:
                found.setdefault(json.dumps(self._read_name(joined)), joined)
        # A row may belong to several groups, but only one group may use the row.
        self.taken |= {json.dumps(joined[self.focus.table]) for joined in found.values()}
        rows = list(found.values())
        known = [
            joined
            for joined in rows
            if all(isinstance(joined[self.focus.table][name], int | float) for name in names)
        ]
        scores: Counter[int] = Counter()
        for measure, sign in self._read_expected(group).items():
            name = split_column_id(measure)[1]
            ranked = sorted(range(len(known)), key=lambda at: self._amount(known[at], name))
            for place, at in enumerate(ranked):
                scores[at] += round(1000 * sign * (place / max(1, len(known) - 1) - 0.5))
        order = sorted(range(len(known)), key=lambda at: -scores[at])
        return [known[at] for at in order], [joined for joined in rows if joined not in known]

    def _read_name(self, joined: Mapping[str, Cells]) -> list[Value]:
        """Return the cells that identify a row of the compared table.

        The cells are names and titles, or all cells except the key if the table has no names or titles.
        """
        texts = [
            column.name
            for column in self.columns
            if column.table == self.focus.table and column.type == "text"
        ]
        cells = joined[self.focus.table]
        named = [cells[name] for name in texts if "name" in name or "title" in name]
        return named or [cells[name] for name in cells if name != self.key]

    def _read_expected(self, group: str) -> dict[str, float]:
        """Map each measure to 1 if a group should have the highest value, and to -1 if it should not.

        The value is 0 if the conjectures about several figures cancel out. The map is empty for the decoy
        group.
        """
        expected: defaultdict[str, float] = defaultdict(float)
        for figure, ahead in zip(self.question.figures, self.conjecture.expected, strict=True):
            if figure.kind == "share":
                ahead = self.question.groups[0 if ahead == YES else 1]
            if group in self.question.groups:
                expected[figure.measure] += 1 if ahead == group else -1
        return {name: (value > 0) - (value < 0) or 0.0 for name, value in expected.items()}

    def _plan_table(self, table: str, rows: Sequence[Sequence[Cells]]) -> TablePlan:
        columns = [column for column in self.columns if column.table == table and self._is_filled(column)]
        literals = tuple(
            tuple(
                dict.fromkeys(
                    tuple(write_literal(self._fill(cells, column)) for column in columns) for cells in offered
                )
            )
            for offered in rows
        )
        return TablePlan(table, tuple(column.name for column in columns), literals)

    def _is_filled(self, column: Column) -> bool:
        """Return whether a column of the synthetic database gets values.

        These columns get values: required columns, primary keys, keys to the question's tables, the group
        column, the measures, and the names in tables other than the compared table.
        """
        joined = column.references is not None and split_column_id(column.references)[0] in self.focus.tables
        if not column.nullable or column.primary_key or joined or column.id == self.focus.group:
            return True
        if column.table != self.focus.table:
            return "name" in column.name
        return column.id in {measure.column for measure in self.focus.measures}

    def _fill(self, cells: Cells, column: Column) -> Value:
        value = cells.get(column.name)
        return round(value, 2) if isinstance(value, float) else value

    def _order(self, tables: Mapping[str, object]) -> list[str]:
        ordered: list[str] = []
        while len(ordered) < len(tables):
            free = [
                table for table in tables if table not in ordered and not self._needs(table, tables, ordered)
            ]
            # If tables refer to each other in a circle, no table is free.
            ordered.append(free[0] if free else next(table for table in tables if table not in ordered))
        return ordered

    def _needs(self, table: str, tables: Mapping[str, object], ordered: Sequence[str]) -> bool:
        targets = {
            split_column_id(column.references)[0]
            for column in self.columns
            if column.table == table and column.references
        }
        return any(target in tables and target not in ordered and target != table for target in targets)
