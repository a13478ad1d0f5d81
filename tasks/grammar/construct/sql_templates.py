"""Stage: SQL templates, written by a model that sees table and column names and never a row (section 4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import sqlglot
from pydantic import BaseModel, ConfigDict, Field
from sqlglot.errors import SqlglotError

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.errors import BadInput
from tasks.grammar.construct.queries import DIALECT, Query, write_template
from tasks.grammar.construct.sql_grammar import write_sql_grammar
from tasks.grammar.construct.sql_rules import BrokenRule, read_template
from tasks.grammar.construct.template_requests import Wish, make_wishes, tables_of
from tasks.grammar.rows import SqlTemplate
from tasks.models.ask import Answer, Ask, Unparsed


class Kind(BaseModel):
    """One kind of template: how many tables and placeholders, and which criteria it is held to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tables: tuple[int, int]
    """Least and greatest number of tables; link tables are not counted."""
    placeholders: int = Field(ge=1, le=4)
    projected: int = Field(default=1, ge=1, le=3)
    """Most columns that are asked for."""
    templates: int = Field(ge=0)
    requests: int = Field(ge=0)
    """It is asked until there are so many templates, or so many requests are spent."""
    criteria: tuple[str, ...]


class Example(BaseModel):
    """The prompt's example, from a domain of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tables: str
    sql: str


class SqlTemplates(BaseModel):
    """`grammar.sql_templates` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: Mapping[str, Kind]
    criteria: Mapping[str, str]
    """The sentence that stands in the prompt for each criterion."""
    example: Example
    offered: int = Field(default=4, ge=1)
    """Columns among which one request lets the model choose."""
    seed: int = 0


async def sql_templates(schema: list[Column], params: SqlTemplates, ask: Ask) -> Drafts[SqlTemplate]:
    """Ask for templates of each kind until there are enough distinct ones (GRAMMAR, section 4.1).

    The requests go out in rounds as large as what is missing; their order is that of the wishes,
    so neither the requests nor the rows depend on which answer comes first.
    """
    kept: dict[str, SqlTemplate] = {}
    dropped: list[Dropped] = []
    for name, kind in params.kinds.items():
        rules = [_find_criterion(params, name, each) for each in kind.criteria]
        wishes = make_wishes(
            schema, kind.tables, kind.placeholders, kind.projected, params.offered, kind.requests, params.seed
        )
        wanted = len(kept) + kind.templates
        while wishes and len(kept) < wanted:
            batch, wishes = wishes[: wanted - len(kept)], wishes[wanted - len(kept) :]
            answers = await asyncio.gather(
                *(_ask_for(wish, schema, kind, rules, params, ask) for wish in batch)
            )
            for wish, answer in zip(batch, answers, strict=True):
                _sort_answer(wish, answer, kept, dropped)
    return Drafts(list(kept.values()), dropped)


async def _ask_for(
    wish: Wish, schema: Sequence[Column], kind: Kind, rules: Sequence[str], params: SqlTemplates, ask: Ask
) -> Answer[Query]:
    return await ask(
        "sql_template",
        {
            "rules": rules,
            "example": params.example.model_dump(),
            "tables": describe_tables(wish, schema),
            "joins": wish.joins,
            "asked": sorted({each for group in wish.projections for each in group}),
            "given": wish.placeholders,
        },
        role="generator",
        row=wish.id,
        parse=lambda text: parse_answer(text, schema, kind, params.example.sql),
        grammar=write_sql_grammar(wish),
        max_tokens=256,
    )


def describe_tables(wish: Wish, schema: Sequence[Column]) -> list[dict[str, object]]:
    """Name the tables of a wish with the columns that are on offer or hold the tables together."""
    used = {*wish.columns, *(side for pair in wish.joins for side in pair)}
    return [
        {
            "name": table,
            "columns": [f"{e.name} {e.type}" for e in schema if e.table == table and e.id in used],
        }
        for table in tables_of(wish)
    ]


def parse_answer(text: str, schema: Sequence[Column], kind: Kind, example: str) -> Query:
    """Read a reply as a query that keeps every rule. Raises Unparsed: `<reason>: <detail>`."""
    sql = text.strip().removeprefix("```sql").removeprefix("```").removesuffix("```").strip()
    if _normalise(sql) == _normalise(example):
        raise Unparsed("copied_example: it is the prompt's example")
    try:
        query = read_template(sql, schema)
    except BrokenRule as broken:
        raise Unparsed(f"{broken.reason}: {broken}") from broken
    if len(query.placeholders) != kind.placeholders or len(query.projection) > kind.projected:
        found = f"{len(query.projection)} columns asked for, {len(query.placeholders)} given"
        raise Unparsed(f"other_kind: {found}")
    return query


def _sort_answer(
    wish: Wish, answer: Answer[Query], kept: dict[str, SqlTemplate], dropped: list[Dropped]
) -> None:
    origin: tuple[Origin, ...] = (Origin("call", answer.call),)
    if answer.value is None:
        reason, _, detail = answer.problem.partition(": ")
        dropped.append(Dropped(make_id("wish", wish.id), reason, f"{detail}: {answer.text}", origin))
        return
    query = answer.value
    if query.id in kept:
        dropped.append(Dropped(make_id("wish", wish.id), "duplicate", f"of {query.id}", origin))
        return
    tables = (*query.projection, *query.placeholders, *(side for pair in query.joins for side in pair))
    origin += tuple(Origin("row", f"schema#{each}") for each in sorted(set(tables)))
    kept[query.id] = SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, origin
    )


def _find_criterion(params: SqlTemplates, kind: str, name: str) -> str:
    if name not in params.criteria:
        known = ", ".join(sorted(params.criteria))
        raise BadInput(
            "params.yaml", f"grammar.sql_templates.kinds.{kind} names no criterion {name!r}", hint=known
        )
    return params.criteria[name]


def _normalise(sql: str) -> str:
    try:
        return ";".join(each.sql(dialect=DIALECT) for each in sqlglot.parse(sql, dialect=DIALECT) if each)
    except SqlglotError:
        return sql
