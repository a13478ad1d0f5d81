"""Stage: a model phrases SQL templates as questions, per linguistic criterion (GRAMMAR, section 4.1).

With constrained decoding, the model picks one of the wordings that the stage composes, because a small
model's own question seldom has the same meaning as the SQL. If the model's role has `constrain: none`, the
model writes the question freely. The same rules apply in both cases.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.free_reading import read_stored
from tasks.grammar.construct.free_texts import ask_free_text, list_answers, list_free_requests
from tasks.grammar.construct.queries import FreeQuery
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import (
    CONSTRAIN,
    FREE,
    SHAPE,
    OwnTemplate,
    SqlTemplate,
    is_by_person,
)
from tasks.grammar.construct.style_rules import list_long_sentences
from tasks.grammar.construct.text_requests import (
    Criterion,
    TextRequest,
    TextTemplates,
    compose_offers,
    list_requests,
    make_text_id,
    parse_reply,
)
from tasks.grammar.construct.verbalisation import Verbalisation, verbalise_query
from tasks.models.ask import Answer, Ask, Unparsed

SLACK = 4
"""The number of words that a model may generate beyond the maximum.

If decoding stops exactly at the maximum, models run several words together.
"""
OPENINGS = ("What", "Which", "Who", "When", "How", "Where", "In which")
"""The first words that a full question may have."""
ASKING = ("what", "which", "who", "when", "how", "where")
"""The first words that a fragment of the form `asking` may have."""
TURNS = (" and ", ", and ", " because ", ", so ", " where ", " while ")
"""The conjunctions between the given circumstance and the model's continuation."""
GOES_ON = (4, 11)
"""The minimum and maximum number of words that the model adds to the circumstance."""


@dataclass(frozen=True)
class TextTemplate:
    """A text that asks a SQL template's question, with the same placeholders."""

    id: str
    sql_template: str
    criterion: str
    text: str
    origin: tuple[Origin, ...]
    reading: str = ""
    """The outcome of the second reading: `same`; empty if there is no second reading.

    A user-written text that fails the second reading has the outcome `<reason>: <detail>`.
    """


async def text_templates(
    sql_templates: list[SqlTemplate],
    own_templates: list[OwnTemplate],
    fill_in: Iterable[Group],
    schema: list[Column],
    settings: Mapping[str, object],
    params: TextTemplates,
    ask: Ask,
) -> Drafts[TextTemplate]:
    """Phrase every SQL template as questions, once per criterion and sample (GRAMMAR, section 4.1).

    Texts written by people come first in the result. The model writes a text only if no person wrote a text
    for the SQL template and criterion. The model writes no text if user-written templates replace
    model-written templates. With `dialect: any`, the model phrases SQL of every shape, including user-written
    SQL, under the rules of `free_texts`. `settings` contains the settings of the generator and the dialect,
    by dotted name. Drop reasons are the reasons of `text_rules` and `style_rules`, and the following:

    - `fits_other`: the text also fits another query that the schema allows;
    - `duplicate`: the text already exists;
    - `no_groups`: the fill-in found no values for the SQL template, so the model gets no request;
    - `no_wording`: no unused wording satisfies the rules;
    - `own_texts_only`: a person wrote SQL of a shape for which no rule can check texts.
    """
    kept = {text.id: text for template in own_templates for text in _list_own_texts(template)}
    if any(template.instead for template in own_templates):
        return Drafts(list(kept.values()))
    anyhow = settings.get(CONSTRAIN) in FREE and settings.get(SHAPE) == "any"
    found = list_answers(fill_in) if anyhow else {group.sql_template: set() for group in fill_in}
    asked_of = set(found)
    dropped = [
        Dropped(
            make_id("no_groups", template.id),
            "no_groups",
            template.sql,
            (Origin("row", f"sql_templates#{template.id}"),),
        )
        for template in sql_templates
        if template.id not in asked_of
    ]
    asked_of -= (free := set() if anyhow else _list_free(sql_templates, schema))
    dropped += [
        Dropped(
            make_id("own_texts_only", template.id),
            "own_texts_only",
            f"a model cannot write further texts for SQL of this shape: {template.sql}",
            (Origin("row", f"sql_templates#{template.id}"),),
        )
        for template in sql_templates
        if template.id in free
    ]
    worded = {(text.sql_template, text.criterion) for text in kept.values()}
    requests = [
        request
        for name, criterion in params.criteria.items()
        for request in (list_free_requests if anyhow else list_requests)(
            name,
            criterion,
            [
                template
                for template in sql_templates
                if template.id in asked_of and (template.id, name) not in worded
            ],
        )
    ]
    if anyhow:
        asking = [
            ask_free_text(
                request, schema, params.criteria[request.criterion], found[request.template.id], ask
            )
            for request in requests
        ]
    elif settings.get(CONSTRAIN) in FREE:
        asking = [_ask_text(request, schema, params.criteria[request.criterion], ask) for request in requests]
    else:
        offers = compose_offers(requests, schema, params.criteria)
        dropped += [_drop_unworded(request) for request, wordings in offers if not wordings]
        offers = [offer for offer in offers if offer.wordings]
        requests = [offer.request for offer in offers]
        asking = [_ask_choice(*offer, schema, ask) for offer in offers]
    answers = await asyncio.gather(*asking)
    told: defaultdict[str, set[str]] = defaultdict(set)
    for text in kept.values():
        told[text.criterion].update(list_long_sentences(text.text))
    for request, answer in zip(requests, answers, strict=True):
        _sort_answer(request, answer, kept, told[request.criterion], dropped)
    return Drafts(list(kept.values()), dropped)


