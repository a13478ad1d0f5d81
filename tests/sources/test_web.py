"""Tests of the client for public servers, against a realistic server on loopback."""

import email.utils
import json
import time
from contextlib import contextmanager

import pytest
from aiohttp import web

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.web import (
    PASSING,
    Client,
    NotYet,
    WebServer,
    check_accepted,
    check_passing,
    read_retry_after,
    tell,
)
from tests.models.scenes import serving

LAG = {"error": {"code": "maxlag", "info": "Waiting for db1: 7.2 seconds lagged.", "lag": 7.2, "type": "db"}}


@contextmanager
def asking(*answers: web.Response, **settings: object):
    """Return a client of a server with given answers, the client's waiting times, and the requests."""
    waits: list[float] = []
    asked: list[web.Request] = []
    left = list(answers)

    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        return left.pop(0)

    app = web.Application()
    app.router.add_get("/w/api.php", answer)
    with serving(app) as url:
        server = WebServer(url.removesuffix("/v1") + "/w/api.php", **settings)
        with Client(server, waits.append) as client:
            yield client, waits, asked


def test_waits_are_those_that_the_server_asks_for():
    soon = email.utils.formatdate(time.time() + 40, usegmt=True)
    answers = [
        web.json_response(LAG, headers={"Retry-After": "5"}),
        web.Response(status=429, headers={"Retry-After": soon}),
        web.Response(status=503, text="upstream"),
        web.Response(text="<html>"),
        web.json_response({"entities": {}}),
    ]
    with asking(*answers) as (client, waits, _):
        assert client.ask("GET", {"ids": "Q1"}, "application/json", check_passing) == {"entities": {}}
    assert waits[0] == 5
    assert 30 < waits[1] <= 41
    assert waits[2:] == [4, 8]
    assert (read_retry_after("soon"), read_retry_after("-3"), read_retry_after("nan")) == (None, 0, None)


def test_more_than_the_patience_is_not_waited():
    busy = [web.Response(status=503, headers={"Retry-After": "9999999"})]
    with (
        asking(*busy) as (client, waits, _),
        pytest.raises(DatabaseGone, match=r"answered 503: .*\(1 attempts\)"),
    ):
        client.ask("GET", {}, "application/json")
    assert waits == []
    busy = [web.Response(status=503) for _ in range(4)]
    with (
        asking(*busy, first_wait_s=2, patience_s=20) as (client, waits, _),
        pytest.raises(DatabaseGone, match=r"answered 503: .*\(4 attempts\)"),
    ):
        client.ask("GET", {}, "application/json")
    assert waits == [2, 4, 8]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda: web.Response(status=404, text="no"),
            r"answered 404: no \(is it the URL of an API\?\)",
        ),
        (
            lambda: web.Response(text="<html>", content_type="text/html"),
            "returned an HTML page instead of JSON",
        ),
        (lambda: web.Response(status=302, headers={"Location": "http://elsewhere.invalid/"}), "answered 302"),
        (lambda: web.Response(status=403, text="Too\nmany \x1b[2J"), r"answered 403: Too many \[2J$"),
    ],
)
def test_what_no_wait_mends_is_asked_once(answer, said):
    with asking(answer()) as (client, waits, asked), pytest.raises(DatabaseGone, match=said):
        client.ask("GET", {}, "application/json")
    assert (waits, len(asked)) == ([], 1)


def test_a_server_hears_who_asks_for_what():
    with asking(web.json_response(1), contact="me@example.org") as (client, _, asked):
        assert client.ask("GET", {"a": "ä&b"}, "application/x") == 1
    (request,) = asked
    assert (request.query["a"], request.headers["Accept"]) == ("ä&b", "application/x")
    agent = request.headers["User-Agent"]
    assert agent.startswith("benchloom/")
    assert agent.endswith(" (me@example.org)")


def test_errors_of_mediawiki_pass_or_end_it_in_one_line():
    for code in PASSING:
        with pytest.raises(NotYet, match=code):
            check_passing({"error": {"code": code}})
    errors = {"code": "badvalue", "info": "Unrecognized\nvalue"}, {"code": ["maxlag"]}
    for error, said in zip(errors, ("badvalue: Unrecognized value", "maxlag"), strict=True):
        check_passing({"error": error})
        with pytest.raises(DatabaseGone, match=f"refused the request: .*{said}") as raised:
            check_accepted({"error": error}, "http://x")
        assert "\n" not in str(raised.value)
    for reply in ({"error": 3}, {"error": {}}):
        with pytest.raises(DatabaseGone, match="refused"):
            check_accepted(reply, "http://x")
    for reply in (None, [1], {"query": {}}):
        check_passing(reply)
        check_accepted(reply, "http://x")
    assert len(tell(json.loads("[" * 900 + "]" * 900))) < 200


def test_a_public_server_is_not_asked_without_a_contact():
    with pytest.raises(BadInput, match="--contact: is missing"):
        WebServer("https://www.wikidata.org/w/api.php")
    for url, contact in (("ftp://x/w", "me"), ("https://[x/w", "me"), ("https://x/w", "me\r\nX: y")):
        with pytest.raises(BadInput):
            WebServer(url, contact)


def test_a_password_in_an_address_is_refused_and_not_shown():
    for url in ("https://a:secret@x/w", "https://secret@x/w"):
        with pytest.raises(BadInput, match="the URL of x contains a user name or password") as error:
            WebServer(url, "me")
        assert "secret" not in str(error.value)
