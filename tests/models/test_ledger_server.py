import json
import urllib.error
import urllib.request

import pytest
from openai import OpenAI

from tasks.models.ask import Request
from tasks.models.recording.ledger import Ledger
from tests.models.scenes import LedgerServer, make_entry, make_request, record, serving


def post(url, body, **headers):
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.load(reply)


def test_a_client_of_anybodys_gets_the_recorded_answer(tmp_path):
    recorded = make_request(
        3, sample=2, attempt=1, constraint={"json_schema": {"type": "object"}}, identity="abc"
    )
    with record(tmp_path / "l.sqlite", [recorded]) as ledger:
        server = LedgerServer(ledger, identities={recorded.model: "abc"})
        with serving(server.application()) as url, OpenAI(api_key="none", base_url=url) as client:
            reply = client.chat.completions.create(
                model=recorded.model,
                messages=[{"role": "user", "content": "question 3"}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": {"type": "object"}},
                },
                **recorded.decoding,
            )
            assert reply.choices[0].message.content == "answer to question 3"
            assert reply.usage.prompt_tokens == 7
            assert [model.id for model in client.models.list()] == [recorded.model]


def test_the_header_names_the_key_of_an_epoch(tmp_path):
    tonight = make_request(epoch="2026-01-02")
    with (
        record(tmp_path / "l.sqlite", [tonight]) as ledger,
        serving(LedgerServer(ledger).application()) as url,
    ):
        body = {"model": "any", "messages": []}
        reply = post(url, body, **{"X-Benchloom-Key": tonight.key()})
        assert reply["choices"][0]["message"]["content"] == "answer to question 0"


def test_a_call_that_is_not_there_is_a_clear_404(tmp_path):
    server = LedgerServer(Ledger(tmp_path / "l.sqlite"))
    with serving(server.application()) as url, pytest.raises(urllib.error.HTTPError) as caught:
        post(url, {"model": "m", "messages": [{"role": "user", "content": "?"}]})
    assert caught.value.code == 404
    assert "no ledger contains this call" in caught.value.read().decode()
    assert server.counts.missing == 1


def nest(depth):
    """Return a request whose messages are nested `depth` levels deep."""
    messages = []
    for _ in range(depth):
        messages = [messages]
    return {"model": "m", "messages": messages}


def test_a_body_that_is_no_request_is_a_400(tmp_path):
    with serving(LedgerServer(Ledger(tmp_path / "l.sqlite")).application()) as url:
        for body in ([], {"messages": []}, {"model": "m", "messages": 3}, nest(900)):
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(url, body)
            assert caught.value.code == 400


def test_more_than_its_minute_holds_is_refused_and_told_to_wait(tmp_path):
    requests = [make_request(number) for number in range(4)]
    with record(tmp_path / "l.sqlite", requests) as ledger:
        server = LedgerServer(ledger, requests_per_minute=3)
        with serving(server.application()) as url:
            for request in requests[:3]:
                post(url, {"model": "any", "messages": []}, **{"X-Benchloom-Key": request.key()})
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(url, {"model": "any", "messages": []}, **{"X-Benchloom-Key": requests[3].key()})
    assert caught.value.code == 429
    assert caught.value.headers["Retry-After"] == "1"
    assert server.counts.faults == {"limit": 1}


def test_log_probabilities_come_back(tmp_path):
    request = Request("m", ({"role": "user", "content": "?"},), {"max_tokens": 1})
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.put(make_entry(request, extra={"logprobs": {"content": []}}))
        with serving(LedgerServer(ledger).application()) as url:
            body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "max_tokens": 1}
            assert post(url, body)["choices"][0]["logprobs"] == {"content": []}


def test_the_same_seed_draws_the_same_faults(tmp_path):
    requests = [make_request(number) for number in range(40)]
    drawn = []
    with record(tmp_path / "l.sqlite", requests) as ledger:
        for seed in (1, 1, 2):
            server = LedgerServer(ledger, faults=0.5, seed=seed)
            drawn.append([server._draw_fault(request.key()) for request in requests])
    assert drawn[0] == drawn[1] != drawn[2]
    assert 8 < sum(kind is not None for kind in drawn[0]) < 32


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "elsewhere.example"},
        {"Host": "127.0.0.1.elsewhere.example:80"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
    ],
)
def test_web_pages_of_others_are_refused(tmp_path, headers):
    with record(tmp_path / "l.sqlite", [make_request()]) as ledger:
        server = LedgerServer(ledger)
        with serving(server.application()) as url:
            body, key = {"model": "any", "messages": []}, {"X-Benchloom-Key": make_request().key()}
            with pytest.raises(urllib.error.HTTPError, match="403"):
                post(url, body, **key, **headers)
            assert post(url, body, **key, Origin=url.removesuffix("/v1"))["choices"]
    assert server.counts.requests == 1
