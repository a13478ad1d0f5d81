"""Stage: read the kind and the possible values of answers, for the SQL templates of sampled questions.

Rules use the kind and the values to evaluate some responses without a judge model.
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
"""The kind of values for each column type. For a text column, the kind also depends on the values."""


class AnswerColumns(Settings):
    """The settings in params.yaml under `grammar.answer_columns`."""

    most: int = Field(default=20_000, ge=1)
    """The maximum number of distinct values to list; columns with more values have no list."""
    limits: QueryLimits = QueryLimits()
    """The limits of the query for each column."""


@dataclass(frozen=True)
class AnswerColumn:
    """The answer column of a SQL template, with its values. The row's id is the template's id."""

    id: str
    column: str
    """The column's id, such as `films.title`; empty if the answer is computed or has several columns."""
    words: str
    """The column's readable name."""
    kind: str
    values: tuple[str, ...]
    """The sorted distinct values of a text column; empty if there are more than `most`.

    The field is also empty if all values are dates, times or numbers, or if `column` is not a text column.
    """
    origin: tuple[Origin, ...]


def answer_columns(
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    questions: list[AskedQuestion],
    database: DatabaseEntry,
    params: AnswerColumns,
) -> Drafts[AnswerColumn]:
    """Return the answer column of each sampled question's SQL template. Database errors are not caught."""
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
    """Return the id of the only column whose values a query returns, or an empty string."""
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
    """Return the sorted distinct values of a column, or an empty tuple if there are more than `most`."""
    cell = quote_column(column.id)
    select = (
        exp.select(cell)
        .distinct()
        .from_(exp.Table(this=quote_name(column.table)))
        .where(exp.Not(this=exp.Is(this=cell.copy(), expression=exp.Null())))
    )
    # One value beyond the maximum shows that the list would be too long.
    sql = translate(select.limit(most + 1).sql(dialect=CANONICAL), database.dialect, schema)
    found: set[str] = set()
    for batch in database.stream(sql):
        found |= {write_plain(value) for (value,) in batch}
    return tuple(sorted(found)) if len(found) <= most else ()
