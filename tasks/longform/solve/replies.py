"""Define the limits of agents' replies, the grammars and tools that constrain replies, and the parsers.

A reply consists of labelled parts, such as `SQL: ...`. The parsers accept Markdown around a label and words
before the first label, and are strict about everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pydantic import Field

from tasks.databases.execution import QueryLimits
from tasks.judging.labelled import AFTER, SIGNS, make_label_pattern, split_parts
from tasks.longform.solve.statistic import KINDS, REQUEST_CHARACTERS
from tasks.models.ask import Tool, Unparsed
from tasks.settings import Settings

PLAN_PARTS = ("Information needed", "Tables and columns", "Retrieval steps")
"""The labels of a plan's parts, in order."""
ENOUGH = "ENOUGH"
"""The word with which the iterative agent ends its rounds."""
NEED, SQL, STATISTIC, REASONING, ANSWER = "Need", "SQL", "Statistic", "Reasoning", "Answer"
NEED_TOKENS, STATISTIC_TOKENS = 50, 40
"""Maximum number of tokens in a reply's information need, and in its request for a statistic."""
NEED_CHARACTERS = 160
"""Maximum number of characters that a grammar allows in an information need."""
CHARACTERS_PER_WORD, CHARACTERS_PER_TOKEN = 8, 3
"""Estimated characters per word of prose and per token of SQL.

Grammars limit characters rather than words or tokens.
"""
FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
"""Matches a line that opens or closes a Markdown code fence."""


class AgentLimits(Settings):
    """Parameters of the stage `longform.interactions`: limits for the requests and replies of agents."""

    queries: int | None = Field(default=3, gt=0)
    """Maximum number of queries of the sequential agent; null sets no limit except the reply's length."""
    rounds: int = Field(default=3, gt=0)
    """Maximum number of rounds of the iterative agent, each with one query."""
    shown_rows: int = Field(default=8, gt=0)
    """Maximum number of rows of each result that an agent sees."""
    records_tokens: int = Field(default=2200, gt=0)
    """Maximum number of tokens in the records that the agent `none` sees; larger databases are skipped."""
    prompt_tokens: int = Field(default=3200, gt=0)
    """Maximum number of tokens in a prompt (an estimate); the rest of the context window is for the reply."""
    plan_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens in a plan, and in the reasoning of the agent `none` before its answer."""
    query_tokens: int = Field(default=120, gt=0)
    """Maximum number of tokens in one query."""
    answer_tokens: int = Field(default=160, gt=0)
    """Maximum number of tokens in an answer."""
    answer_words: int = Field(default=80, gt=0)
    """Number of words that the prompt requests for an answer."""
    statistics: bool = False
    """Whether querying agents may also request correlations, regressions and quantiles."""
    at_once: int = Field(default=200, gt=0)
    """Maximum number of items that agents work on at the same time, which limits memory.

    The same limit applies to each round of requests to a batch endpoint.
    """
    limits: QueryLimits = QueryLimits()


@dataclass(frozen=True)
class WrittenQuery:
    """A query, and the statistics requested for its result (see tasks/longform/solve/statistic.py)."""

    sql: str
    statistics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Round:
    """A reply of the iterative agent: an information need and its query.

    `query` is None if the agent has enough information.
    """

    need: str
    query: WrittenQuery | None


def make_plan_grammar(params: AgentLimits) -> str:
    """Build the GBNF grammar of a plan: one line for each of its three parts."""
    # The parts share the plan's tokens equally.
    line = _line(params.plan_tokens * CHARACTERS_PER_TOKEN // len(PLAN_PARTS))
    return "root ::= " + ' "\\n" '.join(f"{json.dumps(f'{part}: ')} {line}" for part in PLAN_PARTS)


def make_queries_grammar(params: AgentLimits) -> str:
    """Build the GBNF grammar of a list of at most `params.queries` queries."""
    query, rules = _query_rules(params)
    more = "*" if params.queries is None else f"{{0,{params.queries - 1}}}"
    return f'root ::= {query} ("\\n" {query}){more}\n{rules}'


def make_round_grammar(params: AgentLimits) -> str:
    """Build the GBNF grammar of a round: a need and a query, or the word that ends the rounds."""
    head = json.dumps(f"{NEED}: ")
    query, rules = _query_rules(params)
    return f'root ::= "{ENOUGH}" | {head} {_line(NEED_CHARACTERS)} "\\n" {query}\n{rules}'


def make_answer_grammar(params: AgentLimits, *, reasoning: bool = False) -> str:
    """Build the GBNF grammar of an answer: one paragraph, after a line of reasoning if requested."""
    answer = _line(params.answer_words * CHARACTERS_PER_WORD)
    if not reasoning:
        return f"root ::= {answer}"
    line = _line(params.plan_tokens * CHARACTERS_PER_TOKEN)
    return f'root ::= "{REASONING}: " {line} "\\n{ANSWER}: " {answer}'


def _query_rules(params: AgentLimits) -> tuple[str, str]:
    """Return the name of the grammar rule for a query, and the text of the rules that define a query.

    A query may be followed by a statistic if `params` allows statistics.
    """
    # A semicolon ends a query, so that a small model does not continue with another statement.
    characters = params.query_tokens * CHARACTERS_PER_TOKEN
    sql = f'sql ::= "{SQL}: " ("SELECT " | "WITH ") [^;\\n\\r]{{1,{characters}}} ";"'
    if not params.statistics:
        return "sql", sql
    kinds = " | ".join(json.dumps(f"{kind}(") for kind in KINDS)
    columns = f"[^()\\n\\r]{{1,{STATISTIC_TOKENS * CHARACTERS_PER_TOKEN}}}"
    statistic = f'statistic ::= "{STATISTIC}: " ({kinds}) {columns} ")"'
    return "query", f'query ::= sql ("\\n" statistic)?\n{sql}\n{statistic}'


def _line(characters: int) -> str:
    return f"[^ \\t\\n\\r] [^\\n\\r]{{0,{characters}}}"


def offer_queries(*, statistics: bool) -> tuple[Tool, ...]:
    """Return the tool of the sequential agent, which accepts all the agent's queries at once."""
    query = _make_object(_describe_query(statistics), required=["sql"])
    queries = {"queries": {"type": "array", "items": query}}
    return (Tool("run_queries", "Run SQLite SELECT queries.", _make_object(queries, required=["queries"])),)


