"""Tests that the SPARQL client, on a real engine with Wikibase's RDF, returns the same entities as a dump."""

import json
from dataclasses import replace

import pytest
from aiohttp import web

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.web import WebServer
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import Entity, EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.sparql import SparqlSource, name_site
from tasks.sources.wikidata.values import Text
from tests.shared_data import SHARED, needs
from tests.sources.wikidata.rdf import Endpoint, serve_sparql
from tests.sources.wikidata.scenes import (
    JULIAN,
    entity,
    item,
    quantity,
    snak,
    statement,
    text,
    time,
    write_dump,
)

EXCERPT = SHARED / "wikidata"
TIMES = (
    time("P569", "+1952-03-11T00:00:00Z"),
    time("P569", "-0044-03-15T00:00:00Z", 11, JULIAN),
    time("P569", "+1900-02-29T00:00:00Z", 11, JULIAN),
    time("P569", "-0001-02-29T00:00:00Z"),
    time("P569", "-0001-02-29T00:00:00Z", 11, JULIAN),
    time("P569", "+0001-01-01T00:00:00Z", 11, JULIAN),
    time("P569", "+1500-03-00T00:00:00Z", 10, JULIAN),
    time("P569", "-0500-00-00T00:00:00Z", 9),
    time("P569", "+1987-00-00T00:00:00Z", 8),
    time("P569", "-0500-00-00T00:00:00Z", 7, JULIAN),
)
MADE = [
    entity("Q1", *(statement(time_, number) for number, time_ in enumerate(TIMES)), label="times"),
    entity(
        "Q2",
        statement(
            item("P31", "Q5"), 0, "Q2", rank="preferred",
            P580=[time("P580", "+1952-03-11T00:00:00Z"), time("P580", "-0044-03-15T00:00:00Z", 11, JULIAN)],
            P1=[quantity("P1", "2", "Q9")],
        ),
        statement(item("P31", "Q6"), 1, "Q2", rank="deprecated"),
        statement(quantity("P2048", "1.96", "Q11573", lowerBound="1.9", upperBound="2"), 0, "Q2"),
        statement(quantity("P1082", "120"), 0, "Q2"),
        statement(text("P1477", "Zürich", "gsw"), 0, "Q2"),
        statement(snak("P214", "string", "113", "external-id"), 0, "Q2"),
        statement({"snaktype": "somevalue", "property": "P31", "datatype": "wikibase-item"}, 7, "Q2"),
        statement({"snaktype": "novalue", "property": "P31", "datatype": "wikibase-item"}, 8, "Q2"),
        aliases={"en": [{"language": "en", "value": "b"}, {"language": "en", "value": "c"}]},
    ),
    entity("Q3", statement(item("P31", "Q5"), entity="Q3")),
    entity("P31", label="instance of"),
]  # fmt: skip


def read(source, **selected):
    lines = []
    report = ReadingReport(lines.append)
    found = list(source.read(EntitySelection(**selected), report))
    report.finish()
    return found, report, [json.loads(line) for line in lines]


def unordered(entity: Entity) -> Entity:
    """Return an entity without the order of statements and qualifiers, which RDF lacks."""
    claims = sorted(
        (
            replace(claim, position=0, qualifiers=tuple(sorted(claim.qualifiers, key=repr)))
            for claim in entity.claims
        ),
        key=repr,
    )
    return replace(entity, claims=tuple(claims))


@pytest.fixture(scope="module")
def endpoint():
    return Endpoint(MADE, {"Q70": "Q2"})


@pytest.fixture(scope="module")
def source(endpoint, tmp_path_factory):
    with serve_sparql(endpoint) as url:
        yield SparqlSource(WebServer(url, first_wait_s=0.01, retries=1), tmp_path_factory.mktemp("answers"))


def test_entities_are_those_of_a_dump(source, tmp_path):
    names = frozenset(made["id"] for made in MADE)
    found, report, _ = read(source, entities=names)
    expected, of_dump, _ = read(DumpSource([write_dump(tmp_path / "dump.json", *MADE)]), entities=names)
    assert [unordered(result) for result in found] == sorted(
        map(unordered, expected), key=lambda record: (record.id[0], record.id)
    )
    assert report.counts == of_dump.counts
    assert report.counts == {"unknown value": 1, "no value": 1, "value of another type": 1}


def test_properties_languages_and_sites_are_selected(source):
    found, report, _ = read(
        source,
        entities=frozenset({"Q2"}),
        properties=frozenset({"P1082"}),
        languages=frozenset({"de"}),
        sites=frozenset(),
    )
    assert [(result.id, [claim.property for claim in result.claims]) for result in found] == [
        ("Q2", ["P1082"])
    ]
    # German falls back to English.
    assert (found[0].labels, found[0].sitelinks) == ((Text("one", "en"),), ())
    # A named property would have a label, but there is none.
    assert report.counts == {"no such entity": 1}


def test_instances_of_a_class_are_found_but_for_deprecated_statements(source):
    assert [listed_entity.id for listed_entity in read(source, classes=frozenset({"Q5"}))[0]] == ["Q2", "Q3"]
    assert read(source, classes=frozenset({"Q6"}))[0] == []


