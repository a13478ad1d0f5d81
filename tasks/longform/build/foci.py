"""Stage: list the subjects of questions: measures of a table, and groups to compare.

The stage `control` writes questions about these subjects (section 2.1 of the paper).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.databases.columns import Column, split_column_id
from tasks.databases.execution import SafeDatabase
from tasks.databases.joins import Join, JoinTree, list_join_trees
from tasks.databases.profile.look_alikes import find_look_alikes
from tasks.english import make_plural, make_singular
from tasks.errors import BadInput
from tasks.longform.build.source_columns import SourceColumn
from tasks.longform.build.sql import quote, quote_column, read_column
from tasks.longform.build.words import say_amount, split_name
from tasks.longform.entries import MeasureWords, SourceDatabase
from tasks.settings import Settings

NO_AMOUNT = re.compile(
    r"(^|_)(year|number|no|latitude|longitude|direction|code|id|zip|[a-z]?phone|rank|order"
    r"|advis[eo]r|instructor|manager|major|room)(_|$)",
    re.IGNORECASE,
)
"""Matches names of numeric columns that are not amounts: undeclared keys, dates and positions."""
AMOUNT = re.compile(r"^number_of_", re.IGNORECASE)
"""Matches the names of count columns. Counts are amounts, even if `NO_AMOUNT` matches the name."""
TIME = re.compile(r"\d:\d\d|\d-\d\d-\d")
"""Matches a fragment of a date or a time of day, such as `2:30`."""
NUMBER = re.compile(r"\W*\d[\d.,]*\W*")
"""Matches a text that is only a number, possibly surrounded by symbols."""
PREPOSITION = re.compile(r" (in|of|at|by|to|for|from|on)$")
KEY = re.compile(r"[_ ](code|id|number)$", re.IGNORECASE)
"""Matches key names that end with `code`, `id` or `number`; `name_group` ignores these names."""
LIST = re.compile(r", .*\.$")
"""Matches a value that would end the sentence around it: `Apartment, Flat, Condo, etc.`."""
VALUES = 6
"""Maximum number of values of a group column. The most common values are used."""
FEW = 4
"""A numeric column with at most this many distinct values is a category that is stored as numbers."""

ALIKE = 0.5
"""Maximum share of the most common value in a measure.

Columns under `measures` in the database's entry are exempt.
"""


@dataclass(frozen=True)
class FocusMeasure:
    """A numeric column, with its words for questions."""

    column: str
    """The id of the column."""
    name: str
    """The name in questions: `box office`."""
    unit: str
    """The unit: `US dollars`; empty if the measure has no unit."""
    more: str
    """Words for rows with a higher value: `earn more`, `have a higher box office`."""
    negative: str
    """The word for amounts below 0: `early`. If empty, amounts keep the minus sign."""
    digits: int
    """Number of decimal places in the figures of this measure."""

    def say(self, value: float) -> str:
        """Write an amount with its unit: `1,234.5 US dollars`, `3.5 minutes early`."""
        early = self.negative if value < 0 else ""
        number = f"{abs(value) if early else value:,.9f}".rstrip("0").rstrip(".")
        unit = self.unit.removesuffix("s") if number == "1" and self.unit.endswith("s") else self.unit
        return " ".join(filter(None, (number, unit, early)))


@dataclass(frozen=True)
class Quality:
    """An abstract word of open questions, and the measures that indicate this quality."""

    words: str
    """The words in a question: `have been more successful`."""
    measures: tuple[str, ...]
    """The column ids of the measures that indicate the quality."""
    rising: tuple[bool, ...]
    """For each measure, whether a higher value indicates more of the quality."""


@dataclass(frozen=True)
class Focus:
    """Row of the stage `foci`: the measures of a table, and a column that groups the table's rows."""

    id: str
    table: str
    table_words: str
    """The noun for the table's rows: `films`."""
    measures: tuple[FocusMeasure, ...]
    """Numeric columns of `table`."""
    qualities: tuple[Quality, ...]
    """The qualities whose measures are all in `measures`."""
    group: str
    """The id of a text column, in the same table or in a table reached by a foreign key or a link table."""
    group_words: str
    """The noun for the group that contains a row of `table`: `origin airport`."""
    relation: str
    """The phrase for membership in a group, with `{}` for the value: `directed by {}`."""
    groups: tuple[str, ...]
    """The most common values of the group column, the most common first."""
    source: str
    """The FROM clause that joins the table with the group column's table, without the keyword FROM."""
    tables: tuple[str, ...]
    """The tables of the FROM clause."""
    origin: tuple[Origin, ...]

    def find(self, column: str) -> FocusMeasure:
        """Return the measure that is based on a column."""
        return next(measure for measure in self.measures if measure.column == column)

    def say_rows(self, group: str) -> str:
        """Name the rows of a group: `films directed by Woody Allen`."""
        return f"{self.table_words} {self.relation.format(group)}"

    def say_those(self, group: str) -> str:
        """Name the rows of a group with `those` instead of the noun: `those directed by Woody Allen`."""
        return f"those {self.relation.format(group)}"


