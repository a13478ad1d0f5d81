"""Requests for texts: the form, circumstance, reason and opening of each, and the wordings that it offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.ambiguity import find_rival
from tasks.grammar.construct.phrasing import list_wordings
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.style_rules import check_style, find_copied
from tasks.grammar.construct.text_criteria import Criterion
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, verbalise_query
from tasks.grammar.rows import SqlTemplate
from tasks.models.ask import Unparsed


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


def list_requests(name: str, criterion: Criterion, templates: Sequence[SqlTemplate]) -> list[TextRequest]:
    """List a criterion's requests: forms in turn, circumstances and openings in seeded orders.

    No pair of them comes again before all have been.
    """
    circumstances = sorted(criterion.circumstances, key=lambda text: make_id(criterion.seed, name, text))
    openings = sorted(criterion.openings, key=lambda text: make_id(criterion.seed, name, text))
    reasons = sorted(criterion.reasons, key=lambda text: make_id(criterion.seed, name, text))
    requests = []
    pairs = [(template, sample) for template in templates for sample in range(criterion.samples)]
    for number, (template, sample) in enumerate(pairs):
        turn, place = divmod(number, len(circumstances))
        requests.append(
            TextRequest(
                make_id("text", template.id, name, sample),
                template,
                name,
                sample,
                criterion.forms[number % len(criterion.forms)],
                circumstances[place],
                reasons[(turn + place) % len(reasons)],
                openings[(turn + place) % len(openings)],
            )
        )
    return requests


def make_text_id(template: str, text: str) -> str:
    """Hash a text under its SQL template, whatever its case, spaces and last stop.

    The criterion is not hashed: the same text under another criterion would be the same question twice.
    """
    return make_id("text_template", template, " ".join(text.lower().split()).rstrip(".?"))


def compose_offers(
    requests: Sequence[TextRequest], schema: Sequence[Column], criteria: Mapping[str, Criterion]
) -> dict[str, list[str]]:
    """Compose the wordings that each request offers: such as keep the rules, and none in two requests."""
    offers: dict[str, list[str]] = {}
    taken: set[str] = set()
    for request in requests:
        criterion = criteria[request.criterion]
        query = read_template(request.template.sql, schema)
        verbalisation = verbalise_query(query, schema)
        circumstance = f"{request.circumstance} {request.reason}." if criterion.sentences else ""
        wordings = list_wordings(query, schema, request.form, circumstance, request.opening)
        wordings.sort(key=lambda text: make_id(criterion.seed, request.id, text))
        offers[request.id] = []
        for text in wordings:
            if len(offers[request.id]) == criterion.wordings:
                break
            key = make_text_id(request.template.id, text)
            if key not in taken and _keeps_rules(text, query, verbalisation, schema, criterion):
                taken.add(key)
                offers[request.id].append(text)
    return offers


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
