"""Fetch entities by id or class from a SPARQL endpoint with Wikidata's RDF, in batches of 50 entities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.answers import ASKED_AGAIN, KeptAnswers
from tasks.sources.web import Client, WebServer, name_server
from tasks.sources.wikidata import sparql_queries as queries
from tasks.sources.wikidata.entities import (
    RANKS,
    Entity,
    EntityClaim,
    EntitySelection,
    Qualifier,
    Sitelink,
    list_named,
)
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.languages import MUL, pick_labels
from tasks.sources.wikidata.report import MISSING, NO_LABEL, OTHER_TYPE, ReadingReport, SkippedEntity
from tasks.sources.wikidata.snaks import KeptOut
from tasks.sources.wikidata.sparql_values import Binding, cut, read_value, take
from tasks.sources.wikidata.values import ENTITY, NoValue, Text, Value, make_text
from tasks.sources.wikidata.wikibase_json import (
    BROKEN_CLAIM,
    BROKEN_PART,
    BROKEN_QUALIFIER,
    IN_QUALIFIER,
    TWICE,
)

# Number of entities per query.
ITEMS = 50
ACCEPT = "application/sparql-results+json"
RANK_END = "Rank"
# Host name -> database name, if it differs from the name that `name_site` derives.
SITES = {
    "be-tarask.wikipedia.org": "be_x_oldwiki",
    "wikisource.org": "sourceswiki",
    "www.mediawiki.org": "mediawikiwiki",
    "www.wikidata.org": "wikidatawiki",
    "www.wikifunctions.org": "wikifunctionswiki",
}


@dataclass
class _Draft:
    """An entity whose fields are set by several queries, one after another."""

    revision: int | None = None
    target: str | None = None
    labels: list[Text] = field(default_factory=list)
    aliases: list[Text] = field(default_factory=list)
    sitelinks: list[Sitelink] = field(default_factory=list)
    claims: list[EntityClaim] = field(default_factory=list)

    def is_empty(self) -> bool:
        return self.revision is None and not (self.labels or self.aliases or self.sitelinks or self.claims)


class SparqlSource:
    """Fetches entities from a SPARQL endpoint, by POST requests with JSON results.

    `cache`: a folder for responses, `<host>/<hash of the query>.json`; no query is sent twice.
    """

    def __init__(self, server: WebServer, cache: Path) -> None:
        self._server, self._kept = server, KeptAnswers(cache / name_server(server.url), server.url)

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield the selected entities, sorted by the requested id; see `EntitySource.read`.

        Raises BadInput if the selection has neither ids nor classes.
        """
        if selection.takes_all_items():
            raise BadInput(
                self._server.url,
                "serves entities only by id or class",
                hint="use, for example, --entity Q42 or --class Q5",
            )
        known = KnownIds()
        with Client(self._server) as client:
            asked = _Asking(client, self._kept, self._server.url, selection, report)
            try:
                names = asked.list_names()
                for start in range(0, len(names), ITEMS):
                    found = list(asked.gather(names[start : start + ITEMS]))
                    yield from (entity for entity in found if known.add(entity.id))
            except NoValue as error:
                raise DatabaseGone(
                    f"{self._server.url}: returned an invalid result: {error} "
                    f"(the reply's file is in {self._kept.folder}: {ASKED_AGAIN})"
                ) from error


