"""Stage: a model writes SQL templates without seeing any row of the database (GRAMMAR, section 4.1).

With constrained decoding, the model picks one of the queries that a request offers, because a small model
would not write a better query. If the model's role has `constrain: none`, the model sees the whole schema and
writes SQL freely. The same rules apply in both cases. With `dialect: any`, the model may write any SELECT
that runs, and requests follow a plan that covers every table and column.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput
from tasks.grammar.construct.any_templates import MAX_SQL, parse_any, strip_reply
from tasks.grammar.construct.coverage import (
    Coverage,
    PlannedRequest,
    Subject,
    list_pending,
    list_uncovered,
    plan_requests,
)
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.queries import DIALECT, Query, comparison_of, write_template
from tasks.grammar.construct.sql_reading import BrokenRule, parse_statements
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.template_requests import (
    SUFFIXES,
    TemplateRequest,
    TemplateShape,
    list_template_requests,
    tables_of,
)
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.settings import Settings

CONSTRAIN = "roles.generator.constrain"
"""The setting that constrains the generator's decoding."""
SHAPE = "grammar.sql_templates.dialect"
FREE = ("none", "tools")
"""The values of `constrain` that do not constrain the decoding of SQL."""
SUFFIX_NAMES = {
    name: tuple(suffix.removeprefix(":") for suffix in suffixes) for name, suffixes in SUFFIXES.items()
}


class TemplateKind(TemplateShape):
    """A kind of template: the numbers of tables and placeholders, and the criteria for templates."""

    templates: int = Field(ge=0)
    """The maximum number of templates of this kind per database."""
    requests: int = Field(ge=0)
    """The maximum number of requests for templates of this kind per database."""
    criteria: tuple[str, ...]
    """The criteria that the prompt states, as keys of `grammar.sql_templates.criteria`."""


class PromptExample(Settings):
    """The prompt's example, from a domain that the database does not cover."""

    tables: str
    """The example's tables: `books(book_id integer, title text)`."""
    sql: str
    """The example's query."""


class SqlTemplates(Settings):
    """The settings in params.yaml under `grammar.sql_templates`."""

    kinds: Mapping[str, TemplateKind]
    """The properties of each kind of template, by name."""
    criteria: Mapping[str, str]
    """The sentence in the prompt for each criterion."""
    example: PromptExample
    only: tuple[str, ...] | None = None
    """The kinds of template for databases without the setting `kinds`; null means all kinds."""
    offered: int = Field(default=4, ge=1)
    """The maximum number of columns that a request offers for each use.

    The uses are: a requested column, a ranking, a bound, and narrowing a lookup to one row. The limit does
    not apply to columns that identify rows, or to lookup columns of a measure.
    """
    dialect: Literal["plain", "any"] = "plain"
    """The SQL that a model with `constrain: none` may write: `plain` allows only the template `kinds`; `any`
    allows any SELECT, and requests follow the plan `coverage`."""
    coverage: Coverage = Coverage()
    """The plan of requests for `dialect: any`."""
    seed: int = 0
    """The seed that orders the requests."""


NOT_DRAWN = "the templates of the kinds that were asked for are about others"
PEOPLE_CHOSE = "the own templates, which stand instead of a model's, are about others"


@dataclass(frozen=True)
class SqlTemplate:
    """A query in canonical SQL, with `'[table.column]'` instead of each value (GRAMMAR, section 4.1)."""

    id: str
    """The hash of the canonical AST: two spellings of the same query have the same id."""
    sql: str
    tables: tuple[str, ...]
    projection: tuple[str, ...]
    placeholders: tuple[str, ...]
    """The names of the placeholders: the column, and a suffix if the comparison is not `=`."""
    choices: int
    """The number of queries that the request offered; 0 if the model or a person wrote the SQL freely."""
    origin: tuple[Origin, ...]


def is_by_person(template: SqlTemplate) -> bool:
    """Return whether a person wrote a SQL template."""
    return any(origin.reference.startswith("own_templates#") for origin in template.origin)


@dataclass(frozen=True)
class OwnText:
    """A text that a person wrote for a SQL template, under a linguistic criterion."""

    criterion: str
    text: str


@dataclass(frozen=True)
class OwnTemplate:
    """A SQL template that a person wrote, with its texts. The row's id is the id of the SQL template."""

    id: str
    sql: str
    """Canonical SQL, as in `SqlTemplate`."""
    tables: tuple[str, ...]
    projection: tuple[str, ...]
    placeholders: tuple[str, ...]
    texts: tuple[OwnText, ...]
    tag: str
    """The author's label for the groups of this template, or an empty string."""
    instead: bool
    """Whether user-written templates replace model-written templates, so that no model writes templates."""
    origin: tuple[Origin, ...]