def _list_free(sql_templates: Iterable[SqlTemplate], schema: Sequence[Column]) -> set[str]:
    """Return the ids of user-written templates whose SQL has a shape for which no rule can check a text."""
    own = [template for template in sql_templates if is_by_person(template)]
    return {template.id for template in own if isinstance(read_stored(template.sql, schema), FreeQuery)}


def _list_own_texts(own: OwnTemplate) -> Iterator[TextTemplate]:
    origin = (Origin("row", f"own_templates#{own.id}"), Origin("row", f"sql_templates#{own.id}"))
    seen: set[str] = set()
    for text in own.texts:
        # A person may use the same text under two criteria: the second occurrence gets a separate id.
        name = make_text_id(own.id, text.text)
        if name in seen:
            name = make_id("text_template", name, text.criterion)
        seen.add(name)
        yield TextTemplate(name, own.id, text.criterion, text.text, origin)


async def _ask_choice(
    request: TextRequest, wordings: Sequence[str], schema: Sequence[Column], ask: Ask
) -> Answer[str]:
    verbalisation = verbalise_query(read_template(request.template.sql, schema), schema)
    lead = (
        f"{request.circumstance} {request.reason}. " if wordings[0].startswith(request.circumstance) else ""
    )
    questions = [text.removeprefix(lead) for text in wordings]

    def parse(reply: str) -> str:
        text = " ".join(reply.split())
        if text not in questions:
            raise Unparsed(f"no_wording: expected one of the {len(questions)} wordings offered")
        return lead + text

    return await ask(
        "texts/choice",
        {
            "wanted": verbalisation.wanted,
            "given": verbalisation.given,
            "sentences": bool(lead),
            "lead": lead.strip(),
        },
        role="generator",
        row=request.id,
        parse=parse,
        grammar="root ::= " + " | ".join(json.dumps(text, ensure_ascii=False) for text in questions),
        sample=request.sample,
        max_tokens=256,
    )


def _drop_unworded(request: TextRequest) -> Dropped:
    detail = f"{request.criterion}: no other wording passed the checks: {request.template.sql}"
    return Dropped(request.id, "no_wording", detail, (Origin("row", f"sql_templates#{request.template.id}"),))


