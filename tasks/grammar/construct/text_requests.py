"""Requests for texts: the form, circumstance, reason and opening of each, and the wordings that it offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import NamedTuple

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.ambiguity import find_rival
from tasks.grammar.construct.phrasing import list_wordings
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.style_rules import check_style, find_copied
from tasks.grammar.construct.text_criteria import Criterion
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, verbalise_query
from tasks.models.ask import Unparsed

TRIES = 8
"""So many frames a request without a wording goes on to; a frame that it has tried is no other request's."""


@dataclass(frozen=True)
class TextRequest:
    """One request: word a SQL template under a criterion; `sample` numbers the repetitions."""

    id: str
    template: SqlTemplate
    criterion: str
    sample: int
    form: str = ""
    circumstance: str = ""
    reason: str = ""
    opening: str = ""


class Frame(NamedTuple):
    """What a text is dressed in: the form of a fragment; who asks, why, and how the question begins."""

    form: str
    circumstance: str
    reason: str
    opening: str


class Offer(NamedTuple):
    """A request and the wordings that its model may pick from; none where none keeps the rules."""

    request: TextRequest
    wordings: tuple[str, ...]


def list_requests(name: str, criterion: Criterion, templates: Sequence[SqlTemplate]) -> list[TextRequest]:
    """List a criterion's requests: forms in turn, circumstances and openings in seeded orders.

    No pair of them comes again before all have been.
    """
    pairs = ((template, sample) for template in templates for sample in range(criterion.samples))
    return [
        TextRequest(make_id("text", template.id, name, sample), template, name, sample, *frame)
        for (template, sample), frame in zip(pairs, list_frames(name, criterion), strict=False)
    ]


def list_frames(name: str, criterion: Criterion, start: int = 0) -> Iterator[Frame]:
    """List the frames of one request after the other, without end."""
    circumstances, reasons, openings = (
        sorted(texts, key=lambda text: make_id(criterion.seed, name, text))
        for texts in (criterion.circumstances, criterion.reasons, criterion.openings)
    )
    for number in count(start):
        turn, place = divmod(number, len(circumstances))
        yield Frame(
            criterion.forms[number % len(criterion.forms)],
            circumstances[place],
            reasons[(turn + place) % len(reasons)],
            openings[(turn + place) % len(openings)],
        )


def make_text_id(template: str, text: str) -> str:
    """Hash a text under its SQL template, whatever its case, spaces and last stop.

    The criterion is not hashed: the same text under another criterion would be the same question twice.
    """
    return make_id("text_template", template, " ".join(text.lower().split()).rstrip(".?"))


def compose_offers(
    requests: Sequence[TextRequest], schema: Sequence[Column], criteria: Mapping[str, Criterion]
) -> list[Offer]:
    """Compose the wordings that each request offers: such as keep the rules, and none in two requests.

    A request that has none left goes on with the forms, circumstances and openings that nobody has taken.
    """
    taken: set[str] = set()
    offers = [_compose_offer(request, schema, criteria[request.criterion], taken) for request in requests]
    numbers = Counter(request.criterion for request in requests)
    spare = {name: list_frames(name, criteria[name], number) for name, number in numbers.items()}
    for place, offer in enumerate(offers):
        name = offer.request.criterion
        for frame in islice(spare[name], 0 if offer.wordings else TRIES):
            request = replace(offer.request, **frame._asdict())
            offers[place] = _compose_offer(request, schema, criteria[name], taken)
            if offers[place].wordings:
                break
    return offers


def _compose_offer(
    request: TextRequest, schema: Sequence[Column], criterion: Criterion, taken: set[str]
) -> Offer:
    query = read_template(request.template.sql, schema)
    verbalisation = verbalise_query(query, schema)
    circumstance = f"{request.circumstance} {request.reason}." if criterion.sentences else ""
    wordings = list_wordings(query, schema, request.form, circumstance, request.opening)
    wordings.sort(key=lambda text: make_id(criterion.seed, request.id, text))
    offered: list[str] = []
    for text in wordings:
        if len(offered) == criterion.wordings:
            break
        key = make_text_id(request.template.id, text)
        if key not in taken and _keeps_rules(text, query, verbalisation, schema, criterion):
            taken.add(key)
            offered.append(text)
    return Offer(request, tuple(offered))


def _keeps_rules(
    text: str, query: Query, verbalisation: Verbalisation, schema: Sequence[Column], criterion: Criterion
) -> bool:
    try:
        parse_reply(text, query, verbalisation, schema, criterion)
    except Unparsed:
        return False
    return True


def parse_reply(
    reply: str, query: Query, verbalisation: Verbalisation, schema: Sequence[Column], criterion: Criterion
) -> str:
    """Parse a model's reply as a text that keeps every rule. Raises Unparsed: `<reason>: <detail>`."""
    minimum, maximum = criterion.minimum_words, criterion.maximum_words
    text = parse_text(reply, query, verbalisation, schema, minimum, maximum)
    check_style(text, schema, sentences=criterion.sentences)
    if copied := find_copied(text, criterion.example.texts):
        raise Unparsed(f"copied_example: {copied}")
    if rival := find_rival(text, query, schema):
        raise Unparsed(f"fits_other: {write_template(rival)}")
    return text