def offer_round(*, statistics: bool) -> tuple[Tool, ...]:
    """Return the iterative agent's tools: `run_query` (need and query) and `enough` (ends the rounds)."""
    need = {"type": "string", "title": NEED, "description": "What has to be known"}
    query = _make_object({"need": need, **_describe_query(statistics)}, required=["need", "sql"])
    enough = {**_make_object({}, required=[]), "title": ENOUGH}
    return (
        Tool("run_query", "Run one SQLite SELECT query for what is most needed now.", query),
        Tool("enough", "Say that what is known is enough for the answer.", enough),
    )


def _describe_query(statistics: bool) -> Mapping[str, object]:
    sql = {"type": "string", "title": SQL, "description": "One SELECT statement"}
    if not statistics:
        return {"sql": sql}
    forms = " or ".join(f"{kind}({', '.join(known.columns)})" for kind, known in KINDS.items())
    about = f"{forms}, of numeric columns of the query's result"
    one = {"type": "string", "title": STATISTIC, "description": about}
    return {"sql": sql, "statistics": {"type": "array", "items": one}}


def _make_object(properties: Mapping[str, object], required: Sequence[str]) -> dict[str, object]:
    known = {"properties": properties, "required": list(required), "additionalProperties": False}
    return {"type": "object", **known}


def parse_plan(reply: str) -> str:
    """Parse a plan of three parts; return the labelled parts, one per line.

    Raises Unparsed if a part is missing.
    """
    parts = split_parts(reply, PLAN_PARTS)
    if [label for label, _ in parts] != list(PLAN_PARTS):
        raise Unparsed(f"no_plan: the reply must have the parts {', '.join(PLAN_PARTS)}, in this order")
    return "\n".join(f"{label}: {_join_lines(text, 'no_plan')}" for label, text in parts)


