"""Tests that only a source that names Wikimedia as origin gets Wikimedia's licence."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.importers.wikidata import Wikidata
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikipedia.rights import find_rights
from tests.sources.wikidata.scenes import entity, quantity, statement, write_dump
from tests.sources.wikipedia import scenes

NOBODY = ("not stated", "not stated")
WIKIPEDIA = ("CC BY-SA 4.0", "Wikipedia contributors")
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
FOREIGN = st.builds(
    "{}.{}".format, WORD, st.sampled_from(["example", "wikibase.cloud", "wikidata.org.example"])
)
OURS = st.sampled_from(["www.wikidata.org", "wikidata.org"])
HOSTS = st.one_of(
    st.builds("{}.wikipedia.org".format, WORD),
    st.builds("{}.m.wikipedia.org".format, WORD),
    st.builds("{}.fandom.com".format, WORD),
    st.builds("{}wikipedia.org".format, WORD),
    st.builds("wikipedia.org.{}".format, WORD),
    st.builds("{}.wiktionary.org".format, WORD),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rights")


def write(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def make_unit(host, item="Q11573"):
    snak = quantity("P2048", "1.96", item)
    snak["datavalue"]["value"]["unit"] = f"http://{host}/entity/{item}"
    return snak


def read_licence(path, **options):
    """Read a dump; return the source and licence to record."""
    report = ReadingReport()
    list(DumpSource([path]).read(EntitySelection(**options), report))
    return Wikidata(places=[str(path)]).state_rights(report.foreign)[:2]


@settings(max_examples=20, deadline=None)
@given(
    ours=st.lists(OURS, max_size=4),
    foreign=st.lists(FOREIGN, max_size=2),
    escaped=st.booleans(),
    filtered=st.booleans(),
)
def test_a_dump_with_units_of_another_wikibase_is_not_wikidatas(ours, foreign, escaped, filtered, folder):
    things = [
        entity(f"Q{n}", statement(make_unit(host), 0, f"Q{n}"))
        for n, host in enumerate([*ours, *foreign, "www.wikidata.org"], start=1)
    ]
    path = write_dump(folder / "dump.json", *things)
    if escaped:
        path.write_text(path.read_text(encoding="utf-8").replace("/", "\\/"), encoding="utf-8")
    properties = frozenset({"P31"}) if filtered else None
    due = (foreign[0], "not stated") if foreign else ("https://www.wikidata.org", "CC0-1.0")
    assert read_licence(path, properties=properties) == due


def test_an_address_in_a_text_or_a_calendar_is_no_unit(tmp_path):
    thing = entity("Q1", label="http://x.example/entity/Q5")
    thing["claims"] = {"P2888": [statement({
        "snaktype": "value", "property": "P2888", "datatype": "url",
        "datavalue": {"type": "string", "value": "https://x.example/entity/Q5"},
    }, 0, "Q1")]}  # fmt: skip
    assert read_licence(write_dump(tmp_path / "dump.json", thing))[1] == "CC0-1.0"


@settings(max_examples=30, deadline=None)
@given(host=HOSTS, kind=st.sampled_from(["api", "dump", "structured"]))
def test_articles_are_wikipedias_where_their_host_is(host, kind, folder):
    page = f"https://{host}/wiki/Alm"
    if kind == "api":
        source = f"https://{host}/w/api.php"
    elif kind == "dump":
        site = f"<siteinfo><sitename>Wikipedia</sitename><base>{page}</base></siteinfo>"
        source = write(folder / "pages.xml", scenes.HEAD + site + "</mediawiki>")
    else:
        source = write(folder / "pages.ndjson", json.dumps({"name": "Alm", "url": page}) + "\n")
    assert find_rights(str(source)) == (WIKIPEDIA if host.endswith(".wikipedia.org") else NOBODY)


@pytest.mark.parametrize(
    ("name", "due"),
    [("enwiki", WIKIPEDIA), ("zh_min_nanwiki", WIKIPEDIA), ("simplewiki", WIKIPEDIA), ("commonswiki", NOBODY),
     ("starwars", NOBODY), ("enwiktionary", NOBODY)],
)  # fmt: skip
def test_a_dump_without_an_address_has_the_name_of_its_database(name, due, folder):
    site = f"<siteinfo><dbname>{name}</dbname></siteinfo>"
    assert find_rights(str(write(folder / "pages.xml", scenes.HEAD + site))) == due


@pytest.mark.parametrize(
    ("about", "due"),
    [
        (None, NOBODY),
        ("no JSON", NOBODY),
        ("[]", NOBODY),
        ('{"name": "own"}', NOBODY),
        ('{"licence": "MIT"}', ("MIT", "not stated")),
        (json.dumps(dict(zip(("licence", "attribution"), WIKIPEDIA, strict=True))), WIKIPEDIA),
    ],
)
def test_a_folder_of_texts_is_whose_its_about_says(about, due, tmp_path):
    (tmp_path / "Alm.txt").write_text("Alm is a town.")
    (tmp_path / "texts.json").write_text('{"Alm": "A town."}')
    if about is not None:
        (tmp_path / "about.json").write_text(about)
    assert find_rights(str(tmp_path)) == due
    assert find_rights(str(tmp_path / "texts.json")) == find_rights(str(tmp_path / "Alm.txt")) == NOBODY
