"""Convert entities to the part of Wikibase's RDF that the SPARQL client reads, and serve an endpoint."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from aiohttp import web
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QueryResultsFormat, Store

from tasks.sources.wikidata.calendars import convert, to_astronomical
from tests.models.scenes import serving

ENTITY, PROP = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/"
ONTOLOGY, SCHEMA = "http://wikiba.se/ontology#", "http://schema.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPES = {
    "wikibase-item": "WikibaseItem",
    "time": "Time",
    "quantity": "Quantity",
    "monolingualtext": "Monolingualtext",
}
Triple = tuple[object, str, object]


def wd(name: str) -> NamedNode:
    return NamedNode(ENTITY + name)


def write_time(value: dict) -> Literal:
    """Convert a date to RDF: years are astronomical, and Julian dates become Gregorian dates."""
    sign, (year, month, day) = value["time"][0], map(int, value["time"][1:].partition("T")[0].split("-"))
    date = (-year if sign == "-" else year, max(month, 1), max(day, 1))
    if value["precision"] == 11 and value["calendarmodel"].endswith("Q1985786"):
        date = convert(date, "julian", "gregorian")
    number = to_astronomical(date[0])
    text = f"{'-' if number < 0 else ''}{abs(number):04d}-{date[1]:02d}-{date[2]:02d}T00:00:00Z"
    return Literal(text, datatype=NamedNode(XSD + "dateTime"))


def write_snak(subject: NamedNode, snak: dict, simple: str, deep: str) -> Iterator[Triple]:
    name, kind = snak["property"], snak["snaktype"]
    if kind == "somevalue":
        yield subject, PROP + simple + name, BlankNode()
    if kind != "value":
        return
    value, node = snak["datavalue"]["value"], BlankNode()
    if snak["datavalue"]["type"] == "wikibase-entityid":
        yield subject, PROP + simple + name, wd(value.get("id") or f"Q{value['numeric-id']}")
    elif snak["datavalue"]["type"] == "monolingualtext":
        yield subject, PROP + simple + name, Literal(value["text"], language=value["language"])
    elif snak["datavalue"]["type"] == "time":
        yield subject, PROP + simple + name, write_time(value)
        yield subject, PROP + deep + name, node
        yield node, ONTOLOGY + "timeValue", write_time(value)
        yield node, ONTOLOGY + "timePrecision", Literal(value["precision"])
        yield node, ONTOLOGY + "timeCalendarModel", NamedNode(value["calendarmodel"])
    elif snak["datavalue"]["type"] == "quantity":
        unit = wd("Q199") if value["unit"] == "1" else NamedNode(value["unit"])
        parts = {
            "amount": "quantityAmount",
            "lowerBound": "quantityLowerBound",
            "upperBound": "quantityUpperBound",
        }
        yield subject, PROP + deep + name, node
        yield node, ONTOLOGY + "quantityUnit", unit
        for part in parts.keys() & value.keys():
            yield node, ONTOLOGY + parts[part], Literal(value[part], datatype=NamedNode(XSD + "decimal"))
        yield subject, PROP + simple + name, Literal(value["amount"], datatype=NamedNode(XSD + "decimal"))
    else:
        yield subject, PROP + simple + name, Literal(str(value))


def write_entity(entity: dict) -> Iterator[Triple]:
    node = wd(entity["id"])
    yield node, SCHEMA + "version", Literal(entity["lastrevid"])
    for label in entity["labels"].values():
        yield (
            node,
            "http://www.w3.org/2000/01/rdf-schema#label",
            Literal(label["value"], language=label["language"]),
        )
    for aliases in dict(entity["aliases"]).values():
        for alias in aliases:
            text = Literal(alias["value"], language=alias["language"])
            yield node, "http://www.w3.org/2004/02/skos/core#altLabel", text
    for site, link in dict(entity["sitelinks"]).items():
        page = NamedNode(f"https://{site[:-4]}.wikipedia.org/wiki/{len(link['title'])}")
        yield page, SCHEMA + "about", node
        yield page, SCHEMA + "isPartOf", NamedNode(f"https://{site[:-4]}.wikipedia.org/")
        yield page, SCHEMA + "name", Literal(link["title"], language="en")
    for name, statements in dict(entity["claims"]).items():
        for made in statements:
            own = NamedNode(ENTITY + "statement/" + made["id"].replace("$", "-"))
            yield node, PROP + name, own
            yield own, ONTOLOGY + "rank", NamedNode(ONTOLOGY + made["rank"].title() + "Rank")
            yield from describe_property(name, made["mainsnak"])
            yield from write_snak(own, made["mainsnak"], "statement/", "statement/value/")
            for qualifier in (part for some in made.get("qualifiers", {}).values() for part in some):
                yield from describe_property(qualifier["property"], qualifier)
                yield from write_snak(own, qualifier, "qualifier/", "qualifier/value/")


def describe_property(name: str, snak: dict) -> Iterator[Triple]:
    yield (
        wd(name),
        ONTOLOGY + "propertyType",
        NamedNode(ONTOLOGY + TYPES.get(snak.get("datatype"), "ExternalId")),
    )
    for term, path in {
        "claim": "",
        "statementProperty": "statement/",
        "statementValue": "statement/value/",
        "qualifier": "qualifier/",
        "qualifierValue": "qualifier/value/",
    }.items():
        yield wd(name), ONTOLOGY + term, NamedNode(PROP + path + name)


class Endpoint:
    """A SPARQL endpoint for entities; stores the queries."""

    def __init__(self, entities: Iterable[dict], redirects: dict[str, str] | None = None) -> None:
        self.store, self.asked = Store(), []
        triples = [triple for entity in entities for triple in write_entity(entity)]
        for old, new in (redirects or {}).items():
            triples.append((wd(old), "http://www.w3.org/2002/07/owl#sameAs", wd(new)))
        for subject, predicate, target in triples:
            self.store.add(Quad(subject, NamedNode(predicate), target))

    async def answer(self, request: web.Request) -> web.Response:
        assert request.headers["Accept"] == "application/sparql-results+json"
        query = (await request.post())["query"]
        self.asked.append(query)
        results = self.store.query(query).serialize(format=QueryResultsFormat.JSON)
        return web.Response(body=results, content_type="application/sparql-results+json")


@contextmanager
def serve_sparql(endpoint: Endpoint) -> Iterator[str]:
    app = web.Application()
    app.router.add_post("/sparql", endpoint.answer)
    with serving(app) as url:
        yield url.removesuffix("/v1") + "/sparql"
