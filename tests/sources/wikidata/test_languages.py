"""Tests that labels use Wikidata's fallback languages, in every source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.web import WebServer
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.languages import FALLBACKS, list_fallbacks, may_name, pick_label
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.sparql import SparqlSource
from tasks.sources.wikidata.values import Text
from tests.sources.wikidata.rdf import Endpoint, serve_sparql
from tests.sources.wikidata.scenes import entity, write_dump
from tests.sources.wikidata.test_api import Wikibase, asking


def label(**codes):
    return {code.replace("_", "-"): {"language": code, "value": text} for code, text in codes.items()}


MADE = [
    entity("Q1", labels=label(en="a", mul="b")),
    entity("Q2", labels=label(mul="b", de="c")),
    entity("Q3", labels=label(de="c", fr="d")),
    entity("Q4", labels=label(en_gb="colour", en_ca="color")),
    entity("Q5", labels=label(mul="b", en_gb="colour")),
    entity("Q6", labels={}),
    entity("Q7", labels=label(en=" ", mul="b")),
    entity("Q8", labels=label(gsw="e", fr="d")),
]
for made in MADE:
    for code, value in made["labels"].items():
        value["language"] = code
ENGLISH = {"Q1": "a", "Q2": "b", "Q3": None, "Q4": "color", "Q5": "b", "Q6": None, "Q7": "b", "Q8": None}
GERMAN = {"Q1": "b", "Q2": "c", "Q3": "c", "Q4": None, "Q5": "b", "Q6": None, "Q7": "b", "Q8": None}
SWISS = {**GERMAN, "Q8": "e"}


def read_labels(source, language):
    report = ReadingReport()
    chosen = EntitySelection(entities=frozenset(ENGLISH), languages=frozenset({language}))
    found = {
        listed_entity.id: listed_entity.labels[0].text if listed_entity.labels else None
        for listed_entity in source.read(chosen, report)
    }
    report.finish()
    return found, report.counts["no label"]


@pytest.mark.parametrize(("language", "expected"), [("en", ENGLISH), ("de", GERMAN), ("gsw", SWISS)])
def test_dump_api_and_endpoint_show_the_same_labels(tmp_path, language, expected):
    missing = list(expected.values()).count(None)
    path = write_dump(tmp_path / "dump.json", *MADE)
    assert read_labels(DumpSource([path]), language) == (expected, missing)
    with asking(Wikibase(*MADE), tmp_path / "api") as source:
        assert read_labels(source, language) == (expected, missing)
    with serve_sparql(Endpoint(MADE)) as address:
        server = WebServer(address)
        assert read_labels(SparqlSource(server, tmp_path / "sparql"), language) == (expected, missing)


@pytest.mark.parametrize(
    ("language", "chain"),
    [
        ("en", ["en", "mul"]),
        ("en-gb", ["en-gb", "mul", "en"]),
        ("de", ["de", "mul", "en"]),
        ("de-at", ["de-at", "de", "mul", "en"]),
        ("gsw", ["gsw", "de", "mul", "en"]),
        ("nb", ["nb", "no", "nn", "mul", "en"]),
        ("pt-br", ["pt-br", "pt", "mul", "en"]),
        ("pt", ["pt", "pt-br", "mul", "en"]),
        ("zh-tw", ["zh-tw", "zh-hant", "zh-hk", "zh", "zh-hans", "mul", "en"]),
        ("oc", ["oc", "ca", "fr", "mul", "en"]),
        ("mul", ["mul", "en"]),
        ("none-such", ["none-such", "mul", "en"]),
    ],
)
def test_the_languages_come_in_wikidatas_order(language, chain):
    assert list(list_fallbacks(language)) == chain


def test_no_language_falls_back_to_itself_or_twice():
    for code, chain in FALLBACKS.items():
        assert code not in chain
        assert len(set(chain)) == len(chain) > 0


CODES = st.sampled_from(
    ("en", "en-gb", "en-ca", "de", "de-at", "fr", "mul", "nb", "no", "nn", "zh", "zh-hans")
)


@given(texts=st.dictionaries(CODES, st.sampled_from(("", " ", "x", "y"))), language=CODES)
def test_the_label_is_the_first_of_the_chain(texts, language):
    given_ = [Text(text, code) for code, text in texts.items()]
    picked = pick_label(given_[::-1], language)
    assert picked == pick_label(given_, language)
    filled = [code for code, text in texts.items() if text.strip()]
    chain = [code for code in list_fallbacks(language) if code in filled]
    variants = sorted(code for code in filled if code.startswith(language + "-"))
    assert (picked.language if picked else None) == next(iter([*chain, *variants]), None)
    assert all(may_name(label.language, [language]) for label in [picked] if label)