@dataclass(frozen=True)
class _Asking:
    client: Client
    kept: KeptAnswers
    url: str
    selection: EntitySelection
    report: ReadingReport

    def list_names(self) -> list[str]:
        names = set(list_named(self.selection))
        if self.selection.classes:
            query = queries.write_query(queries.INSTANCES, classes=sorted(self.selection.classes))
            names |= {name for row in self.query(query) if ENTITY.fullmatch(name := cut(row, "item"))}
        return sorted(names, key=lambda name: (name[0], int(name[1:])))

    def query(self, query: str) -> list[Binding]:
        fields = {"query": query}
        return list_bindings(self.kept.ask_once(fields, lambda: self.ask_server(fields)), self.url)

    def ask_server(self, fields: Mapping[str, str]) -> dict[str, Any]:
        reply = self.client.ask("POST", fields, ACCEPT)
        whole = reply if isinstance(reply, dict) else {}
        list_bindings(whole, self.url)
        return whole

    def gather(self, names: Sequence[str]) -> Iterator[Entity]:
        """Yield the entities of a batch of ids; a redirected id yields the redirect's target."""
        drafts: defaultdict[str, _Draft] = defaultdict(_Draft)
        self.fill_revisions(names, drafts)
        found: list[str] = []
        for name in names:
            target = drafts[name].target
            if target is not None:
                self.report.redirects[name] = target
            found.append(target or name)
        found = list(dict.fromkeys(found))
        if targets := [name for name in found if name not in names]:
            self.fill_revisions(targets, drafts)
        self.fill_texts(found, drafts)
        self.fill_pages(found, drafts)
        self.fill_claims(found, drafts)
        for name in found:
            if drafts[name].is_empty():
                self.report.skip(SkippedEntity(MISSING, self.url, name))
            else:
                yield finish(name, drafts[name])

    def fill_revisions(self, names: Sequence[str], drafts: defaultdict[str, _Draft]) -> None:
        """Set the revision of each entity's draft and, if the entity is a redirect, its target."""
        for row in self.query(queries.write_query(queries.ABOUT, items=names)):
            draft = drafts[cut(row, "item")]
            revision = row.get("revision", {}).get("value", "")
            # Numbers of up to 18 digits fit into 64 bits.
            draft.revision = int(revision) if revision.isdecimal() and len(revision) < 19 else None
            new = row.get("target", {}).get("value", "").rsplit("/", 1)[-1]
            draft.target = new if ENTITY.fullmatch(new) else None

    def fill_texts(self, names: Sequence[str], drafts: defaultdict[str, _Draft]) -> None:
        languages = self.selection.languages
        if languages is not None and not languages:
            return
        for row in self.query(queries.write_query(queries.TEXTS, items=names, languages=languages)):
            name = cut(row, "item")
            try:
                text = make_text(take(row, "text"), row["text"].get("xml:lang"))
            except NoValue as error:
                self.report.skip(SkippedEntity(BROKEN_PART, self.url, name, detail=str(error)))
                continue
            if take(row, "kind") == "label":
                drafts[name].labels.append(text)
            elif languages is None or text.language in {*languages, MUL}:
                drafts[name].aliases.append(text)
        for name in names if languages else ():
            draft = drafts[name]
            draft.labels = list(pick_labels(draft.labels, languages or ()))
            if not (draft.labels or draft.is_empty()):
                self.report.keep_out(NO_LABEL, self.url, name, "", ", ".join(sorted(languages or ())))

    def fill_pages(self, names: Sequence[str], drafts: defaultdict[str, _Draft]) -> None:
        sites = self.selection.sites
        if sites is not None and not sites:
            return
        for row in self.query(queries.write_query(queries.PAGES, items=names)):
            site = name_site(take(row, "site"))
            if sites is None or site in sites:
                drafts[cut(row, "item")].sitelinks.append(Sitelink(site, take(row, "title")))

    def fill_claims(self, names: Sequence[str], drafts: defaultdict[str, _Draft]) -> None:
        wanted = None if self.selection.properties is None else sorted(self.selection.properties)
        if wanted == []:
            return
        qualifiers = self.find_qualifiers(names, wanted)
        known: set[str] = set()
        rows = self.query(queries.write_query(queries.CLAIMS, items=names, properties=wanted))
        places: defaultdict[tuple[str, str], int] = defaultdict(int)
        # SPARQL results have no order; sorted rows give the same positions in every import.
        for row in sorted(rows, key=lambda row: take(row, "statement")):
            name, statement, held = cut(row, "item"), cut(row, "statement"), cut(row, "property")
            rank = RANKS.get(cut(row, "rank", "#").removesuffix(RANK_END).lower())
            value = self.read_claim(row, name, held, rank or "", statement)
            if value is None:
                continue
            if statement in known or rank is None:
                reason = TWICE if rank else BROKEN_CLAIM
                self.report.skip(SkippedEntity(reason, self.url, name, held, statement, rank=rank or ""))
                continue
            known.add(statement)
            position = places[name, held]
            places[name, held] += 1
            # In the URLs of statements, a hyphen replaces the first `$` of the id.
            own = statement.replace("-", "$", 1)
            drafts[name].claims.append(
                EntityClaim(own, held, position, rank, value, tuple(qualifiers.get(statement, ())))
            )

    def find_qualifiers(
        self, names: Sequence[str], wanted: Sequence[str] | None
    ) -> dict[str, list[Qualifier]]:
        """Map each statement's id in RDF to its distinct qualifiers, sorted by property.

        `wanted`: the properties whose statements are queried; None means all properties.
        """
        found: defaultdict[str, set[Qualifier]] = defaultdict(set)
        for row in self.query(queries.write_query(queries.QUALIFIERS, items=names, properties=wanted)):
            name, held = cut(row, "item"), cut(row, "property")
            try:
                found[cut(row, "statement")].add(Qualifier(held, read_value(row)))
            except NoValue as error:
                self.report.skip(SkippedEntity(BROKEN_QUALIFIER, self.url, name, held, str(error)))
            except KeptOut as kept:
                reason = IN_QUALIFIER.format(kept.reason)
                self.report.keep_out(reason, self.url, name, f"qualifier {held}", kept.detail)
        return {
            statement: sorted(values, key=lambda claim_value: (claim_value.property, repr(claim_value.value)))
            for statement, values in found.items()
        }

    def read_claim(self, row: Binding, entity: str, held: str, rank: str, statement: str) -> Value | None:
        try:
            return read_value(row)
        except NoValue as error:
            detail = f"{statement}: {error}"
            self.report.skip(SkippedEntity(BROKEN_CLAIM, self.url, entity, held, detail, rank=rank))
        except KeptOut as kept:
            if kept.reason == OTHER_TYPE:
                self.report.keep_out(kept.reason, self.url, entity, held, kept.detail)
            else:
                self.report.skip(SkippedEntity(kept.reason, self.url, entity, held, statement, rank=rank))
        return None


