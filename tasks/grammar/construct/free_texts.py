"""Request texts for free-form SQL from a model, and check the texts.

The rules do not check the meaning of a text. The back-check and the second reading check the meaning. The
drop reasons are:

- `wrong_placeholders`: the text lacks a placeholder of the SQL template, or contains any other bracket.
- `too_short`, `too_long`: the number of words is outside the criterion's limits.
- `code_words`: the text contains SQL, or a name such as `films.title`.
- `invented_value`: the text contains a quoted value that is not in the SQL, or a number that is neither in
  the SQL nor in the criterion's circumstances or openings.
- `leaks_answer`: the text contains the answer of one of the SQL template's groups.
- `copied_example`: the text shares a sentence of at least six words with the prompt's example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence

from sqlglot import exp

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.free_reading import parse_free, read_stored
from tasks.grammar.construct.names import name_column, name_table, split_words
from tasks.grammar.construct.queries import PLACEHOLDER, Query
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.style_rules import find_copied
from tasks.grammar.construct.text_requests import Criterion, TextRequest
from tasks.grammar.construct.text_rules import check_length
from tasks.models.ask import Answer, Ask, Unparsed

CODE = re.compile(
    r"\b(SELECT|FROM|WHERE|JOIN|GROUP BY|ORDER BY|HAVING|DISTINCT)\b|\w_\w|\b[a-z]\w*\.[a-z]\w*\b|[`;{}<>]|://"
    r"|\b(sql|placeholders?|quer(y|ies))\b"
)
"""Matches SQL, identifiers and words about databases, which a question must not contain."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
QUOTED = re.compile('["\u201c]([^"\u201c\u201d]{2,60})["\u201d]')
LEAST_LEAK = 4
"""The minimum number of characters of an answer that `leaks_answer` searches for; shorter answers match by
chance."""
MOST_ANSWERS = 2_000
"""The maximum number of distinct answer cells per template that `leaks_answer` searches for."""


def list_free_requests(
    name: str, criterion: Criterion, templates: Sequence[SqlTemplate]
) -> list[TextRequest]:
    """List a criterion's requests.

    The form, circumstance and opening of a request depend only on its template and sample.
    """
    return [
        _frame(make_id("text", template.id, name, sample), template, name, sample, criterion)
        for template in templates
        for sample in range(criterion.samples)
    ]


def _frame(request: str, template: SqlTemplate, name: str, sample: int, criterion: Criterion) -> TextRequest:
    def draw(options: Sequence[str], what: str) -> str:
        return min(options, key=lambda option: make_id(criterion.seed, what, request, option))

    form = criterion.forms[(int(template.id, 16) + sample) % len(criterion.forms)]
    circumstance = draw(criterion.circumstances, "circumstance")
    return TextRequest(
        request, template, name, sample, form, circumstance, opening=draw(criterion.openings, "opening")
    )


async def ask_free_text(
    request: TextRequest, schema: Sequence[Column], criterion: Criterion, answers: Collection[str], ask: Ask
) -> Answer[str]:
    """Request a text for a template.

    `answers` contains the cells of the template's answers, in lower case.
    """
    query = read_stored(request.template.sql, schema)
    columns = [column for column in schema if column.id in query.columns]
    return await ask(
        "texts/from_sql",
        {
            "sql": request.template.sql,
            "words": [
                (column.id, f"{name_column(column.id, schema)} of a {name_table(column.table, schema)}")
                for column in columns
            ],
            "placeholders": [f"[{name}]" for name in query.placeholders],
            "sentences": criterion.sentences,
            "minimum": criterion.minimum_words,
            "maximum": criterion.maximum_words,
            "form": request.form,
            "circumstance": request.circumstance,
            "opening": request.opening,
            "example": criterion.example.text,
        },
        role="generator",
        row=request.id,
        parse=lambda reply: parse_free_text(reply, query, request.template.sql, schema, criterion, answers),
        sample=request.sample,
        max_tokens=16 + 8 * criterion.maximum_words,
    )


def parse_free_text(
    reply: str,
    query: Query,
    sql: str,
    schema: Sequence[Column],
    criterion: Criterion,
    answers: Collection[str] = (),
) -> str:
    """Parse a reply as a text of free-form SQL. Raises Unparsed with `<reason>: <detail>`."""
    text = " ".join(reply.strip().strip('"`').split())
    found = PLACEHOLDER.findall(text)
    bare = PLACEHOLDER.sub(" ", text)
    if set(found) != {f"[{name}]" for name in query.placeholders} or set(bare) & set("[]"):
        raise Unparsed(f"wrong_placeholders: {', '.join(found) or 'none'}")
    check_length(text, criterion.minimum_words, criterion.maximum_words)
    if not text.isprintable():
        raise Unparsed("code_words: characters that cannot be printed")
    if code := CODE.search(bare):
        raise Unparsed(f"code_words: {code[0]}")
    if invented := _find_invented(bare, sql, criterion):
        raise Unparsed(f"invented_value: {invented}")
    if leaked := find_leak(bare, answers, _list_known(query, schema)):
        raise Unparsed(f"leaks_answer: {leaked}")
    if copied := find_copied(text, criterion.example.texts):
        raise Unparsed(f"copied_example: {copied}")
    return text


def _find_invented(bare: str, sql: str, criterion: Criterion) -> str:
    """Return a number or quoted value that a text invents, or "".

    A number must occur in the SQL, or in the criterion's circumstances or openings. A quoted value must occur
    in the SQL.
    """
    literals = [literal.this for literal in parse_free(sql).find_all(exp.Literal)]
    told = " ".join((*criterion.circumstances, *criterion.openings))
    numbers = {number for text in (*literals, told) for number in NUMBER.findall(text)}
    known = {text.strip("%").lower() for text in literals}
    invented = [number for number in NUMBER.findall(bare) if number not in numbers]
    invented += [value for value in QUOTED.findall(bare) if value.lower() not in known]
    return invented[0] if invented else ""


def list_answers(groups: Iterable[Group]) -> dict[str, set[str]]:
    """Return the text cells of the answers of each SQL template that has groups, in lower case."""
    answers: dict[str, set[str]] = {}
    for group in groups:
        own = answers.setdefault(group.sql_template, set())
        if len(own) >= MOST_ANSWERS:
            continue
        cells = (cell for row in json.loads(group.answer_rows) for cell in row)
        own.update(cell.lower() for cell in cells if isinstance(cell, str) and len(cell) >= LEAST_LEAK)
    return answers


def find_leak(bare: str, answers: Collection[str], known: Collection[str]) -> str:
    """Return an answer that a text contains as whole words, or "".

    Words of the schema (`known`) are ignored.
    """
    said = re.findall(r"\w+", bare.lower())
    phrases = {
        " ".join(said[start : start + size]) for size in range(1, 7) for start in range(len(said) - size + 1)
    }
    return min((phrases & set(answers)) - set(known), default="")


def _list_known(query: Query, schema: Sequence[Column]) -> set[str]:
    names = [*(name_column(name, schema) for name in query.columns)]
    names += [name_table(table, schema) for table in query.tables]
    words = {word for name in names for word in split_words(name)}
    return words | {f"{word}s" for word in words} | {name.lower() for name in names}
