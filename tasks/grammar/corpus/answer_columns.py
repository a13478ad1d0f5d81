"""Stage: read the kind and the possible values of the answers to every asked SQL template.

With the kind of value and the other values in the column, rules can judge some responses without asking a
judge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field
from sqlglot import exp

from tasks.artifacts.rows import Drafts, Origin
from tasks.databases.columns import Column, split_column_id
from tasks.databases.content import ensure_unchanged
from tasks.databases.dialects import CANONICAL, translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.quoted_names import quote_column, quote_name
from tasks.databases.rendering import write_plain
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.judging.amounts import DATE, NUMBER, OTHER, TEXT, TIME, guess_kind
from tasks.settings import Settings

KINDS = {"integer": NUMBER, "real": NUMBER, "date": DATE, "text": TEXT}
"""The kind of values for each column type. For a text column, the values also help to determine the kind."""


class AnswerColumns(Settings):
    """The settings in params.yaml under `grammar.answer_columns`."""

    most: int = Field(default=20_000, ge=1)
    """The maximum number of distinct values of a column for which the values are listed."""
    limits: QueryLimits = QueryLimits()
    """The limits of the query that reads a column; each column has one query."""


@dataclass(frozen=True)
class AnswerColumn:
    """The database's values for a SQL template's answer column. Its id is the template's id."""

    id: str
    column: str
    """The column's id, such as `films.title`; empty if the answer is computed or has several columns."""
    words: str
    """The name that people use for the column."""
    kind: str
    values: tuple[str, ...]
    """The distinct values of a text column, sorted; empty if there are more than `most`."""
    origin: tuple[Origin, ...]


def answer_columns(
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    questions: list[AskedQuestion],
    database: DatabaseEntry,
    params: AnswerColumns,
) -> Drafts[AnswerColumn]:
    """Look up the answer column of every asked SQL template. Passes on every error of the database."""
    asked = {question.sql_template for question in questions}
    queries = {
        template.id: read_stored(template.sql, schema) for template in sql_templates if template.id in asked
    }
    known = {column.id: column for column in schema}
    names = sorted({name for query in queries.values() if (name := _find_column(query))})
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        values = {
            name: list_values(known[name], safe, schema, params.most)
            for name in names
            if known[name].type == "text"
        }
    rows = []
    for template, query in sorted(queries.items()):
        name = _find_column(query)
        kind, listed = _find_kind(query, known.get(name), values.get(name, ()))
        words = (known[name].words or split_column_id(name)[1].replace("_", " ")) if name else ""
        origin = (Origin("row", f"sql_templates#{template}"),)
        rows.append(AnswerColumn(template, name, words, kind, listed, origin))
    return Drafts(rows)


def _find_column(query: Query) -> str:
    """Return the id of the one column whose values a query returns; empty if there is no such column."""
    computed = query.measure in ("count", "average")
    return query.projection[0] if len(query.projection) == 1 and not computed else ""


def _find_kind(query: Query, column: Column | None, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    if query.measure in ("count", "average"):
        return NUMBER, ()
    kind = KINDS.get(column.type, OTHER) if column else OTHER
    if kind != TEXT:
        return kind, ()
    for written in (DATE, TIME, NUMBER):
        if values and all(guess_kind(value) == written for value in values):
            return written, ()
    return TEXT, values


def list_values(
    column: Column, database: SafeDatabase, schema: Iterable[Column], most: int
) -> tuple[str, ...]:
    """List the distinct values of a column, sorted; none if there are more than `most`."""
    cell = quote_column(column.id)
    select = (
        exp.select(cell)
        .distinct()
        .from_(exp.Table(this=quote_name(column.table)))
        .where(exp.Not(this=exp.Is(this=cell.copy(), expression=exp.Null())))
    )
    sql = translate(select.limit(most + 1).sql(dialect=CANONICAL), database.dialect, schema)
    found: set[str] = set()
    for batch in database.stream(sql):
        found |= {write_plain(value) for (value,) in batch}
    return tuple(sorted(found)) if len(found) <= most else ()
