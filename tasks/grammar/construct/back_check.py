"""Stage: check that a model can pick each text's SQL template from several similar templates."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id, split_outcomes
from tasks.databases.columns import Column
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.sql_templates import OwnTemplate, SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.settings import Settings

LETTERS = "ABCD"
"""The letters of the choices in a request."""


class BackCheck(Settings):
    """The settings in params.yaml under `grammar.back_check`."""

    choices: int = Field(default=4, ge=2, le=4)
    """The number of SQL templates to choose from per text, including the correct one."""
    orders: int = Field(default=1, ge=1, le=2)
    """The number of orders in which the choices are shown. In each order, the model must pick the right
    choice."""
    seed: int = 0
    """The seed for the order of the choices."""


@dataclass(frozen=True)
class BackCheckRequest:
    """A multiple-choice request: a text, and the SQL templates in the order of the prompt."""

    text: TextTemplate
    choices: tuple[SqlTemplate, ...]

    @property
    def answer(self) -> str:
        """The letter of the template that the text was written from."""
        return next(
            letter
            for letter, template in zip(LETTERS, self.choices, strict=False)
            if template.id == self.text.sql_template
        )


async def back_check(
    text_templates: list[TextTemplate],
    sql_templates: list[SqlTemplate],
    own_templates: list[OwnTemplate],
    schema: list[Column],
    params: BackCheck,
    ask: Ask,
) -> Drafts[TextTemplate]:
    """Keep the texts for which the model picks the right SQL template among the most similar templates.

    If user-written templates replace the model's templates, user-written texts are kept without a check. Drop
    reasons are `misread` (the model picked another template), `no_verdict` (the reply did not parse) and
    `unchecked` (there is no other template to choose from).
    """
    if any(template.instead for template in own_templates):
        return Drafts([replace(text, origin=_list_rows(text)) for text in text_templates])
    queries = {template.id: read_stored(template.sql, schema) for template in sql_templates}
    templates = {template.id: template for template in sql_templates}
    distractors = {name: find_distractors(name, queries, params.choices - 1) for name in queries}
    requests = [
        order_choices(text, templates, distractors[text.sql_template], params.seed, turn)
        for text in text_templates
        if distractors[text.sql_template]
        for turn in range(params.orders)
    ]
    answers = await asyncio.gather(*(_ask_template(request, schema, ask) for request in requests))
    replies: defaultdict[str, list[tuple[BackCheckRequest, Answer[str]]]] = defaultdict(list)
    for request, answer in zip(requests, answers, strict=True):
        replies[request.text.id].append((request, answer))
    outcomes = [_evaluate_replies(text, replies[text.id]) for text in text_templates]
    return split_outcomes(outcomes)


def find_distractors(name: str, queries: Mapping[str, Query], count: int) -> list[str]:
    """Return the ids of the `count` templates that share the most columns and joins with a template.

    Templates with the same placeholders come first, because a text's placeholders rule out all other
    templates. Ties are sorted by id.
    """
    own = queries[name]
    features = _features(own)

    def rank(other: str) -> tuple[bool, float, str]:
        query = queries[other]
        return (query.placeholders != own.placeholders, -_overlap(features, _features(query)), other)

    return sorted((candidate for candidate in queries if candidate != name), key=rank)[:count]


def order_choices(
    text: TextTemplate, templates: Mapping[str, SqlTemplate], distractors: Sequence[str], seed: int, turn: int
) -> BackCheckRequest:
    """Return a request that lists the right template and the distractors in a seeded order.

    For `turn` 1, the order is reversed.
    """
    order = sorted([text.sql_template, *distractors], key=lambda name: make_id(seed, text.id, name))
    return BackCheckRequest(text, tuple(templates[name] for name in (order if turn == 0 else order[::-1])))


async def _ask_template(request: BackCheckRequest, schema: Sequence[Column], ask: Ask) -> Answer[str]:
    letters = LETTERS[: len(request.choices)]
    tables = {table for template in request.choices for table in template.tables}
    return await ask(
        "back_check",
        {
            "text": request.text.text,
            "words": [
                (column.id, column.words) for column in schema if column.words and column.table in tables
            ],
            "choices": list(zip(letters, (template.sql for template in request.choices), strict=True)),
        },
        role="reader",
        row=request.text.id,
        parse=lambda text: parse_letter(text, letters),
        grammar=f"root ::= [{letters}]",
        max_tokens=4,
    )


def parse_letter(text: str, letters: str) -> str:
    """Parse a reply that must be one of the letters. Raises Unparsed."""
    letter = text.strip().rstrip(".)").upper()
    if len(letter) != 1 or letter not in letters:
        raise Unparsed(f"no_letter: expected one of the letters {', '.join(letters)}")
    return letter


def _evaluate_replies(
    text: TextTemplate, replies: Sequence[tuple[BackCheckRequest, Answer[str]]]
) -> TextTemplate | Dropped:
    calls = tuple(Origin("call", answer.call) for _, answer in replies)
    origin = (*_list_rows(text), *calls)
    if not replies:
        return Dropped(text.id, "unchecked", "there is no other SQL template to choose from", origin)
    for request, answer in replies:
        if answer.value is None:
            return Dropped(text.id, "no_verdict", answer.text, origin)
        if answer.value != request.answer:
            guess = request.choices[LETTERS.index(answer.value)].sql
            return Dropped(text.id, "misread", f"{text.text} -- the model picked: {guess}", origin)
    return TextTemplate(text.id, text.sql_template, text.criterion, text.text, origin)


def _list_rows(text: TextTemplate) -> tuple[Origin, ...]:
    return Origin("row", f"text_templates#{text.id}"), Origin("row", f"sql_templates#{text.sql_template}")


def _features(query: Query) -> frozenset[tuple[str, ...]]:
    return frozenset(
        [("asked", column) for column in query.projection]
        + [("given", column) for column in query.placeholders]
        + [("join", *pair) for pair in query.joins]
        + [("table", table) for table in query.tables]
    )


def _overlap(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Return the Jaccard similarity of two sets, 0 to 1."""
    return round(len(one & other) / len(one | other), 6)
