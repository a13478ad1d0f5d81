"""Stage: every SQL template worded as questions, under each linguistic criterion (section 4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.text_grammar import write_text_grammar
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import Gloss, gloss_query
from tasks.grammar.rows import SqlTemplate, TextTemplate
from tasks.models.ask import Answer, Ask

SLACK = 4
"""Words by which decoding may pass the maximum: held right at it, a model glues words together."""


class Criterion(BaseModel):
    """A linguistic criterion: the prompt that asks for it and what is checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str
    """A file's stem in tasks/grammar/prompts/. Its fields: sql, wanted, given, minimum, maximum."""
    minimum_words: int = Field(default=1, ge=1)
    maximum_words: int = Field(default=80, ge=1)
    sentences: bool = False
    """Whole sentences that end in one question; else a fragment."""
    samples: int = Field(ge=1)
    """Texts that are asked for per SQL template."""


class TextTemplates(BaseModel):
    """`grammar.text_templates` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    criteria: Mapping[str, Criterion]


@dataclass(frozen=True)
class Wish:
    """One request: a SQL template to be worded under a criterion, for the sample-th time."""

    id: str
    template: SqlTemplate
    criterion: str
    sample: int


async def text_templates(
    sql_templates: list[SqlTemplate], schema: list[Column], params: TextTemplates, ask: Ask
) -> Drafts[TextTemplate]:
    """Write every SQL template out as questions, once per criterion and sample (GRAMMAR, section 4.1)."""
    wishes = [
        Wish(make_id("text", template.id, name, sample), template, name, sample)
        for template in sql_templates
        for name, criterion in params.criteria.items()
        for sample in range(criterion.samples)
    ]
    answers = await asyncio.gather(
        *(_word(wish, schema, params.criteria[wish.criterion], ask) for wish in wishes)
    )
    kept: dict[str, TextTemplate] = {}
    dropped: list[Dropped] = []
    for wish, answer in zip(wishes, answers, strict=True):
        _sort_answer(wish, answer, kept, dropped)
    return Drafts(list(kept.values()), dropped)


async def _word(wish: Wish, schema: Sequence[Column], criterion: Criterion, ask: Ask) -> Answer[str]:
    query = read_template(wish.template.sql, schema)
    gloss = gloss_query(query, schema)
    minimum, maximum = criterion.minimum_words, criterion.maximum_words
    return await ask(
        criterion.prompt,
        make_fields(wish.template.sql, gloss, minimum, maximum),
        role="generator",
        row=wish.id,
        parse=lambda text: parse_text(text, query, gloss, schema, minimum, maximum),
        grammar=write_text_grammar(gloss.ways, minimum, maximum + SLACK, criterion.sentences),
        sample=wish.sample,
        max_tokens=16 + 8 * maximum,
    )


def make_fields(sql: str, gloss: Gloss, minimum: int, maximum: int) -> dict[str, object]:
    """Give what a criterion's prompt may show: the template and what it asks in plain words."""
    return {
        "sql": sql,
        "wanted": gloss.wanted,
        "given": gloss.given,
        "minimum": minimum,
        "maximum": maximum,
    }


def _sort_answer(
    wish: Wish, answer: Answer[str], kept: dict[str, TextTemplate], dropped: list[Dropped]
) -> None:
    origin = (Origin("call", answer.call), Origin("row", f"sql_templates#{wish.template.id}"))
    if answer.value is None:
        reason, _, detail = answer.problem.partition(": ")
        dropped.append(Dropped(wish.id, reason, f"{wish.criterion}: {detail}: {answer.text}", origin))
        return
    # The same words under another criterion would be the same question twice.
    text = make_id("text_template", wish.template.id, " ".join(answer.value.lower().split()).rstrip(".?"))
    if text in kept:
        dropped.append(Dropped(wish.id, "duplicate", f"{wish.criterion}: of {text}", origin))
        return
    kept[text] = TextTemplate(text, wish.template.id, wish.criterion, answer.value, origin)
