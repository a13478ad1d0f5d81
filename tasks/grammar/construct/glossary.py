"""Stage: find readable names for tables and columns with unclear names, such as "date of birth" for `dob`.

The setting `databases.<name>.glossary` takes precedence over comments in the database's catalogue. Comments
take precedence over a model's proposals. The model proposes names only if `propose` is set. The dataset's
page shows the proposals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column, find_named, name_table
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile, apply_profiles
from tasks.databases.reflection import SPOKEN, reflect
from tasks.english import is_common, is_word
from tasks.errors import BadInput
from tasks.grammar.construct.names import split_raw
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.settings import Settings

GRAMMAR = 'root ::= word (" " word){0,4}\nword ::= [a-z] [a-z]{0,13}'
"""The decoding grammar of a proposal: one to five lower-case words."""
COMMON = frozenset(["id", "pk", "fk", "usd", "eur", "km", "kg", "mph", "gps", "utc", "url", "zip", "isbn"])
"""Abbreviations that need no explanation."""


class Glossary(Settings):
    """The settings in params.yaml under `grammar.glossary`."""

    propose: bool = False
    """Whether a model proposes readable names for columns whose names are not English."""


@dataclass(frozen=True)
class Term:
    """The readable name of a column, or of a table's row. `id` is the id of the column or table."""

    id: str
    table: str
    column: str
    """The column's name; empty for a table."""
    words: str
    source: str
    """The source of the readable name: `params`, `comment` or `proposed`."""
    origin: tuple[Origin, ...]


async def glossary(
    columns: list[ColumnProfile], database: DatabaseEntry, params: Glossary, ask: Ask
) -> Drafts[Term]:
    """Return the readable names of tables and columns, from params.yaml, comments or a model's proposals.

    `columns` contains the column profiles, which determine the column types in prompts. The stage reads no
    rows.

    The drop reasons for proposals are `no_words` (not one to six words) and `unknown_words` (a word is not
    English). Without proposals, the drop reason `unclear_name` marks columns whose name is not English and
    that have no readable name. Raises BadInput if the setting `glossary` or `leave_out` names an unknown
    table or column, or if a text in `glossary` is not one to six words.
    """
    schema = apply_profiles(reflect(database), columns)
    place = f"params.yaml: {database.label}.glossary"
    terms = {term.id: term for term in _list_comments(schema)}
    terms |= {term.id: term for term in read_glossary(database.glossary, schema, place)}
    dropped: list[Dropped] = []
    hidden = {column.id for column in schema}.difference(
        column.id for column in leave_out(schema, database) if column.descriptive
    )
    unclear = [
        column for column in schema if column.id not in {*terms, *hidden} and not is_clear(column.name)
    ]
    if params.propose:
        answers = await asyncio.gather(*(_ask_words(column, schema, ask) for column in unclear))
        for column, answer in zip(unclear, answers, strict=True):
            origin = (Origin("call", answer.call),)
            if answer.value is None:
                reason, _, detail = answer.problem.partition(": ")
                dropped.append(Dropped(make_id("term", column.id), reason, f"{column.id}: {detail}", origin))
            else:
                term = Term(column.id, column.table, column.name, answer.value, "proposed", origin)
                terms[term.id] = term
    else:
        dropped = [_leave_unclear(column, database.label) for column in unclear]
    return Drafts([terms[name] for name in sorted(terms)], dropped)


def read_glossary(entries: Mapping[str, str], columns: Sequence[Column], place: str) -> list[Term]:
    """Convert the setting `glossary` to terms.

    `place` is the setting's location in error messages. Raises BadInput.
    """
    terms: dict[str, Term] = {}
    names = {column.name for column in columns}
    # A column's name without a table applies to all columns of that name. It is read first, so that
    # `table.column` overrides it.
    for key, text in sorted(entries.items(), key=lambda entry: entry[0] not in names):
        words = " ".join(text.split())
        if not SPOKEN.fullmatch(words):
            raise BadInput(
                f"{place}: {key}", f"{text!r} must be one to six words of letters, hyphens and apostrophes"
            )
        for table, column, term_id in find_named(key, columns, place):
            origin = (Origin("evidence", f"{place}: {key}"),)
            terms[term_id] = Term(term_id, table, column, words, "params", origin)
    return list(terms.values())


def leave_out(columns: Sequence[Column], database: DatabaseEntry) -> list[Column]:
    """Return all columns, and mark the columns in the setting `leave_out` as not descriptive.

    Raises BadInput if the setting names an unknown table or column.
    """
    place = f"params.yaml: {database.label}.leave_out"
    hidden: set[str] = set()
    for name in database.leave_out:
        for table, column, _ in find_named(name, columns, place):
            hidden |= {known.id for known in columns if known.table == table and column in ("", known.name)}
    return [replace(column, descriptive=column.descriptive and column.id not in hidden) for column in columns]


def is_clear(name: str) -> bool:
    """Return whether a column's name consists of English words or common abbreviations."""
    words = [word.strip("0123456789") for word in split_raw(name)]
    return all(not word or word in COMMON or _is_plain(word) for word in words)


def _is_plain(word: str) -> bool:
    # In column names, short words of the dictionary are often abbreviations, such as dob, so short words
    # must be common.
    return is_common(word, 1_000) if len(word) <= 4 else is_word(word)


def _list_comments(columns: Sequence[Column]) -> Iterator[Term]:
    for column in columns:
        origin = (Origin("evidence", f"comment on {column.id}"),)
        if column.words:
            yield Term(column.id, column.table, column.name, column.words, "comment", origin)
        if column.table_words:
            table_origin = (Origin("evidence", f"comment on {column.table}"),)
            yield Term(name_table(column), column.table, "", column.table_words, "comment", table_origin)


def _leave_unclear(column: Column, label: str) -> Dropped:
    detail = f"{column.id}: say in {label}.glossary what people call it, or name it in leave_out"
    return Dropped(make_id("term", column.id), "unclear_name", detail, ())


async def _ask_words(column: Column, columns: Sequence[Column], ask: Ask) -> Answer[str]:
    return await ask(
        "glossary",
        {
            "table": column.table,
            "columns": [other.name for other in columns if other.table == column.table],
            "column": column.name,
            "type": column.type,
        },
        role="generator",
        row=make_id("term", column.id),
        parse=parse_words,
        grammar=GRAMMAR,
        max_tokens=24,
    )


def parse_words(text: str) -> str:
    """Parse a model's proposal, which must be a few English words. Raises Unparsed."""
    words = " ".join(text.strip().strip('."').lower().split())
    if not SPOKEN.fullmatch(words):
        raise Unparsed(f"no_words: {text[:80]}")
    if unknown := [word for word in words.split() if not is_word(word)]:
        raise Unparsed(f"unknown_words: {unknown[0]}")
    return words
