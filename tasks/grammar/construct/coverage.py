"""Plan requests for SQL templates that cover every table and column of a schema.

A subject is a table, a column or a link between two tables. Hashes of the subject's id determine the kinds of
question and the additional columns that a request shows. Therefore a new table or a renamed column changes
only the requests that mention this table or column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.names import is_identifying, tells_year
from tasks.grammar.construct.queries import table_of
from tasks.grammar.construct.sql_rules import has_order
from tasks.settings import Settings

Kind = Literal[
    "lookup", "list", "count", "group", "having", "nested", "set_operation", "ranking", "comparison", "date"
]
BOUND: tuple[Kind, ...] = ("comparison", "date")
"""The kinds of question that need a column of a suitable type.

If the subject is a column, that column must be suitable. Otherwise, one suitable column in the subject's
tables is enough.
"""
UNCOVERED = "uncovered"
"""The drop reason of a table or column that no template reads."""


class Coverage(Settings):
    """The settings in params.yaml under `grammar.sql_templates.coverage`."""

    column: int = Field(default=2, ge=1)
    """The number of requests per column."""
    table: int = Field(default=1, ge=1)
    """The number of requests per table."""
    link: int = Field(default=1, ge=0)
    """The number of requests per pair of tables that a foreign key links."""
    rounds: int = Field(default=2, ge=1)
    """The maximum number of rounds; later rounds cover the tables and columns that have no template yet."""
    requests: int | None = Field(default=None, ge=1)
    """The maximum number of requests in a round; null means the whole plan. A preview sets a maximum."""
    shown: int = Field(default=3, ge=1)
    """The number of columns that a request shows besides keys, names and the subject. If requests show fewer
    columns, a renamed column changes fewer templates."""
    shares: Mapping[Kind, float] = {
        "lookup": 1, "list": 1, "count": 1, "group": 3, "having": 1, "nested": 2, "set_operation": 1,
        "ranking": 1, "comparison": 1, "date": 1,
    }  # fmt: skip
    """The sampling weight of each kind of question; the weight 0 excludes a kind."""


@dataclass(frozen=True)
class Subject:
    """The subject of a request: a table, a column, or a link between tables.

    `column` is the column's id, or empty for a table or link. If people may not ask about any column of
    a table, `tables` also contains the tables that its foreign keys refer to.
    """

    id: str
    tables: tuple[str, ...]
    column: str = ""

    @property
    def what(self) -> Literal["column", "table", "link"]:
        """The type of the subject."""
        return "column" if self.column else "table" if self.id == self.tables[0] else "link"


@dataclass(frozen=True)
class PlannedRequest:
    """A request for one template about a subject, with a kind of question."""

    id: str
    subject: Subject
    kind: Kind
    columns: tuple[Column, ...]
    """The columns that the prompt shows."""


def list_subjects(schema: Sequence[Column]) -> list[Subject]:
    """List the subjects of a schema, sorted by id: tables, links, and columns that people may ask about."""
    tables = [Subject(table, _find_reach(table, schema)) for table in {column.table for column in schema}]
    columns = [Subject(column.id, (column.table,), column.id) for column in schema if may_be_asked(column)]
    links = {Subject(" - ".join(linked), linked) for linked in _list_links(schema)}
    return sorted([*tables, *columns, *links], key=lambda subject: subject.id)


def may_be_asked(column: Column) -> bool:
    """Return whether people may ask about a column: the column is descriptive and has a comparable type."""
    return column.descriptive and column.type != "other"


def plan_requests(
    schema: Sequence[Column], coverage: Coverage, seed: int, turn: int, among: Collection[str] | None = None
) -> list[PlannedRequest]:
    """Plan the requests of a round, sorted by id.

    `turn` is the zero-based number of the round. `among` contains the ids of the subjects to plan for; None
    means all subjects.
    """
    counts = {"column": coverage.column, "table": coverage.table, "link": coverage.link}
    planned = []
    for subject in list_subjects(schema):
        if among is not None and subject.id not in among:
            continue
        count = counts[subject.what]
        kinds = _draw_kinds(subject, schema, coverage, seed)[count * turn : count * (turn + 1)]
        planned += [
            PlannedRequest(
                make_id("planned", seed, kind, subject.id),
                subject,
                kind,
                _show_columns(subject, kind, schema, coverage.shown, seed),
            )
            for kind in kinds
        ]
    return sorted(planned, key=lambda request: request.id)[: coverage.requests]


def _draw_kinds(subject: Subject, schema: Sequence[Column], coverage: Coverage, seed: int) -> list[Kind]:
    """Return the kinds of question that fit a subject, in a seeded random order that respects the weights."""
    fitting = _list_fitting(subject, schema)

    def rank(kind: Kind) -> float:
        # Sorting by -log(chance) / weight is weighted sampling without replacement (Efraimidis and Spirakis
        # 2006). The 1 keeps the chance above 0.
        chance = (int(make_id("kind", seed, kind, subject.id), 16) + 1) / 2**64
        return -math.log(chance) / coverage.shares[kind]

    return sorted((kind for kind in fitting if coverage.shares.get(kind)), key=rank)


def _list_fitting(subject: Subject, schema: Sequence[Column]) -> list[Kind]:
    """List the kinds of question that a subject's column types allow."""
    own = [column for column in schema if column.table in subject.tables]
    about = [column for column in own if column.id == subject.column]
    asked = [column for column in own if may_be_asked(column)]
    kinds: list[Kind] = ["count", "group", "having", "nested"]
    if asked:
        kinds += ["lookup", "list", "set_operation"]
    if any(_serves(column, "ranking") for column in own):
        kinds.append("ranking")
    kinds += [kind for kind in BOUND if any(_serves(column, kind) for column in about or own)]
    return kinds


