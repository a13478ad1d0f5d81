"""Tests of the API's client, against a server on loopback that answers like Wikibase."""

import json
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.web import WebServer, name_server
from tasks.sources.wikidata.api import ApiSource
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tests.models.scenes import serving
from tests.shared_data import SHARED, needs
from tests.sources.wikidata.scenes import entity, item, statement, write_dump

EXCERPT = SHARED / "wikidata"
LAG = {"error": {"code": "maxlag", "info": "Waiting for db1: 7.2 seconds lagged.", "lag": 7.2, "type": "db"}}


class Wikibase:
    """Answers wbgetentities like Wikibase. before: answers to send first."""

    def __init__(self, *entities: dict, before=()) -> None:
        self.entities = {made["id"]: made for made in entities}
        self.redirects: dict[str, str] = {}
        self.before = list(before)
        self.asked: list[dict[str, str]] = []
        self.agents: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.query))
        self.agents[request.headers["User-Agent"]] += 1
        if self.before:
            return self.before.pop(0)
        names = request.query["ids"].split("|")
        assert len(names) <= 50
        if unknown := [name for name in names if len(name) > 10]:
            info = f'Could not find an entity with the ID "{unknown[0]}".'
            return web.json_response({"error": {"code": "no-such-entity", "info": info, "id": unknown[0]}})
        return web.json_response({"entities": {name: self.find(name) for name in names}, "success": 1})

    def find(self, name: str) -> dict:
        target = self.redirects.get(name, name)
        if target not in self.entities:
            return {"id": name, "missing": ""}
        found = {"pageid": 1, "ns": 0, "title": target, **self.entities[target]}
        return found if target == name else {**found, "redirects": {"from": name, "to": target}}


@contextmanager
def asking(wikibase: Wikibase, cache: Path, **settings: object):
    app = web.Application()
    app.router.add_get("/w/api.php", wikibase.answer)
    with serving(app) as url:
        server = WebServer(url.removesuffix("/v1") + "/w/api.php", **{"first_wait_s": 0.01, **settings})
        yield ApiSource(server, cache)


def read(source, *names, **selected):
    lines = []
    report = ReadingReport(lines.append)
    found = list(source.read(EntitySelection(entities=frozenset(names), **selected), report))
    report.finish()
    return found, report, [json.loads(line) for line in lines]


def test_entities_come_as_a_dump_has_them_fifty_a_request(tmp_path):
    made = [entity(f"Q{n}", statement(item("P57", "Q1"), entity=f"Q{n}")) for n in range(1, 121)]
    wikibase = Wikibase(*made, entity("P57", label="director"))
    names = [row["id"] for row in made]
    with asking(wikibase, tmp_path / "answers", contact="me@example.org") as source:
        found, report, _ = read(source, *names, properties=frozenset({"P57"}))
    dump = DumpSource([write_dump(tmp_path / "dump.json", *made, entity("P57", label="director"))])
    chosen = EntitySelection(properties=frozenset({"P57"}))
    assert {result.id: result for result in found} == {
        listed_entity.id: listed_entity for listed_entity in dump.read(chosen, ReadingReport())
    }
    assert [len(asked["ids"].split("|")) for asked in wikibase.asked] == [50, 50, 21]
    assert {asked["maxlag"] for asked in wikibase.asked} == {"5"}
    (agent,) = wikibase.agents
    assert agent.startswith("benchloom/")
    assert agent.endswith("(me@example.org)")
    assert not report.counts


def test_what_was_answered_is_not_asked_for_again(tmp_path):
    wikibase, cache = Wikibase(entity("Q1"), entity("Q2")), tmp_path / "answers"
    with asking(wikibase, cache) as source:
        first = read(source, "Q1", "Q3")
        again = read(source, "Q1", "Q3")
        more = read(source, "Q1", "Q2", "Q3")
        assert again[0] == first[0]
        assert [asked["ids"] for asked in wikibase.asked] == ["Q1|Q3", "Q2"]
        assert [each.id for each in more[0]] == ["Q1", "Q2"]
        assert more[1].counts == {"no such entity": 1}
        (folder,) = cache.iterdir()
        files = sorted(path.relative_to(folder).as_posix() for path in cache.rglob("*.json"))
        assert files == ["01/Q1.json", "02/Q2.json", "03/Q3.json"]
        before = (folder / "01/Q1.json").read_bytes()
        (folder / "01/Q1.json").unlink()
        read(source, "Q1")
        assert (folder / "01/Q1.json").read_bytes() == before
        (folder / "01/Q1.json").write_text("{")
        with pytest.raises(BadInput, match=r"Q1\.json: is not valid JSON"):
            read(source, "Q1")