def list_bindings(reply: Mapping[str, Any], url: str) -> list[Binding]:
    """Return the result rows of a response. Raises DatabaseGone if the response has no valid results."""
    results = reply.get("results")
    rows = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(rows, list) or not all(map(is_binding, rows)):
        raise DatabaseGone(f"{url}: returned something other than SPARQL results")
    return rows


def is_binding(row: object) -> bool:
    """Return whether a result row is valid: variables mapped to terms, each with a text value and a type."""
    return isinstance(row, dict) and all(
        isinstance(term, dict) and isinstance(term.get("value"), str) and isinstance(term.get("type"), str)
        for term in row.values()
    )


def finish(name: str, draft: _Draft) -> Entity:
    """Convert a draft to an entity; sort labels, aliases, sitelinks and claims as the other sources do."""
    return Entity(
        id=name,
        kind="item" if name.startswith("Q") else "property",
        revision=draft.revision,
        labels=tuple(sorted(draft.labels, key=lambda text: text.language)),
        aliases=tuple(sorted(draft.aliases, key=lambda text: (text.language, text.text))),
        sitelinks=tuple(sorted(draft.sitelinks, key=lambda link: link.site)),
        claims=tuple(sorted(draft.claims, key=lambda claim: (claim.property, claim.position))),
    )


def name_site(address: str) -> str:
    """Return the name of a wiki in sitelinks, given its URL: `https://en.wikipedia.org/` is `enwiki`."""
    host = urlsplit(address).hostname or ""
    language, _, rest = host.partition(".")
    project = rest.partition(".")[0]
    if host in SITES:
        return SITES[host]
    if project == "wikimedia":
        return f"{language}wiki"
    return language.replace("-", "_") + ("wiki" if project == "wikipedia" else project)
