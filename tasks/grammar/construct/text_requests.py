"""Make the requests for texts under each linguistic criterion (GRAMMAR, appendix C).

A request offers wordings. Each request has a frame: a form, a circumstance, a reason and an opening.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Literal, NamedTuple

from pydantic import Field

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.english import make_singular
from tasks.grammar.construct.names import LOOSE, NAMES, UNITS, name_column, name_table, split_words
from tasks.grammar.construct.phrasing import list_wordings
from tasks.grammar.construct.queries import PLACEHOLDER, Query, table_of, write_template
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.style_rules import check_style, find_copied
from tasks.grammar.construct.text_rules import LINKS, parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, find_relations, verbalise_query
from tasks.models.ask import Unparsed
from tasks.settings import Settings

TRIES = 8
"""The maximum number of other frames to try for a request without a valid wording. No two requests share a
frame."""


class TextExample(Settings):
    """The prompt's example, from a domain that no database of the project covers.

    Texts must not repeat the example.
    """

    wanted: str = "height in metres of the lighthouse"
    """The phrase for the column that the example asks for."""
    given: str = "the lighthouse [lighthouses.name]"
    """The phrase for the example's given value."""
    circumstance: str = "I keep the logbook of a sailing club"
    """The circumstance of the example's text."""
    opening: str = "Would you know"
    """The beginning of the question in the example's text."""
    text: str = ""
    """The example's text in full sentences."""
    given_first: str = "lighthouse [lighthouses.name] height in metres"
    """A fragment that begins with the given value."""
    asking: str = "how many metres high is the lighthouse [lighthouses.name]"
    """A fragment that begins with a question word."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The example's texts."""
        return self.text, self.given_first, self.asking


class Criterion(Settings):
    """A linguistic criterion: the prompt, and the limits that texts are checked against."""

    prompt: str
    """The name of a prompt in tasks/grammar/prompts/, without `.md`."""
    minimum_words: int = Field(default=1, ge=1)
    """The minimum number of words of a text."""
    maximum_words: int = Field(default=80, ge=1)
    """The maximum number of words of a text."""
    sentences: bool = False
    """Whether to request two sentences (the circumstances, then a question) instead of a fragment."""
    samples: int = Field(default=3, ge=1)
    """The number of texts to request per SQL template."""
    forms: tuple[Literal["wanted", "given", "asking"], ...] = ("wanted",)
    """The beginnings of fragments: the wanted column, the given value or a question word (`asking`). Requests
    cycle through the listed forms."""
    circumstances: tuple[str, ...] = ("I am putting some notes in order",)
    """Beginnings of a text's first sentence, which says who asks, and why."""
    reasons: tuple[str, ...] = ("and one of them is missing",)
    """Endings of a text's first sentence.

    The endings are used only if the model picks one of the wordings that the stage composes.
    """
    wordings: int = Field(default=8, ge=1)
    """The maximum number of wordings per request."""
    openings: tuple[str, ...] = ("",)
    """Beginnings of the question; an empty string lets the model choose.

    The requests for a criterion use different pairs of circumstance and opening, if there are enough pairs.
    """
    example: TextExample = TextExample()
    seed: int = 0
    """The seed that assigns circumstances and openings to requests."""


class TextTemplates(Settings):
    """The settings in params.yaml under `grammar.text_templates`."""

    criteria: Mapping[str, Criterion]
    """The prompt and limits of each criterion, by name."""


@dataclass(frozen=True)
class TextRequest:
    """A request to phrase a SQL template under a criterion.

    `sample` numbers the requests for the same template and criterion, from 0.
    """

    id: str
    template: SqlTemplate
    criterion: str
    sample: int
    form: str = ""
    circumstance: str = ""
    reason: str = ""
    opening: str = ""


class Frame(NamedTuple):
    """The form of a fragment, and the circumstance, reason and opening of a text in full sentences."""

    form: str
    circumstance: str
    reason: str
    opening: str


class Offer(NamedTuple):
    """A request with the wordings that the model may pick.

    `wordings` is empty if no unused wording satisfies the rules.
    """

    request: TextRequest
    wordings: tuple[str, ...]


def list_requests(name: str, criterion: Criterion, templates: Sequence[SqlTemplate]) -> list[TextRequest]:
    """List a criterion's requests. Forms alternate; circumstances and openings are in seeded order.

    No pair of circumstance and opening repeats before all pairs have been used.
    """
    pairs = ((template, sample) for template in templates for sample in range(criterion.samples))
    return [
        TextRequest(make_id("text", template.id, name, sample), template, name, sample, *frame)
        for (template, sample), frame in zip(pairs, list_frames(name, criterion), strict=False)
    ]