def test_an_id_of_another_server_is_asked_for(tmp_path):
    one, another = (Wikibase(entity("Q1", label=label)) for label in ("one", "another"))
    with asking(one, tmp_path) as first, asking(another, tmp_path) as second:
        labels = [found.labels[0].text for source in (first, second) for found in read(source, "Q1")[0]]
    assert labels == ["one", "another"]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.wikidata.org/w/api.php", "www.wikidata.org"),
        ("http://localhost:8181/w/api.php", "localhost-8181"),
        ("https://example.org/wiki/one/api.php", "example.org-wiki-one-api.php"),
        ("http://[::1]:80/w/api.php", "1-80"),
        ("http://../../api.php", "api.php"),
    ],
)
def test_the_folder_of_a_server_is_one_plain_name(url, name):
    assert name_server(url) == name


def test_redirects_lead_to_one_entity_and_are_kept(tmp_path):
    wikibase = Wikibase(entity("Q1"), entity("Q2"))
    wikibase.redirects = {"Q70": "Q1", "Q80": "Q1"}
    with asking(wikibase, tmp_path) as source:
        for _ in range(2):  # the second time from the cache folder
            found, report, _ = read(source, "Q1", "Q2", "Q70", "Q80")
            assert [result.id for result in found] == ["Q1", "Q2"]
            assert report.redirects == {"Q70": "Q1", "Q80": "Q1"}
    assert len(wikibase.asked) == 1


def test_an_id_that_never_was_is_named_and_the_others_come(tmp_path):
    never = "Q99999999999"
    with asking(Wikibase(entity("Q1")), tmp_path) as source:
        found, _, lines = read(source, "Q1", "Q5", never)
    assert [result.id for result in found] == ["Q1"]
    assert [(line["reason"], line["entity"]) for line in lines] == [
        ("no such entity", "Q5"),
        ("no such entity", never),
    ]


def test_another_entity_than_was_asked_for_is_not_taken(tmp_path):
    wikibase = Wikibase(entity("Q1"))
    wikibase.entities["Q2"] = entity("Q3")
    with asking(wikibase, tmp_path) as source:
        found, report, _ = read(source, "Q2")
    assert (found, report.counts) == ([], {"another entity was answered": 1})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda: web.Response(status=403, text="Too many\nrequests by you"),
            "answered 403: Too many requests by you",
        ),
        (lambda: web.Response(status=302, headers={"Location": "http://169.254.1.1/"}), "answered 302"),
        (
            lambda: web.json_response({"error": {"code": "badtoken", "info": "No."}}),
            "refused the request: badtoken: No.",
        ),
        (lambda: web.json_response([1]), "the response does not contain `entities`"),
        (lambda: web.json_response({"entities": {"Q2": {}}}), "the response does not contain Q1"),
        (
            lambda: web.Response(text='{"entities":{"Q1":{"x":%s}}}' % ("[" * 900 + "]" * 900)),
            "nested too deeply",
        ),
        (lambda: web.json_response({"error": {"code": ["maxlag"], "id": ["Q1"]}}), "maxlag"),
        (lambda: web.Response(body=b"x" * 200_000), "sent more than 100,000 bytes"),
        (lambda: web.Response(text="[" * 9_000), "returned invalid JSON"),
        (lambda: web.json_response(LAG), "maxlag"),
    ],
)
def test_a_server_that_does_not_serve_is_one_clear_line(tmp_path, answer, said):
    wikibase = Wikibase(before=[answer() for _ in range(3)])
    with (
        asking(wikibase, tmp_path, retries=2, most_bytes=100_000) as source,
        pytest.raises(DatabaseGone, match=said) as error,
    ):
        read(source, "Q1")
    assert "\n" not in str(error.value)
    assert not list(tmp_path.rglob("*.json"))


def test_a_server_that_is_not_there_ends_after_its_patience(tmp_path):
    source = ApiSource(WebServer("http://127.0.0.1:9/w/api.php", first_wait_s=0.01, retries=2), tmp_path)
    with pytest.raises(DatabaseGone, match=r"\(3 attempts\)"):
        read(source, "Q1")


def test_a_selection_by_no_id_is_refused(tmp_path):
    with pytest.raises(BadInput, match="only by id"):
        list(ApiSource(WebServer("http://127.0.0.1:9/"), tmp_path).read(EntitySelection(), ReadingReport()))


@needs("wikidata")
def test_real_answers_come_through(tmp_path):
    files = ("wdtk_wbgetentities-Q32063953.json", "wdtk_wbgetentities-Q6-Q42-P31.json")
    replies = [json.loads((EXCERPT / name).read_bytes()) for name in files]
    merged = {"entities": {**replies[0]["entities"], **replies[1]["entities"]}, "success": 1}
    with asking(Wikibase(before=[web.json_response(merged)]), tmp_path) as source:
        found, report, lines = read(source, "Q6", "Q42", "Q32063953", properties=frozenset({"P31"}))
    assert [result.id for result in found] == ["P31", "Q42", "Q1040"]
    assert report.redirects == {"Q32063953": "Q1040"}
    assert [line["entity"] for line in lines if line["reason"] == "no such entity"] == ["Q6"]
