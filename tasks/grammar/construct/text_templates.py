"""Stage: have a model word every SQL template as questions, per linguistic criterion (section 4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.text_grammar import write_text_grammar
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, verbalise_query
from tasks.grammar.rows import OwnTemplate, SqlTemplate, TextTemplate
from tasks.models.ask import Answer, Ask

SLACK = 4
"""Words by which decoding may exceed the maximum: a model held right at it joins words together."""


class Criterion(BaseModel):
    """A linguistic criterion: its prompt, and the limits that its texts are checked against."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str
    """A file's stem in tasks/grammar/prompts/. Its fields: sql, wanted, given, minimum, maximum."""
    minimum_words: int = Field(default=1, ge=1)
    maximum_words: int = Field(default=80, ge=1)
    sentences: bool = False
    """Ask for one question and a sentence that says why; else for a fragment."""
    samples: int = Field(ge=1)
    """Number of texts to ask for per SQL template."""


class TextTemplates(BaseModel):
    """`grammar.text_templates` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    criteria: Mapping[str, Criterion]


@dataclass(frozen=True)
class TextRequest:
    """One request: word a SQL template under a criterion; `sample` numbers the repetitions."""

    id: str
    template: SqlTemplate
    criterion: str
    sample: int


async def text_templates(
    sql_templates: list[SqlTemplate],
    own_templates: list[OwnTemplate],
    schema: list[Column],
    params: TextTemplates,
    ask: Ask,
) -> Drafts[TextTemplate]:
    """Word every SQL template as questions, once per criterion and sample (GRAMMAR, section 4.1).

    A person's texts come first: the model is asked only under criteria for which a SQL template has none of
    them, and not at all where they stand instead of a model's. Drop reasons: those of `text_rules`, and
    `duplicate`.
    """
    kept = {text.id: text for own in own_templates for text in _list_own_texts(own)}
    if any(own.instead for own in own_templates):
        return Drafts(list(kept.values()))
    worded = {(text.sql_template, text.criterion) for text in kept.values()}
    requests = [
        TextRequest(make_id("text", template.id, name, sample), template, name, sample)
        for template in sql_templates
        for name, criterion in params.criteria.items()
        if (template.id, name) not in worded
        for sample in range(criterion.samples)
    ]
    answers = await asyncio.gather(
        *(_ask_text(request, schema, params.criteria[request.criterion], ask) for request in requests)
    )
    dropped: list[Dropped] = []
    for request, answer in zip(requests, answers, strict=True):
        _sort_answer(request, answer, kept, dropped)
    return Drafts(list(kept.values()), dropped)


def make_text_id(template: str, text: str) -> str:
    """Hash a text under its SQL template, whatever its case, spaces and last stop.

    The criterion is not hashed: the same text under another criterion would be the same question twice.
    """
    return make_id("text_template", template, " ".join(text.lower().split()).rstrip(".?"))


def _list_own_texts(own: OwnTemplate) -> Iterator[TextTemplate]:
    origin = (Origin("row", f"own_templates#{own.id}"), Origin("row", f"sql_templates#{own.id}"))
    for text in own.texts:
        yield TextTemplate(make_text_id(own.id, text.text), own.id, text.criterion, text.text, origin)


async def _ask_text(
    request: TextRequest, schema: Sequence[Column], criterion: Criterion, ask: Ask
) -> Answer[str]:
    query = read_template(request.template.sql, schema)
    verbalisation = verbalise_query(query, schema)
    minimum, maximum = criterion.minimum_words, criterion.maximum_words
    return await ask(
        criterion.prompt,
        make_fields(request.template.sql, verbalisation, minimum, maximum),
        role="generator",
        row=request.id,
        parse=lambda text: parse_text(text, query, verbalisation, schema, minimum, maximum),
        grammar=write_text_grammar(verbalisation.phrases, minimum, maximum + SLACK, criterion.sentences),
        sample=request.sample,
        max_tokens=16 + 8 * maximum,
    )


def make_fields(sql: str, verbalisation: Verbalisation, minimum: int, maximum: int) -> dict[str, object]:
    """Make the fields of a criterion's prompt: the template, its verbalisation and the number of words."""
    return {
        "sql": sql,
        "wanted": verbalisation.wanted,
        "given": verbalisation.given,
        "minimum": minimum,
        "maximum": maximum,
    }


def _sort_answer(
    request: TextRequest, answer: Answer[str], kept: dict[str, TextTemplate], dropped: list[Dropped]
) -> None:
    template, criterion = request.template.id, request.criterion
    origin = (Origin("call", answer.call), Origin("row", f"sql_templates#{template}"))
    if answer.value is None:
        reason, _, detail = answer.problem.partition(": ")
        dropped.append(Dropped(request.id, reason, f"{criterion}: {detail}: {answer.text}", origin))
        return
    text_id = make_text_id(template, answer.value)
    if text_id in kept:
        dropped.append(Dropped(request.id, "duplicate", f"{criterion}: of {text_id}", origin))
        return
    kept[text_id] = TextTemplate(text_id, template, criterion, answer.value, origin)
