import json
from collections import Counter

import pytest
from aiohttp import web

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.web import WebServer
from tasks.sources.wikipedia.api import WikipediaApi
from tests.models.scenes import serving
from tests.sources.wikipedia.scenes import ALM, Heard

PAGE = {
    "pageid": 1, "ns": 0, "title": "Alm", "contentmodel": "wikitext", "lastrevid": 901,
    "revisions": [{"revid": 901, "parentid": 5, "slots": {"main": {
        "contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": ALM}}}],
}  # fmt: skip


class Wiki:
    """A MediaWiki server on loopback. answers: (status, headers, body) to send before correct answers."""

    def __init__(self):
        self.answers = []
        self.asked = Counter()
        self.seen = []

    async def answer(self, request):
        query = dict(request.query)
        self.seen.append((query, request.headers["User-Agent"]))
        self.asked[query["titles"]] += 1
        if self.answers:
            status, headers, body = self.answers.pop(0)
            return web.Response(
                status=status, headers=headers, text=body if isinstance(body, str) else json.dumps(body)
            )
        return web.json_response(self.find(query))

    def find(self, query):
        title = query["titles"]
        if title in {"Alm", "Old Alm"}:
            followed = {"redirects": [{"from": "Old Alm", "to": "Alm"}]} if title == "Old Alm" else {}
            if "rdcontinue" not in query:
                first = {**PAGE, "redirects": [{"pageid": 2, "ns": 0, "title": "Old Alm"}]}
                more = {"rdcontinue": "5", "continue": "||revisions|info"}
                return {"continue": more, "query": {**followed, "pages": [first]}}
            rest = {
                "pageid": 1,
                "ns": 0,
                "title": "Alm",
                "redirects": [{"pageid": 3, "ns": 0, "title": "Alm town"}],
            }
            return {"batchcomplete": True, "query": {**followed, "pages": [rest]}}
        if title == "A":
            return {
                "batchcomplete": True,
                "query": {"redirects": [{"from": "A", "to": "B"}, {"from": "B", "to": "A"}]},
            }
        if title == "Hidden":
            page = {
                "pageid": 5,
                "ns": 0,
                "title": "Hidden",
                "revisions": [{"revid": 6, "slots": {"main": {"texthidden": True}}}],
            }
            return {"batchcomplete": True, "query": {"pages": [page]}}
        if title == "Talk:Alm":
            return {"batchcomplete": True, "query": {"pages": [{**PAGE, "ns": 1}]}}
        return {"batchcomplete": True, "query": {"pages": [{"ns": 0, "title": title, "missing": True}]}}


@pytest.fixture
def wiki():
    return Wiki()


@pytest.fixture
def url(wiki):
    app = web.Application()
    app.router.add_get("/w/api.php", wiki.answer)
    with serving(app) as base:
        yield base.removesuffix("/v1") + "/w/api.php"


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def api(url, heard, waits, tmp_path):
    source = WikipediaApi(
        WebServer(url, "ann@example.org", most_bytes=100_000), heard.append, tmp_path / "cache", waits.append
    )
    yield source
    source.close()


def test_an_article_comes_with_all_its_aliases(api, wiki):
    article = api.find("old_Alm")
    assert (article.title, article.id, article.revision) == ("Alm", 1, 901)
    assert article.aliases == ("Alm town", "Old Alm")
    assert [part.text for part in article.parts] == ["Alm is a town.", "It has 5 km of walls.", "A tower."]
    query, agent = wiki.seen[0]
    assert (query["maxlag"], query["formatversion"], query["rvslots"]) == ("5", "2", "main")
    assert "ann@example.org" in agent


def test_what_was_asked_once_is_never_asked_again(api, wiki, url, heard, tmp_path):
    assert [article.title for article in api.stream(["Alm", "Old Alm", "Alm"])] == ["Alm"]
    asked = wiki.asked.copy()
    again = WikipediaApi(WebServer(url), heard.append, tmp_path / "cache")
    assert again.find("Alm").aliases == ("Alm town", "Old Alm")
    again.close()
    assert wiki.asked == asked
    before = {file.name: file.read_bytes() for file in (tmp_path / "cache").iterdir()}
    assert all(json.loads(content)["answer"] for content in before.values())


@pytest.mark.parametrize(
    ("content", "what"),
    [("{", "is not valid JSON"), ("[1]", "is not a cached response"), ("{}", "is not a cached response")],
)
def test_a_kept_answer_that_is_damaged_is_named(api, wiki, content, what, tmp_path):
    api.find("Nowhere")
    (path,) = (tmp_path / "cache").iterdir()
    path.write_text(content)
    with pytest.raises(BadInput, match=what) as error:
        api.find("Nowhere")
    assert str(error.value).startswith(str(path))
    path.unlink()
    assert api.find("Nowhere") is None
    assert wiki.asked == {"Nowhere": 2}


def test_what_is_no_article_is_said(api, heard):
    for title in ("Nowhere", "A", "Hidden", "Talk:Alm", "a|b", ""):
        assert api.find(title) is None
    assert heard.reasons() == {
        "Nowhere": "missing", "A": "redirect_circle", "Hidden": "broken", "Talk:Alm": "missing", "a|b": "broken", "": "broken",
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [{"redirects": 5}, {"pages": 5}, {"pages": [{"ns": 0, "title": "Alm", "missing": True, "redirects": 5}]}],
)
def test_an_answer_of_another_shape_has_no_article(api, wiki, heard, query):
    wiki.answers = [(200, {}, {"query": query})]
    assert api.find("Alm") is None
    assert heard.reasons() == {"Alm": "missing"}


def test_a_busy_wiki_is_asked_again_when_it_says(api, wiki, waits):
    lag = {"error": {"code": "maxlag", "info": "Waiting for a server: 7 seconds lagged.", "lag": 7}}
    wiki.answers = [(200, {"Retry-After": "5"}, lag), (429, {"Retry-After": "11"}, ""), (503, {}, "busy")]
    assert api.find("Alm").title == "Alm"
    assert waits == [5, 11, 4]


def test_a_wiki_that_stays_busy_ends_in_one_line(api, wiki, waits):
    wiki.answers = [(503, {}, "")] * 9
    with pytest.raises(DatabaseGone, match=r"answered 503: .*\(9 attempts\)") as error:
        api.find("Alm")
    assert "\n" not in str(error.value)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_wait_of_days_is_not_begun(api, wiki, waits):
    wiki.answers = [(503, {"Retry-After": "9999999"}, "")]
    with pytest.raises(DatabaseGone, match=r"answered 503: .*\(1 attempts\)"):
        api.find("Alm")
    assert waits == []


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ((404, {}, "no"), "answered 404"),
        ((200, {}, "x" * 100_001), "sent more than 100,000 bytes"),
        ((302, {"Location": "http://elsewhere.invalid/"}, ""), "answered 302"),
        ((200, {"Content-Type": "text/html"}, "<html>"), "returned an HTML page instead of JSON"),
        ((200, {}, [1]), "the response is not a JSON object"),
        (
            (200, {}, {"error": {"code": "badvalue", "info": "Unrecognized\nvalue"}}),
            "refused the request: badvalue: Unrecognized value",
        ),
    ],
)
def test_what_is_no_api_is_refused_in_one_line_and_not_kept(api, wiki, answer, what, tmp_path):
    wiki.answers = [answer]
    with pytest.raises(DatabaseGone, match=what) as error:
        api.find("Alm")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "cache").exists()


def test_an_api_is_asked_for_titles_alone(api):
    with pytest.raises(BadInput, match="only by title"):
        list(api.stream())