async def sql_templates(
    schema: list[Column],
    own_templates: list[OwnTemplate],
    database: DatabaseEntry,
    settings: Mapping[str, object],
    params: SqlTemplates,
    ask: Ask,
) -> Drafts[SqlTemplate]:
    """Request templates of each kind until there are enough distinct templates (GRAMMAR, section 4.1).

    Each round sends one request per missing template, in a fixed order. Therefore the requests and the rows
    do not depend on the order in which answers arrive. User-written templates come first and do not count
    towards any kind. If user-written templates replace model-written templates, no model is asked. `settings`
    contains the settings of `roles.generator`, by dotted name. Raises BadInput for an unknown kind or an
    unknown criterion.
    """
    free = settings.get(CONSTRAIN) in FREE
    kept = {own_template.id: _take_own(own_template) for own_template in own_templates}
    dropped: list[Dropped] = []
    if any(own_template.instead for own_template in own_templates):
        return Drafts(list(kept.values()), list_uncovered(schema, *_list_read(kept, schema), PEOPLE_CHOSE))
    if free and params.dialect == "any":
        await _ask_by_plan(schema, params, ask, kept, dropped)
        return Drafts(list(kept.values()), dropped)
    for name in _choose_kinds(database, params):
        kind = params.kinds[name]
        rules = [_find_criterion(params, name, criterion) for criterion in kind.criteria]
        pending = list_template_requests(schema, kind, params.offered, kind.requests, params.seed)
        wanted = len(kept) + kind.templates
        while pending and len(kept) < wanted:
            missing = wanted - len(kept)
            batch, pending = pending[:missing], pending[missing:]
            answers = await asyncio.gather(
                *(_ask_template(request, schema, kind, rules, params, free, ask) for request in batch)
            )
            for request, answer in zip(batch, answers, strict=True):
                _sort_answer(request.id, answer, 0 if free else len(request.queries), kept, dropped)
    dropped += list_uncovered(schema, *_list_read(kept, schema), NOT_DRAWN)
    return Drafts(list(kept.values()), dropped)


def _list_read(kept: Mapping[str, SqlTemplate], schema: Sequence[Column]) -> tuple[set[str], set[str]]:
    """Return the tables and the columns that the templates' SQL reads."""
    tables: set[str] = set()
    columns: set[str] = set()
    for template in kept.values():
        query = read_stored(template.sql, schema)
        tables.update(query.tables)
        columns.update(query.columns)
    return tables, columns


async def _ask_by_plan(
    schema: Sequence[Column],
    params: SqlTemplates,
    ask: Ask,
    kept: dict[str, SqlTemplate],
    dropped: list[Dropped],
) -> None:
    """Request templates for every table and column; record tables and columns without a template as dropped.

    Later rounds cover only the tables and columns that no template reads yet.
    """
    tables, columns = _list_read(kept, schema)
    lost: list[tuple[Subject, str]] = []
    for turn in range(params.coverage.rounds):
        pending = list_pending(schema, tables, columns) if turn else None
        requests = plan_requests(schema, params.coverage, params.seed, turn, pending)
        answers = await asyncio.gather(*(_ask_planned(request, schema, params, ask) for request in requests))
        for request, answer in zip(requests, answers, strict=True):
            if (drop := _sort_answer(request.id, answer, 0, kept, dropped)) is not None:
                lost.append((request.subject, drop.reason))
            if answer.value is not None:
                tables.update(answer.value.tables)
                columns.update(answer.value.columns)
    dropped += list_uncovered(schema, tables, columns, "its requests: none fits its type", lost)


async def _ask_planned(
    request: PlannedRequest, schema: Sequence[Column], params: SqlTemplates, ask: Ask
) -> Answer[Query]:
    """Request a free-form template; the prompt contains the request's kind, subject and columns."""
    return await ask(
        "sql_template_any",
        {
            "tables": [
                {"name": table, "columns": [column for column in request.columns if column.table == table]}
                for table in request.subject.tables
            ],
            "subject": request.subject,
            "kind": request.kind,
            "example": params.example.model_dump(),
        },
        role="generator",
        row=request.id,
        parse=lambda text: parse_any(text, schema, request, params.example.sql),
        max_tokens=1_024,
    )


def _choose_kinds(database: DatabaseEntry, params: SqlTemplates) -> list[str]:
    own = database.kinds is not None
    chosen = database.kinds if own else params.only
    if unknown := sorted(set(chosen or ()).difference(params.kinds)):
        raise BadInput(
            f"params.yaml: {f'{database.label}.kinds' if own else 'grammar.sql_templates.only'}",
            f"{unknown[0]} is not one of grammar.sql_templates.kinds",
            hint=f"known: {', '.join(params.kinds)}",
        )
    return [name for name in params.kinds if chosen is None or name in chosen]


async def _ask_template(
    request: TemplateRequest,
    schema: Sequence[Column],
    kind: TemplateKind,
    rules: Sequence[str],
    params: SqlTemplates,
    free: bool,
    ask: Ask,
) -> Answer[Query]:
    """Request one template: a choice among the offered queries, or SQL about the request's tables."""
    fields = _describe_schema(request, schema, kind) if free else _describe_request(request, schema)
    return await ask(
        "sql_template_free" if free else "sql_template",
        {"rules": rules, "example": params.example.model_dump(), **fields},
        role="generator",
        row=request.id,
        parse=lambda text: parse_answer(text, schema, kind, params.example.sql),
        grammar=None if free else write_sql_grammar(request),
        # Free requests about the same tables have one prompt. The sample number makes the calls distinct.
        sample=int(request.id, 16) % 1_000 if free else 0,
        max_tokens=1_024 if free else 256,
    )