async def _ask_text(
    request: TextRequest, schema: Sequence[Column], criterion: Criterion, ask: Ask
) -> Answer[str]:
    query = read_template(request.template.sql, schema)
    verbalisation = verbalise_query(query, schema)
    return await ask(
        criterion.prompt,
        make_fields(request, verbalisation, criterion),
        role="generator",
        row=request.id,
        parse=lambda text: parse_reply(text, query, verbalisation, schema, criterion),
        grammar=write_grammar(request, verbalisation, criterion),
        sample=request.sample,
        max_tokens=16 + 8 * criterion.maximum_words,
    )


def write_grammar(request: TextRequest, verbalisation: Verbalisation, criterion: Criterion) -> str:
    """Write the decoding grammar of a request's reply."""
    minimum, maximum = criterion.minimum_words, criterion.maximum_words + SLACK
    letters = "".join(sorted({c for c in "".join(verbalisation.wanted) if c.isalpha() and not c.isascii()}))
    phrases = verbalisation.phrases
    if not criterion.sentences:
        return write_text_grammar(phrases, minimum, maximum, request.form, letters)
    opening = request.opening
    return write_message_grammar(phrases, minimum, maximum, request.circumstance, opening, letters)


def make_fields(
    request: TextRequest, verbalisation: Verbalisation, criterion: Criterion
) -> dict[str, object]:
    """Return the fields of a criterion's prompt."""
    return {
        "sql": request.template.sql,
        "wanted": verbalisation.wanted,
        "given": verbalisation.given,
        "minimum": criterion.minimum_words,
        "maximum": criterion.maximum_words,
        "form": request.form,
        "circumstance": request.circumstance,
        "opening": request.opening,
        "example": criterion.example,
    }


def _sort_answer(
    request: TextRequest,
    answer: Answer[str],
    kept: dict[str, TextTemplate],
    told: set[str],
    dropped: list[Dropped],
) -> None:
    template, criterion = request.template.id, request.criterion
    origin = (Origin("call", answer.call), Origin("row", f"sql_templates#{template}"))
    if answer.value is None:
        reason, _, detail = answer.problem.partition(": ")
        dropped.append(Dropped(request.id, reason, f"{criterion}: {detail}: {answer.text}", origin))
        return
    text_id = make_text_id(template, answer.value)
    if text_id in kept:
        dropped.append(Dropped(request.id, "duplicate", f"{criterion}: same text as {text_id}", origin))
        return
    sentences = list_long_sentences(answer.value)
    if shared := told.intersection(sentences):
        detail = f"{criterion}: {min(shared)}: {answer.value}"
        dropped.append(Dropped(request.id, "shared_sentence", detail, origin))
        return
    told.update(sentences)
    kept[text_id] = TextTemplate(text_id, template, criterion, answer.value, origin)


def write_text_grammar(
    phrases: Sequence[Sequence[str]], minimum: int, maximum: int, form: str = "", letters: str = ""
) -> str:
    """Write the decoding grammar of a fragment, as a state machine that counts words and placeholders.

    `phrases` contains the allowed phrases for each placeholder, such as `the film [films.title]`, so that the
    text names the kind of entity. Each phrase counts as one word. Outside the phrases, digits, brackets,
    quotes and underscores are not allowed. `form` sets how the fragment begins: `given` with a placeholder,
    `wanted` with a word, `asking` with a question word. `letters` contains the non-ASCII letters that words
    may contain.
    """
    maximum -= _count_further(phrases)
    marks, rules = _write_marks(phrases, letters)
    start = _write_step(0, 0, "", marks, maximum)
    if form == "given":
        start = " | ".join(step for step in start.split(" | ") if not step.startswith("word"))
    elif form == "wanted":
        start = "word s0x1"
    elif form == "asking":
        start = " | ".join(f'"{word}" s0x1' for word in ASKING)
    rules.append(f"root ::= {start}")
    return "\n".join([*rules, *_write_states(marks, minimum, maximum, "end"), 'end ::= ("." | "?")?'])


