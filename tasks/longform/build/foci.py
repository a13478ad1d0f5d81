"""Stage: the column sets that questions can be about, spread over a database's tables (section 2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.databases.columns import Column, split_column_id
from tasks.databases.execution import SafeDatabase
from tasks.databases.joins import Join, JoinTree, list_join_trees
from tasks.errors import StageFailed
from tasks.longform.build.sql import quote, quote_column
from tasks.longform.entries import SourceDatabase
from tasks.longform.rows import Focus, SourceColumn

NO_AMOUNT = re.compile(r"(^|_)(year|number|latitude|longitude|direction|code|id)(_|$)", re.IGNORECASE)
AMOUNT = re.compile(r"^number_of_", re.IGNORECASE)
NAME = re.compile(r"(^|_)(title|name)$", re.IGNORECASE)
TIME = re.compile(r"\d:\d\d|\d-\d\d-\d")
KEY = re.compile(r"[_ ](code|id|number)$", re.IGNORECASE)
VALUES = 6
"""Commonest values of a group column that are kept."""


class Foci(BaseModel):
    """`longform.foci` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measures: int = Field(default=2, ge=1)
    """Numeric columns in a question."""
    least: int = Field(default=8, ge=1)
    """Rows that a value of a group must have in the source to be asked about."""


def foci(entry: SourceDatabase, source_columns: list[SourceColumn], params: Foci) -> Drafts[Focus]:
    """List every set of measures of a table with every column by which its rows can be grouped.

    Raises StageFailed if the database has none.
    """
    columns = [row.column for row in source_columns]
    amounts = {row.id for row in source_columns if _is_amount(row.column)}
    texts = [row.column for row in source_columns if _is_name(row)]
    rows = []
    with SafeDatabase(entry.file) as database:
        for tree in list_join_trees(columns, 2):
            for table, far in _list_sides(tree):
                own = sorted(name for name in amounts if split_column_id(name)[0] == table)
                for group in (column for column in texts if column.table == far):
                    source = write_source(tree)
                    groups = _read_groups(group, source, params.least, database)
                    if len(groups) < 2:
                        continue
                    rows += [
                        Focus(
                            id=make_id(source, measures, group.id),
                            table=table,
                            table_words=entry.words.get(table, table.replace("_", " ")),
                            measures=measures,
                            group=group.id,
                            group_words=name_group(table, group, tree),
                            groups=groups,
                            source=source,
                            tables=tree.route,
                            name=_find_name(table, columns),
                            origin=(Origin("row", f"source_columns#{group.id}"),),
                        )
                        for measures in combinations(own, params.measures)
                    ]
    if not rows:
        raise StageFailed(
            f"{entry.file.name}: no table has {params.measures} amounts and a column of texts to compare "
            "them by; lower longform.foci.measures or longform.foci.least"
        )
    return Drafts(rows)


def _is_amount(column: Column) -> bool:
    number = column.type in {"integer", "real"} and column.descriptive and not column.primary_key
    return number and (bool(AMOUNT.search(column.name)) or not NO_AMOUNT.search(column.name))


def _is_name(row: SourceColumn) -> bool:
    """Tell whether people would group rows by a column: a text that is no code and no time of day."""
    own = row.column
    if own.type != "text" or not own.descriptive or NO_AMOUNT.search(own.name):
        return False
    return not any(TIME.search(value) for value in row.values)


def _list_sides(tree: JoinTree) -> Iterator[tuple[str, str]]:
    """Yield (table of the measures, table of the group)."""
    if len(tree.tables) == 1:
        yield tree.root, tree.root
    else:
        one, other = tree.tables
        yield one, other
        yield other, one


def write_source(tree: JoinTree) -> str:
    """Write what stands behind FROM."""

    def join(one: Join) -> str:
        pairs = (f"{quote(one.left)}.{quote(a)} = {quote(one.right)}.{quote(b)}" for a, b in one.on)
        return f" JOIN {quote(one.right)} ON {' AND '.join(pairs)}"

    return quote(tree.root) + "".join(map(join, tree.joins))


def name_group(table: str, group: Column, tree: JoinTree) -> str:
    """Say what a group is of a table's row: `director` by a link table, `origin airport` by a key's name."""
    if group.table == table:
        return _say(group.name)
    links = [name for name in tree.route if name not in tree.tables]
    if links:
        words = [word for word in links[0].split("_") if not table.startswith(word)]
        return _singular(" ".join(words) or _say(group.name))
    keys = [a if join.left == table else b for join in tree.joins for a, b in join.on]
    spoken = [_say(name) for name in keys if not KEY.search(name)]
    own = _say(group.name)
    if not spoken:
        return own
    return spoken[0] if own.split()[-1] in spoken[0].split() else f"{own} of the {spoken[0]}"


def _say(name: str) -> str:
    return re.sub(r" name$", "", name.replace("_", " "))


def _singular(words: str) -> str:
    for end, one in (("ies", "y"), ("s", "")):
        if words.endswith(end):
            return words.removesuffix(end) + one
    return words


def _find_name(table: str, columns: Sequence[Column]) -> str:
    own = [column for column in columns if column.table == table and column.type == "text"]
    return next((column.id for column in own if NAME.search(column.name)), "")


def _read_groups(group: Column, source: str, least: int, database: SafeDatabase) -> tuple[str, ...]:
    name = quote_column(group.id)
    rows = database.query(
        f"SELECT {name} FROM {source} WHERE {name} <> '' GROUP BY {name} "  # noqa: S608 (quoted names)
        f"HAVING COUNT(*) >= {least} ORDER BY COUNT(*) DESC, {name} LIMIT {VALUES}"
    ).rows
    return tuple(str(value) for (value,) in rows)