def _describe_request(request: TemplateRequest, schema: Sequence[Column]) -> dict[str, object]:
    """Return the prompt's fields for a choice among the offered queries."""
    return {
        "tables": describe_tables(request, schema),
        "joins": request.joins,
        "asked": sorted({column for columns in request.projections for column in columns}),
        "given": request.placeholders,
        "measure": request.measure,
        "ranked": request.ranked_by,
        "varied": request.varied,
    }


def _describe_schema(
    request: TemplateRequest, schema: Sequence[Column], kind: TemplateKind
) -> dict[str, object]:
    """Return the prompt's fields for a request that allows SQL over the whole schema."""
    tables = sorted({column.table for column in schema})
    return {
        "tables": [
            {"name": table, "columns": [column for column in schema if column.table == table]}
            for table in tables
        ],
        "about": tables_of(request),
        "shape": kind,
        "suffixes": SUFFIXES[kind.compared],
    }


def describe_tables(request: TemplateRequest, schema: Sequence[Column]) -> list[dict[str, object]]:
    """List the tables of a request with their offered columns and their join columns."""
    used = {*request.columns, *(side for pair in request.joins for side in pair)}
    return [
        {
            "name": table,
            "columns": [
                f"{column.name} {column.type}"
                for column in schema
                if column.table == table and column.id in used
            ],
        }
        for table in tables_of(request)
    ]


def parse_answer(text: str, schema: Sequence[Column], kind: TemplateKind, example: str) -> Query:
    """Parse a reply as a query that satisfies every rule. Raises Unparsed with `<reason>: <detail>`."""
    sql = strip_reply(text)
    if len(sql) > MAX_SQL:
        raise Unparsed(f"unreadable: the SQL has more than {MAX_SQL:,} characters")
    if _normalise(sql) == _normalise(example):
        raise Unparsed("copied_example: the SQL is the prompt's example")
    try:
        query = read_template(sql, schema)
    except BrokenRule as broken:
        raise Unparsed(f"{broken.reason}: {broken}") from broken
    if len(query.placeholders) != kind.placeholders or len(query.projection) > kind.projected:
        found = f"{len(query.projection)} selected columns and {len(query.placeholders)} placeholders"
        raise Unparsed(f"other_kind: {found}")
    if (
        query.measure != kind.measure
        or tuple(map(comparison_of, query.varied)) != SUFFIX_NAMES[kind.compared]
    ):
        raise Unparsed(
            f"other_kind: the measure is {query.measure or 'none'}, "
            f"the comparisons are {', '.join(query.varied) or '='}"
        )
    return query


def _take_own(own: OwnTemplate) -> SqlTemplate:
    origin = (Origin("row", f"own_templates#{own.id}"),)
    return SqlTemplate(own.id, own.sql, own.tables, own.projection, own.placeholders, 0, origin)


def _sort_answer(
    request: str,
    answer: Answer[Query],
    choices: int,
    kept: dict[str, SqlTemplate],
    dropped: list[Dropped],
) -> Dropped | None:
    """Add a request's template to `kept`, or append a dropped row to `dropped` and return it."""
    origin: tuple[Origin, ...] = (Origin("call", answer.call),)
    query = answer.value
    if query is None or query.id in kept:
        if query is None:
            reason, _, detail = answer.problem.partition(": ")
            drop = Dropped(make_id("wish", request), reason, f"{detail}: {answer.text}", origin)
        else:
            drop = Dropped(make_id("wish", request), "duplicate", f"same SQL as {query.id}", origin)
        dropped.append(drop)
        return drop
    columns = (*query.columns, *(side for pair in query.joins for side in pair))
    origin += tuple(Origin("row", f"schema#{column}") for column in sorted(set(columns)))
    kept[query.id] = SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, choices, origin
    )
    return None


def _find_criterion(params: SqlTemplates, kind: str, name: str) -> str:
    if name not in params.criteria:
        known = f"known: {', '.join(sorted(params.criteria))}"
        raise BadInput(
            "params.yaml", f"grammar.sql_templates.kinds.{kind}: unknown criterion {name!r}", hint=known
        )
    return params.criteria[name]


def _normalise(sql: str) -> str:
    try:
        return ";".join(statement.sql(dialect=DIALECT) for statement in parse_statements(sql) if statement)
    except BrokenRule:
        return sql


def write_sql_grammar(request: TemplateRequest) -> str:
    """Write the decoding grammar that allows exactly the queries of a request."""
    templates = map(write_template, request.queries)
    return "root ::= " + " | ".join(json.dumps(sql, ensure_ascii=False) for sql in templates)