class Foci(Settings):
    """The settings in params.yaml under `longform.foci`."""

    least: int = Field(default=8, ge=1)
    """Minimum number of rows in the source for each value of a group column."""


def foci(entry: SourceDatabase, source_columns: list[SourceColumn], params: Foci) -> Drafts[Focus]:
    """Make a row for each pair of a table with measures and a column that groups the table's rows.

    Each row has all measures of the table. The stage has no rows if no table has both a measure and two
    groups with enough rows. The stage `control` then reports each missing question. Raises BadInput if
    `entry` has words for a column or group that does not exist.
    """
    columns = [row.column for row in source_columns]
    texts = [row.column for row in source_columns if _is_name(row)]
    rows, named = [], set()
    with SafeDatabase(entry.file) as database:
        measures = _read_measures(entry, source_columns, database)
        for tree in list_join_trees(columns, 2):
            for table, far in list_sides(tree, columns):
                own = tuple(measure for measure in measures if split_column_id(measure.column)[0] == table)
                for group in (column for column in texts if column.table == far and own):
                    words = name_group(table, group, tree)
                    key = f"{table}.{words}"
                    named.add(key)
                    relation = entry.groups.get(key, f"whose {words} is {{}}")
                    source = write_source(tree)
                    groups = _read_groups(group, source, params.least, database) if relation else ()
                    if len(groups) < 2:
                        continue
                    rows.append(
                        Focus(
                            id=make_id(source, group.id),
                            table=table,
                            table_words=entry.words.get(table) or pluralize_table(table),
                            measures=own,
                            qualities=_find_qualities(entry, own),
                            group=group.id,
                            group_words=words,
                            relation=relation,
                            groups=groups,
                            source=source,
                            tables=tree.route,
                            origin=(Origin("row", f"source_columns#{group.id}"),),
                        )
                    )
    _check_names("groups", entry.groups, named)
    return Drafts(rows)


def _check_names(what: str, given: Iterable[str], there: Collection[str]) -> None:
    if unknown := sorted(set(given) - set(there)):
        raise BadInput(
            f"longform.databases: {what}: {unknown[0]}",
            "is not in the database",
            hint=f"known: {', '.join(sorted(there))}",
        )


def _read_measures(
    entry: SourceDatabase, source_columns: Sequence[SourceColumn], database: SafeDatabase
) -> list[FocusMeasure]:
    known = {row.id for row in source_columns}
    told = {name.removeprefix("-") for names in entry.qualities.values() for name in names}
    _check_names("measures", entry.measures, known)
    _check_names("qualities", told, known)
    found = []
    for row in source_columns:
        words = entry.measures.get(row.id, MeasureWords())
        if words is None or not (row.id in entry.measures or _is_amount(row, database)):
            continue
        name, unit = say_amount(row.id)
        name = words.name or name
        amount = read_column(row.column)
        ((typical,),) = database.query(f"SELECT AVG(ABS({amount})) FROM {quote(row.column.table)}").rows  # noqa: S608
        digits = count_digits(float(str(typical or 0)))
        found.append(FocusMeasure(row.id, name, unit, words.more or say_more(name), words.negative, digits))
    return found


def say_more(name: str) -> str:
    """Return the phrase that says that rows have a higher amount: `have a higher price`."""
    first, *_ = name.split()
    return f"have higher {name}" if make_singular(first) != first else f"have a higher {name}"


def count_digits(typical: float) -> int:
    """Return the number of decimal places for figures of a measure.

    If `typical` is above 0 and below 10, figures get three significant digits. From 10,000, figures get no
    decimal places. Otherwise, they get one. typical: the mean of the measure's absolute values.
    """
    if typical >= 10_000:
        return 0
    # `FocusMeasure.say` writes at most nine decimal places.
    return 1 if typical >= 10 or typical == 0 else min(9, 2 - floor(log10(typical)))


def _find_qualities(entry: SourceDatabase, measures: Sequence[FocusMeasure]) -> tuple[Quality, ...]:
    there = {measure.column for measure in measures}
    found = []
    for words, names in entry.qualities.items():
        columns = tuple(name.removeprefix("-") for name in names)
        if there.issuperset(columns):
            found.append(Quality(words, columns, tuple(not name.startswith("-") for name in names)))
    return tuple(found)


