"""Stage: each text is read back. Which of four SQL templates does it ask? A wrong guess drops it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.rows import SqlTemplate, TextTemplate
from tasks.models.ask import Answer, Ask, Unparsed

LETTERS = "ABCD"


class BackCheck(BaseModel):
    """`grammar.back_check` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    choices: int = Field(default=4, ge=2, le=4)
    """SQL templates to choose from, the right one among them."""
    orders: int = Field(default=1, ge=1, le=2)
    """In how many orders the choices are shown; every guess must be right."""
    seed: int = 0


@dataclass(frozen=True)
class Check:
    """One request: a text, and the templates in the order they are shown."""

    text: TextTemplate
    shown: tuple[SqlTemplate, ...]

    @property
    def right(self) -> str:
        """The letter of the template that the text was written from."""
        return next(
            letter
            for letter, each in zip(LETTERS, self.shown, strict=False)
            if each.id == self.text.sql_template
        )


async def back_check(
    text_templates: list[TextTemplate],
    sql_templates: list[SqlTemplate],
    schema: list[Column],
    params: BackCheck,
    ask: Ask,
) -> Drafts[TextTemplate]:
    """Keep the texts from which the model finds their SQL template among its likest neighbours.

    With a single template there is nothing to tell it from: its texts are dropped as `unchecked`.
    """
    queries = {each.id: read_template(each.sql, schema) for each in sql_templates}
    templates = {each.id: each for each in sql_templates}
    rivals = {name: find_rivals(name, queries, params.choices - 1) for name in queries}
    checks = {
        text.id: [
            show_choices(text, templates, rivals[text.sql_template], params.seed, turn)
            for turn in range(params.orders)
        ]
        for text in text_templates
        if rivals[text.sql_template]
    }
    asked = [check for each in checks.values() for check in each]
    answers: defaultdict[str, list[Answer[str]]] = defaultdict(list)
    for check, answer in zip(
        asked, await asyncio.gather(*(_ask_about(each, schema, ask) for each in asked)), strict=True
    ):
        answers[check.text.id].append(answer)
    outcomes = [_judge(text, checks.get(text.id, []), answers[text.id]) for text in text_templates]
    return Drafts(
        [each for each in outcomes if isinstance(each, TextTemplate)],
        [each for each in outcomes if isinstance(each, Dropped)],
    )


def find_rivals(name: str, queries: Mapping[str, Query], count: int) -> list[str]:
    """Find the templates most like one: by shared columns and joins, ties by id.

    Those with the same placeholders come first: from the others, the text's placeholders tell it already.
    """
    own = queries[name]
    features = _features(own)

    def rank(other: str) -> tuple[bool, float, str]:
        query = queries[other]
        return (query.placeholders != own.placeholders, -_overlap(features, _features(query)), other)

    return sorted((each for each in queries if each != name), key=rank)[:count]


def show_choices(
    text: TextTemplate, templates: Mapping[str, SqlTemplate], rivals: Sequence[str], seed: int, turn: int
) -> Check:
    """Put the right template among its rivals in a seeded order; the second turn reverses it."""
    order = sorted([text.sql_template, *rivals], key=lambda each: make_id(seed, text.id, each))
    return Check(text, tuple(templates[each] for each in (order if turn == 0 else order[::-1])))


async def _ask_about(check: Check, schema: Sequence[Column], ask: Ask) -> Answer[str]:
    letters = LETTERS[: len(check.shown)]
    tables = sorted({table for each in check.shown for table in each.tables})
    return await ask(
        "back_check",
        {
            "text": check.text.text,
            "tables": [{"name": t, "columns": [c.name for c in schema if c.table == t]} for t in tables],
            "choices": list(zip(letters, (each.sql for each in check.shown), strict=True)),
        },
        role="judge",
        row=check.text.id,
        parse=lambda text: parse_letter(text, letters),
        grammar=f"root ::= [{letters}]",
        max_tokens=4,
    )


def parse_letter(text: str, letters: str) -> str:
    """Read one letter, strictly. Raises Unparsed."""
    letter = text.strip().rstrip(".)").upper()
    if len(letter) != 1 or letter not in letters:
        raise Unparsed(f"no_letter: none of {letters}")
    return letter


def _judge(
    text: TextTemplate, checks: Sequence[Check], answers: Sequence[Answer[str]]
) -> TextTemplate | Dropped:
    calls = tuple(Origin("call", each.call) for each in answers)
    origin = (
        Origin("row", f"text_templates#{text.id}"),
        Origin("row", f"sql_templates#{text.sql_template}"),
        *calls,
    )
    if not checks:
        return Dropped(text.id, "unchecked", "there is no other SQL template to tell it from", origin)
    for check, answer in zip(checks, answers, strict=True):
        if answer.value is None:
            return Dropped(text.id, "no_verdict", answer.text, origin)
        if answer.value != check.right:
            guess = check.shown[LETTERS.index(answer.value)].sql
            return Dropped(text.id, "misread", f"{text.text} -- was read as: {guess}", origin)
    return TextTemplate(text.id, text.sql_template, text.criterion, text.text, origin)


def _features(query: Query) -> frozenset[tuple[str, ...]]:
    return frozenset(
        [("asked", each) for each in query.projection]
        + [("given", each) for each in query.placeholders]
        + [("join", *pair) for pair in query.joins]
        + [("table", each) for each in query.tables]
    )


def _overlap(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Jaccard similarity, 0 to 1."""
    return round(len(one & other) / len(one | other), 6)