def parse_queries(reply: str, *, statistics: bool = False) -> tuple[WrittenQuery, ...]:
    """Parse one or more queries, each with its statistics. Raises Unparsed if there is no query."""
    parts = split_parts(reply, (SQL, STATISTIC) if statistics else (SQL,))
    queries = _join_queries(parts)
    if not queries:
        raise Unparsed(f"no_query: no line begins with `{SQL}: `")
    return queries


def parse_round(reply: str, *, statistics: bool = False) -> Round:
    """Parse an information need and its query, or the word that ends the rounds; otherwise raise Unparsed."""
    if re.fullmatch(rf"{SIGNS}{ENOUGH}[.!]?{SIGNS}", reply.strip(), re.IGNORECASE):
        return Round("", None)
    parts = split_parts(reply, (NEED, SQL, STATISTIC) if statistics else (NEED, SQL))
    # Some models do not stop, and write further rounds with invented results. Only the first round counts.
    if [label for label, _ in parts[:2]] != [NEED, SQL]:
        raise Unparsed(f"no_round: the reply must be `{ENOUGH}`, or `{NEED}: ` and `{SQL}: `")
    own = takewhile(lambda part: part[0] == STATISTIC, parts[2:])
    (query,) = _join_queries([parts[1], *own])
    return Round(_join_lines(parts[0][1], "no_need"), query)


def _join_queries(parts: Iterable[tuple[str, str]]) -> tuple[WrittenQuery, ...]:
    """Attach each statistic to the query before it; a statistic before the first query is dropped."""
    queries: list[WrittenQuery] = []
    for label, text in parts:
        if label == SQL:
            queries.append(WrittenQuery(_read_sql(text)))
        elif queries:
            before = queries.pop()
            queries.append(WrittenQuery(before.sql, (*before.statistics, _read_line(text))))
    return tuple(queries)


def _read_line(text: str) -> str:
    """Return the first line of a text, without backticks around it, cut to `REQUEST_CHARACTERS`."""
    return next(iter(text.strip().splitlines()), "").strip("` \t")[:REQUEST_CHARACTERS]


def parse_answer(reply: str) -> str:
    """Parse an answer. Raises Unparsed if the answer is empty."""
    text = _drop_label(reply, ANSWER)
    if not text:
        raise Unparsed("no_answer: the reply is empty")
    return text


def parse_reasoned(reply: str) -> tuple[str, str]:
    """Parse (reasoning, answer) from a reply. Raises Unparsed if no part has the label `Answer`."""
    before, *parts = re.split(make_label_pattern((ANSWER,)), reply.replace("\r\n", "\n"))
    if not parts:
        raise Unparsed(f"no_answer: no line begins with `{ANSWER}: `")
    # The reasoning may also contain a line that begins with `Answer:`, so only the last part is the answer.
    return _drop_label(before, REASONING), parse_answer(parts[-1])


def _drop_label(text: str, label: str) -> str:
    return re.sub(rf"\A{SIGNS}{label}{AFTER}", "", text.strip(), flags=re.IGNORECASE).strip()


def _read_sql(text: str) -> str:
    """Return the query at the start of a text, without its final semicolon and code fences.

    The query ends with the first line that ends with a semicolon, or before the first blank line. Raises
    Unparsed if no query remains.
    """
    lines: list[str] = []
    for line in FENCE.sub("", text).strip().split("\n"):
        if not line.strip():
            break
        lines.append(line.rstrip())
        if lines[-1].endswith(";"):
            break
    sql = "\n".join(lines).strip()
    if sql.startswith("`"):
        # The query is inline code. Anywhere else, a backtick may quote a name.
        sql = sql.rstrip("; ").strip("`")
    sql = sql.rstrip("; \t\n")
    if not sql:
        raise Unparsed(f"no_query: there is no SQL after `{SQL}:`")
    return sql


def _join_lines(text: str, word: str) -> str:
    joined = " ".join(text.split()).strip("*` ")
    if not joined:
        raise Unparsed(f"{word}: a part of the reply is empty")
    return joined