def _serves(column: Column, kind: Kind) -> bool:
    """Return whether a column suits a kind of question.

    `date` requires dates or years. `ranking` and `comparison` require ordered values. Returns False for any
    other kind.
    """
    if kind == "date":
        return column.type == "date" or tells_year(column)
    return kind in ("ranking", "comparison") and has_order(column)


def _show_columns(
    subject: Subject, kind: Kind, schema: Sequence[Column], shown: int, seed: int
) -> tuple[Column, ...]:
    """Return the columns that a request shows: keys, names, the subject, and some other columns.

    If the kind of question needs an ordered column or a date, the result includes at least one such column,
    if any exists.
    """
    chosen: list[Column] = []
    telling: list[Column] = []

    def rank(column: Column) -> str:
        return make_id("shown", seed, kind, subject.id, column.id)

    for table in subject.tables:
        own = [column for column in schema if column.table == table]
        others = []
        for column in own:
            joins = column.references is not None and table_of(column.references) in subject.tables
            if column.primary_key or joins or is_identifying(column) or column.id == subject.column:
                chosen.append(column)
            elif may_be_asked(column):
                others.append(column)
        chosen += sorted(others, key=rank)[:shown]
        telling += [column for column in own if _serves(column, kind)]
    if telling and not any(column in chosen for column in telling):
        chosen.append(min(telling, key=rank))
    return tuple(sorted(chosen, key=lambda column: column.id))


def _list_links(schema: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    """Yield (table, referenced table) for each foreign key between two tables."""
    for column in schema:
        if column.references and (target := table_of(column.references)) != column.table:
            yield (column.table, target)


def _find_reach(table: str, schema: Sequence[Column]) -> tuple[str, ...]:
    """Return a table and, if people may not ask about any of its columns, the tables that it references."""
    own = [column for column in schema if column.table == table]
    targets = {table_of(column.references) for column in own if column.references} - {table}
    return (table,) if any(map(may_be_asked, own)) else (table, *sorted(targets))


def list_uncovered(
    schema: Sequence[Column],
    tables: Collection[str],
    columns: Collection[str],
    why: str,
    lost: Sequence[tuple[Subject, str]] = (),
) -> list[Dropped]:
    """Return a dropped row for each table or column that no template reads; the row states the reason.

    Columns that people may not ask about are left out. `tables` and `columns` contain the tables and columns
    that the templates read. `lost` contains the subject and the drop reason of each request without a
    template. `why` is the reason for tables and columns without an entry in `lost`.
    """
    due = [
        *((table, "table", table) for table in sorted({column.table for column in schema})),
        *((column.id, "column", column.table) for column in schema if may_be_asked(column)),
    ]
    dropped = []
    for name, what, table in due:
        if name in tables or name in columns:
            continue
        reasons = Counter(
            reason
            for subject, reason in lost
            if name == subject.column or (what == "table" and table in subject.tables)
        )
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        detail = f"{what} {name}: no template asks about it; {f'its requests: {told}' if told else why}"
        shown = [column.id for column in schema if column.table == table and name in (table, column.id)]
        origin = tuple(Origin("row", f"schema#{column}") for column in shown)
        dropped.append(Dropped(make_id(UNCOVERED, what, name), UNCOVERED, detail, origin))
    return dropped


def list_pending(schema: Sequence[Column], tables: Collection[str], columns: Collection[str]) -> set[str]:
    """Return the ids of the tables and columns that no template reads yet."""
    return {
        subject.id
        for subject in list_subjects(schema)
        if (subject.what == "column" and subject.column not in columns)
        or (subject.what == "table" and subject.id not in tables)
    }