def list_frames(name: str, criterion: Criterion, start: int = 0) -> Iterator[Frame]:
    """Yield endless frames for the requests of a criterion, beginning with the frame number `start`."""
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
    """Hash a text with its SQL template, ignoring case, spaces and the final full stop or question mark.

    The hash excludes the criterion, because the same text under two criteria is one question.
    """
    return make_id("text_template", template, " ".join(text.lower().split()).rstrip(".?"))


def compose_offers(
    requests: Sequence[TextRequest], schema: Sequence[Column], criteria: Mapping[str, Criterion]
) -> list[Offer]:
    """Compose the wordings that each request offers. All wordings satisfy the rules, and none is repeated.

    If a request has no wording, the function tries forms, circumstances and openings that no other request
    has used.
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
    """Parse a reply as a text that satisfies every rule. Raises Unparsed with `<reason>: <detail>`."""
    minimum, maximum = criterion.minimum_words, criterion.maximum_words
    text = parse_text(reply, query, verbalisation, schema, minimum, maximum)
    check_style(text, schema, sentences=criterion.sentences)
    if copied := find_copied(text, criterion.example.texts):
        raise Unparsed(f"copied_example: {copied}")
    if rival := find_rival(text, query, schema):
        raise Unparsed(f"fits_other: {write_template(rival)}")
    return text


def find_rival(text: str, query: Query, columns: Sequence[Column]) -> Query | None:
    """Return another query that has the same given columns and fits a text equally well, or None."""
    length = len(text.split())
    said = Counter(_list_said(text))
    for rival in list_rivals(query, columns):
        if not _explains(rival, query, said, columns):
            continue
        try:
            parse_text(text, rival, verbalise_query(rival, columns), columns, 1, length)
        except Unparsed:
            continue
        return rival
    return None


def _explains(rival: Query, query: Query, said: Counter[str], columns: Sequence[Column]) -> bool:
    """Return whether a text has the words of a rival's columns, and no word that only `query` asks for.

    The text rules alone would accept `airport code` as a phrase for the airport's name, because they ignore
    weak words.
    """
    needed = Counter(_list_words(rival.columns, columns))
    weak = NAMES | UNITS | LINKS | (LOOSE if said["when"] else set())
    if any(said[word] < count for word, count in needed.items() if word not in weak):
        return False
    known = {
        make_singular(word) for table in rival.tables for word in split_words(name_table(table, columns))
    }
    return not any(said[word] for word in {*_list_words(query.projection, columns)} - known - {*needed})


def _list_words(names: Sequence[str], columns: Sequence[Column]) -> list[str]:
    words = [word for name in names for word in split_words(name_column(name, columns))]
    return [make_singular(word) for word in words]


def _list_said(text: str) -> list[str]:
    bare = PLACEHOLDER.sub(" ", text).lower()
    return [make_singular(word) for word in re.findall(r"[^\W\d_]+", bare)]


def list_rivals(query: Query, columns: Sequence[Column]) -> Iterator[Query]:
    """List the queries with the same given columns but another projection, another relation, or both."""
    used = set(query.columns)
    asked = [
        column.id
        for column in columns
        if column.table in query.tables and column.descriptive and column.id not in used
    ]
    for shape in (query, *_list_relations(query, columns)):
        if shape != query:
            yield shape
        if len(query.projection) == 1 and query.measure in ("", "list"):
            others = (replace(shape, projection=(name,)) for name in asked if table_of(name) in shape.tables)
            yield from (rival for rival in others if not _has_idle_table(rival))


def _has_idle_table(query: Query) -> bool:
    """Return whether a query joins a leaf table but uses none of the table's columns."""
    used = {table_of(name) for name in query.columns}
    joined = Counter(table for pair in query.joins for table in {*map(table_of, pair)})
    return any(count == 1 and table not in used for table, count in joined.items())


def _list_relations(query: Query, columns: Sequence[Column]) -> Iterator[Query]:
    """Yield copies of the query with one relation replaced by another between the same two tables."""
    joined = set(query.joins)
    relations = [
        (set(tables), {_sort_pair(key.id, key.references or "") for key in keys})
        for tables, keys in find_relations(columns)
    ]
    for tables, pairs in relations:
        if not pairs <= joined:
            continue
        for other_tables, other_pairs in relations:
            if other_tables == tables and other_pairs != pairs:
                yield replace(query, joins=tuple(sorted(joined - pairs | other_pairs)))


def _sort_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