def _is_amount(row: SourceColumn, database: SafeDatabase) -> bool:
    """Return whether a column contains amounts whose mean is meaningful."""
    own = row.column
    if own.type not in {"integer", "real"} or own.primary_key or own.references or not own.descriptive:
        return False
    if row.vocabulary and len(row.values) <= FEW:
        return False
    if AMOUNT.search(own.name) is None and NO_AMOUNT.search(own.name) is not None:
        return False
    amount, table = read_column(own), quote(own.table)
    counted = f"SELECT COUNT(*) AS n FROM {table} WHERE {amount} IS NOT NULL GROUP BY {amount}"  # noqa: S608
    ((share,),) = database.query(f"SELECT MAX(n) * 1.0 / SUM(n) FROM ({counted})").rows  # noqa: S608
    return share is not None and float(str(share)) <= ALIKE


def _is_name(row: SourceColumn) -> bool:
    """Return whether a column's values are names for groups: texts that are not codes, times or numbers."""
    own = row.column
    if own.type != "text" or not own.descriptive or NO_AMOUNT.search(own.name):
        return False
    texts = [json.loads(value) for value in row.values]
    return not any(TIME.search(text) for text in texts) and not all(NUMBER.fullmatch(text) for text in texts)


def list_sides(tree: JoinTree, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Yield the valid pairs (table of the measures, table of the group column) in a join tree.

    In a valid pair, the join has each row of the first table at most once per group.
    """
    if len(tree.tables) == 1:
        yield tree.root, tree.root
        return
    if len(tree.route) > 2:
        one, far = tree.tables
        yield from ((one, far), (far, one))
        return
    (join,) = tree.joins
    keys = {column.id: column.references for column in columns}
    for near, far, pairs in (
        (join.left, join.right, join.on),
        (join.right, join.left, [on[::-1] for on in join.on]),
    ):
        if all(keys[f"{near}.{a}"] == f"{far}.{b}" for a, b in pairs):
            yield near, far


def write_source(tree: JoinTree) -> str:
    """Write the FROM clause of a join, without the keyword FROM."""

    def join(one: Join) -> str:
        pairs = (f"{quote(one.left)}.{quote(a)} = {quote(one.right)}.{quote(b)}" for a, b in one.on)
        return f" JOIN {quote(one.right)} ON {' AND '.join(pairs)}"

    return quote(tree.root) + "".join(map(join, tree.joins))


def name_group(table: str, group: Column, tree: JoinTree) -> str:
    """Return the words for a group column, as a property of a row of `table`.

    The words come from the link table (`director`) or from the foreign key (`origin airport`). Otherwise, the
    words come from the column's name.
    """
    if group.table == table:
        return _say(group.name)
    links = [name for name in tree.route if name not in tree.tables]
    if links:
        words = [word for word in split_name(links[0]).split() if not split_name(table).startswith(word)]
        *before, last = PREPOSITION.sub("", " ".join(words) or _say(group.name)).split()
        return " ".join([*before, make_singular(last)])
    keys = [a if join.left == table else b for join in tree.joins for a, b in join.on]
    spoken = [_say(name) for name in keys if not KEY.search(name)]
    own = _say(group.name)
    if not spoken:
        return own
    return spoken[0] if own.split()[-1] in spoken[0].split() else f"{own} of the {spoken[0]}"


def pluralize_table(table: str) -> str:
    """Return the plural noun for a table's rows, whether the table's name is singular or plural."""
    *before, last = split_name(table).split()
    return " ".join([*before, last if make_singular(last) != last else make_plural(last)])


def _say(name: str) -> str:
    return re.sub(r" name$", "", split_name(name))


def _read_groups(group: Column, source: str, least: int, database: SafeDatabase) -> tuple[str, ...]:
    name = quote_column(group.id)
    # Twice as many values as needed, because look-alikes and values that end a sentence are removed below.
    rows = database.query(
        f"SELECT {name} FROM {source} WHERE {name} <> '' GROUP BY {name} "  # noqa: S608 (quoted names)
        f"HAVING COUNT(*) >= {least} ORDER BY COUNT(*) DESC, {name} LIMIT {2 * VALUES}"
    ).rows
    alike = _find_look_alikes(group, database) if rows else frozenset()
    return tuple(str(value) for (value,) in rows if value not in alike and not LIST.search(str(value)))[
        :VALUES
    ]


def _find_look_alikes(group: Column, database: SafeDatabase) -> frozenset[str]:
    stream = database.stream(f"SELECT DISTINCT {quote_column(group.id)} FROM {quote(group.table)}")  # noqa: S608 (quoted names)
    return find_look_alikes(value for batch in stream for (value,) in batch)