def write_message_grammar(
    phrases: Sequence[Sequence[str]],
    minimum: int,
    maximum: int,
    circumstance: str,
    opening: str,
    letters: str = "",
) -> str:
    """Write the decoding grammar of two sentences: the circumstance with a few more words, and the question.

    Only the question, the last sentence, can contain placeholders, so the text asks nothing else. `opening`
    contains the question's first words; if `opening` is empty, the model chooses a question word. For
    `phrases` and `letters`, see `write_text_grammar`.
    """
    marks, rules = _write_marks(phrases, letters)
    given = len(circumstance.split())
    # The 1 stands for the conjunction between the circumstance and the model's words.
    least = max(minimum - given - GOES_ON[0] - 1, 5)
    most = max(maximum - given - GOES_ON[1] - 1 - _count_further(phrases), least + len(marks) + 4)
    openings = (opening,) if opening else OPENINGS
    turns = " | ".join(json.dumps(turn) for turn in TURNS)
    rules += [
        f"turn ::= {turns}",
        f"root ::= {json.dumps(circumstance, ensure_ascii=False)} turn word "
        f'(" " word){{{GOES_ON[0] - 1},{GOES_ON[1] - 1}}} ". " ask',
        "ask ::= " + " | ".join(f'"{words} " word s0x{len(words.split()) + 1}' for words in openings),
        *_write_states(marks, least, most, "end"),
        'end ::= "?"',
    ]
    return "\n".join(rules)


def _write_marks(phrases: Sequence[Sequence[str]], letters: str) -> tuple[list[str], list[str]]:
    marks = [f"m{index}" for index in range(len(phrases))]
    rules = [f'word ::= [A-Za-z{letters}] [a-z{letters}]{{0,13}} ("\'s")?', 'gap ::= ","? " "']
    for mark, group in zip(marks, phrases, strict=True):
        rules.append(f"{mark} ::= {' | '.join(json.dumps(phrase, ensure_ascii=False) for phrase in group)}")
    return marks, rules


def _count_further(phrases: Sequence[Sequence[str]]) -> int:
    """Return the maximum number of a text's words that the grammar does not count.

    These words are in phrases, because the grammar counts each phrase as one word.
    """
    return max(len(phrase.split()) - 1 for group in phrases for phrase in group) * len(phrases)


def _write_states(marks: Sequence[str], minimum: int, maximum: int, end: str) -> list[str]:
    """Write one grammar rule per state.

    A state is the set of written placeholders, and the number of written words. The text may end in a state
    with all placeholders and at least `minimum` words.
    """
    every = (1 << len(marks)) - 1
    rules = []
    for count in range(1, maximum + 1):
        for seen in range(every + 1):
            if maximum - count < len(marks) - seen.bit_count():
                continue
            choices = [_write_step(seen, count, "gap ", marks, maximum)]
            if seen == every and count >= minimum:
                choices.append(end)
            if any(choices):
                rules.append(f"s{seen}x{count} ::= {' | '.join(choice for choice in choices if choice)}")
    return rules


def _write_step(seen: int, count: int, gap: str, marks: Sequence[str], maximum: int) -> str:
    """Write the alternatives that may come next in a state.

    The alternatives are each missing placeholder, and a word if all missing placeholders still fit after the
    word. `seen` is the bit set of written placeholders, and `count` is the number of written words.
    """
    missing = [index for index in range(len(marks)) if not seen >> index & 1]
    steps = [f"{gap}word s{seen}x{count + 1}"] if maximum - count - 1 >= len(missing) else []
    if count < maximum:
        steps += [f'{gap}{marks[index]} ("\'s")? s{seen | 1 << index}x{count + 1}' for index in missing]
    return " | ".join(steps)