def test_redirects_and_missing_ids_are_said(source):
    found, report, lines = read(source, entities=frozenset({"Q70", "Q2", "Q8"}))
    assert [result.id for result in found] == ["Q2"]
    assert report.redirects == {"Q70": "Q2"}
    assert [line["entity"] for line in lines if line["reason"] == "no such entity"] == ["Q8"]


def test_the_target_of_a_redirect_has_its_revision(source):
    assert read(source, entities=frozenset({"Q70"}))[0] == read(source, entities=frozenset({"Q2"}))[0]
    assert read(source, entities=frozenset({"Q70"}))[0][0].revision is not None


NAMELESS = {"results": {"bindings": [{"other": {"value": "x", "type": "literal"}}]}}


@pytest.mark.parametrize(
    ("reply", "kept"),
    [([], 0), ({}, 0), ({"results": {"bindings": [3]}}, 0),
     ({"results": {"bindings": [{"item": {"value": 3, "type": "uri"}}]}}, 0), (NAMELESS, 1)],
)  # fmt: skip
def test_an_endpoint_that_answers_otherwise_is_one_clear_line(reply, kept, tmp_path):
    class Other(Endpoint):
        async def answer(self, request):
            return web.json_response(reply)

    with serve_sparql(Other([])) as url, pytest.raises(DatabaseGone, match="returned ") as error:
        read(SparqlSource(WebServer(url), tmp_path), entities=frozenset({"Q1"}))
    assert len(list(tmp_path.rglob("*.json"))) == kept
    assert (f"the reply's file is in {tmp_path}" in str(error.value)) == bool(kept)


def test_results_that_break_off_are_asked_for_again(tmp_path):
    class Breaking(Endpoint):
        async def answer(self, request):
            whole = await super().answer(request)
            cut = bytes(whole.body)[:-9] + b"java.util.concurrent.TimeoutException"
            return whole if len(self.asked) % 2 == 0 else web.Response(body=cut)

    with serve_sparql(Breaking(MADE)) as url:
        source = SparqlSource(WebServer(url, first_wait_s=0.01, retries=1), tmp_path)
        assert [listed_entity.id for listed_entity in read(source, entities=frozenset({"Q3"}))[0]] == ["Q3"]


def test_answers_are_kept_and_no_query_is_sent_twice(tmp_path):
    endpoint = Endpoint(MADE, {"Q70": "Q2"})
    chosen = {"entities": frozenset({"Q1", "Q70"}), "classes": frozenset({"Q5"})}
    with serve_sparql(endpoint) as url:
        first, report, _ = read(SparqlSource(WebServer(url), tmp_path), **chosen)
        kept = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
        assert len(kept) == len(endpoint.asked) == len(set(endpoint.asked))
        assert sorted(json.loads(content)["parameters"]["query"] for content in kept.values()) == sorted(
            endpoint.asked
        )
        count = len(endpoint.asked)
        read(SparqlSource(WebServer(url), tmp_path), **chosen, properties=frozenset({"P31"}))
        assert len(endpoint.asked) > count, "another query is"
    # The server is down, but its answers are cached.
    again, same, _ = read(SparqlSource(WebServer(url, retries=0), tmp_path), **chosen)
    assert (again, same.redirects) == (first, report.redirects)
    assert {path: path.read_bytes() for path in kept} == kept
    for content, said in ((b"{", "is not valid JSON"), (b"[]", "is not a cached response")):
        next(iter(kept)).write_bytes(content)
        with pytest.raises(BadInput, match=f"{said}.*delete the file; the next run repeats the request"):
            read(SparqlSource(WebServer(url, retries=0), tmp_path), **chosen)


def test_everything_is_not_asked_for(tmp_path):
    with pytest.raises(BadInput, match="by id or class"):
        read(SparqlSource(WebServer("http://127.0.0.1:9/sparql"), tmp_path))


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("https://en.wikipedia.org/", "enwiki"),
        ("https://zh-min-nan.wikipedia.org/", "zh_min_nanwiki"),
        ("https://be-tarask.wikipedia.org/", "be_x_oldwiki"),
        ("https://de.wikiquote.org/", "dewikiquote"),
        ("https://commons.wikimedia.org/", "commonswiki"),
        ("https://www.mediawiki.org/", "mediawikiwiki"),
        ("https://wikisource.org/", "sourceswiki"),
    ],
)
def test_sites_are_named_as_dumps_name_them(address, site):
    assert name_site(address) == site


@needs("wikidata")
def test_a_real_entity_comes_through_as_from_its_json(tmp_path):
    record = json.loads((EXCERPT / "qwikidata_wd_Q42.json").read_bytes())
    record["sitelinks"] = {"enwiki": record["sitelinks"]["enwiki"]}
    chosen = {"entities": frozenset({"Q42"}), "languages": frozenset({"en", "de"})}
    with serve_sparql(Endpoint([record])) as url:
        (found,), report, _ = read(SparqlSource(WebServer(url), tmp_path), **chosen)
    (expected,), of_dump, _ = read(
        DumpSource([EXCERPT / "qwikidata_wd_Q42.json"]), sites=frozenset({"enwiki"}), **chosen
    )
    aliases = sorted(expected.aliases, key=lambda alias: (alias.language, alias.text))
    assert unordered(found) == unordered(replace(expected, aliases=tuple(aliases)))
    assert report.counts == of_dump.counts
