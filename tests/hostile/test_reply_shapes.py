"""Tests of all known forms of endpoint replies, and the client's reaction to each.

A server sends the form once, then a valid reply. The test observes whether the client retries, records the
call as possibly paid, fails the item, or ends the run.
"""

import asyncio
import json

import pytest
from aiohttp import web

from tasks.errors import ModelFailed
from tasks.models.sending import failures
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tests.models.scenes import MODEL, answering, make_endpoint, make_request, say

USABLE, FREE, PAID = "usable", "asked again, never paid", "asked again, possibly paid"
ITEM, ITEM_PAID = "this item fails", "this item fails, possibly paid"
ALL, ALL_PAID = "the run ends", "the run ends, possibly paid"


def complete(content="Alta", finish="stop", message=None, **more):
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **(message or {})}}
    choice |= {"finish_reason": finish, **more.pop("choice", {})}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], **more}


def error(status, message, /, **more):
    return status, {"error": {"message": message, **more}}


def part(kind, **more):
    return {"type": kind, **more}


SOUND = [
    ("plain text", complete(), "Alta", "stop"),
    ("an empty text", complete(""), "", "stop"),
    ("no content", complete(None), "", "stop"),
    ("no finish reason", complete(finish=None), "Alta", "stop"),
    ("an odd finish reason", complete(finish="a\nb"), "Alta", "stop"),
    ("a server's own word for the end", complete(finish="eos"), "Alta", "eos"),
    ("cut", complete(finish="length"), "Alta", "length"),
    ("cut, in capitals", complete(finish="MAX_TOKENS"), "Alta", "length"),
    ("cut by the context", complete(finish="model_length"), "Alta", "length"),
    ("filtered", complete(finish="content_filter"), "Alta", "content_filter"),
    (
        "filtered, with its reason",
        complete(finish="content_filter: PROHIBITED_CONTENT"),
        "Alta",
        "content_filter",
    ),
    ("filtered for safety", complete(finish="SAFETY"), "Alta", "content_filter"),
    ("filtered before a word", complete(None, "content_filter"), "", "content_filter"),
    ("parts of text", complete([part("text", text="Al"), part("text", text="ta")]), "Alta", "stop"),
    ("an output part", complete([part("output_text", text="Alta")]), "Alta", "stop"),
    ("a part without a type", complete([{"text": "Alta"}]), "Alta", "stop"),
    ("parts that are texts", complete(["Al", "ta"]), "Alta", "stop"),
    ("one part without a list", complete(part("text", text="Alta")), "Alta", "stop"),
    ("a part with a value", complete([part("text", text={"value": "Alta"})]), "Alta", "stop"),
    (
        "thinking, then text",
        complete([part("thinking", thinking="Hm."), part("text", text="Alta")]),
        "Alta",
        "stop",
    ),
    (
        "thinking in parts",
        complete([part("thinking", thinking=[part("text", text="Hm.")]), part("text", text="Alta")]),
        "Alta",
        "stop",
    ),
    ("thinking that is hidden", complete([part("redacted_thinking", data="x"), "Alta"]), "Alta", "stop"),
    ("no parts", complete([]), "", "stop"),
    ("a think block", complete("<think>Bera?</think>\n\nAlta"), "Alta", "stop"),
    ("a think block without its beginning", complete("Bera?</think>Alta"), "Alta", "stop"),
    ("a think block that is cut", complete("<think>Bera", "length"), "", "length"),
    ("two think blocks", complete("<think>a</think><think>b</think>Alta"), "Alta", "stop"),
    ("a think block in capitals", complete("<THINKING>a</THINKING> Alta"), "Alta", "stop"),
    ("tags within an answer", complete("Alta <b>x</b> <think>"), "Alta <b>x</b> <think>", "stop"),
    ("reasoning beside the text", complete(message={"reasoning_content": "Hm."}), "Alta", "stop"),
    ("reasoning as an object", complete(message={"reasoning": {"content": "Hm."}}), "Alta", "stop"),
    ("a model's own refusal", complete(None, message={"refusal": "I will not."}), "I will not.", "stop"),
    ("an error that is null", complete(error=None), "Alta", "stop"),
    ("an error that is false", complete(error=False), "Alta", "stop"),
    ("two choices", {**complete(), "choices": complete()["choices"] * 2}, "Alta", "stop"),
    ("half a surrogate pair", complete("Alta \ud800"), "Alta ?", "stop"),
    ("usage of another type", complete(usage=[1]), "Alta", "stop"),
]
"""(name, body, expected text, expected finish reason)"""

BROKEN = [
    ("a choice that ended with an error", complete("Al", "error"), PAID),
    ("an error in the choice", complete("Al", choice={"error": {"message": "lost"}}), PAID),
    ("a network error as the end", complete("Al", "network_error"), PAID),
    ("no choices", complete() | {"choices": []}, PAID),
    ("choices that are null", complete() | {"choices": None}, PAID),
    ("no choice at all", {"id": "c", "object": "chat.completion"}, PAID),
    ("a choice without a message", {"choices": [{"text": "Alta", "finish_reason": "stop"}]}, PAID),
    ("a message that is null", {"choices": [{"message": None}]}, PAID),
    ("a choice that is a text", {"choices": ["Alta"]}, PAID),
    ("a list", [1, 2], PAID),
    ("a number", 3, PAID),
    ("null", None, PAID),
    ("an empty object", {}, PAID),
    ("a page", b"<html><body>Bad gateway</body></html>", PAID),
    ("nothing", b"", PAID),
    ("cut in the middle", b'{"choices": [{"message": {"content": "Al', PAID),
    ("bytes that are no text", b"\xff\xfe\x00", PAID),
    ("nested too deep", b"[" * 100_000, PAID),
    ("content that is a number", complete(3), ITEM_PAID),
    ("content that is true", complete(True), ITEM_PAID),
    ("a part that is a picture", complete([part("image_url", image_url={"url": "x"})]), ITEM_PAID),
    ("a part without a text", complete([part("text")]), ITEM_PAID),
    ("an event stream", b'data: {"choices": [{"delta": {"content": "Al"}}]}\n\ndata: [DONE]\n\n', ALL_PAID),
    ("an event stream with names", b'event: message\ndata: {"choices": []}\n\n', ALL_PAID),
    ("an event stream that begins with a comment", b": OPENROUTER PROCESSING\n\ndata: {}\n\n", ALL_PAID),
    ("a line a piece", b'{"message": {"content": "Al"}}\n{"message": {"content": "ta"}}\n', ALL_PAID),
]
"""(name, body, expected reaction)"""

ERRORS = [
    ("a limit", error(None, "slow", code=429), FREE),
    ("a limit as text", error(None, "slow", code="429"), FREE),
    ("a limit in words", error(None, "slow", code="rate_limit_exceeded"), FREE),
    ("a limit of Google's", error(None, "slow", status="RESOURCE_EXHAUSTED"), FREE),
    ("an overload", error(None, "busy", type="overloaded_error"), PAID),
    ("a fault", error(None, "oops", code=502), PAID),
    ("an error without a code", error(None, "oops"), PAID),
    ("an error as text", (None, {"error": "oops"}), PAID),
    ("an error with a part of a reply", (None, complete("Al", error={"message": "slow", "code": 429})), PAID),
    ("a filter", error(None, "filtered", code=400), ITEM),
    ("a filter in words", error(None, "filtered", code="content_filter"), ITEM),
    ("an error that is the body", (None, {"object": "error", "message": "too long", "code": 400}), ITEM),
    ("an error in a list", (None, [{"error": {"message": "too long", "code": 400}}]), ITEM),
    ("no key", error(None, "no key", code=401), ALL),
    ("no such model", error(None, "no such model", code="model_not_found"), ALL),
    ("400: too long", error(400, "too long", code="context_length_exceeded"), ITEM),
    ("400: filtered", error(400, "filtered", code="content_filter", status=400), ITEM),
    ("400 with an inner error", error(400, "x", innererror={"code": "ResponsibleAIPolicyViolation"}), ITEM),
    ("400 without a word", (400, b""), ITEM),
    ("400 of a parameter", error(400, "Unsupported value: 'top_p'", code="unsupported_value"), ALL),
    ("400 of a parameter that is not known", error(400, "Unknown: 'top_p'", code="unknown_parameter"), ALL),
    ("401", error(401, "Incorrect API key"), ALL),
    ("402", error(402, "Insufficient credits"), ALL),
    ("403", error(403, "not in your country"), ALL),
    ("403 of a moderation", error(403, "flagged", code=403, metadata={"flagged_input": "x"}), ITEM),
    ("404", error(404, "no such model"), ALL),
    ("408", error(408, "too slow"), FREE),
    ("409", error(409, "busy"), FREE),
    ("413", error(413, "too large"), ITEM),
    ("422 of FastAPI", (422, {"detail": [{"msg": "no", "loc": ["body"]}]}), ITEM),
    ("425", error(425, "early"), FREE),
    ("429", error(429, "slow"), FREE),
    ("429 of an account without money", error(429, "quota", code="insufficient_quota"), ALL),
    ("451", error(451, "not allowed"), ITEM),
    ("500", error(500, "oops"), PAID),
    ("500 as a page", (500, b"<html>oops</html>"), PAID),
    ("502", (502, b""), PAID),
    ("503", error(503, "busy"), PAID),
    ("504", error(504, "late"), PAID),
    ("524 of a proxy", (524, b"a timeout occurred"), PAID),
    ("529", error(529, "overloaded", type="overloaded_error"), PAID),
]
"""(name, (status, None for 200; body), expected reaction)"""


def throw(status, body):
    """Send the form once, then a valid reply; return the client's reaction, the entry, and the messages."""
    raw, asked, budget = body if isinstance(body, bytes) else json.dumps(body).encode(), [], Budget()

    async def answer(request):
        asked.append(await request.json())
        if len(asked) == 1:
            return web.Response(body=raw, status=status, content_type="application/json")
        return say("sound", prompt_tokens=9, completion_tokens=1)

    async def run(url):
        client = ModelClient({MODEL: make_endpoint(url)}, budget)
        try:
            return next(iter((await client.send({"k": make_request()})).values())).entry
        finally:
            await client.close()

    with answering(answer) as url:
        try:
            entry, said = asyncio.run(run(url)), ""
        except ModelFailed as failed:
            entry, said = None, str(failed)
    assert [request["stream"] for request in asked] == [False] * len(asked)
    paid = bool(budget.possibly_paid.tokens)
    if entry is None:
        outcome = ALL_PAID if paid else ALL
    elif entry.is_unanswered:
        outcome, said = (ITEM_PAID if paid else ITEM), entry.text
    elif len(asked) == 2:
        outcome = PAID if paid else FREE
    else:
        outcome = USABLE
    assert len(asked) == (2 if outcome in (FREE, PAID) else 1)
    assert budget.reserved.tokens == 0
    return outcome, entry, said


@pytest.fixture(autouse=True)
def _wait_no_longer(monkeypatch):
    monkeypatch.setattr(failures, "FIRST_WAIT_S", 0.01)


def name(case):
    return case if isinstance(case, str) else ""


@pytest.mark.parametrize(("shape", "body", "text", "finish"), SOUND, ids=name)
def test_a_usable_reply_is_read(shape, body, text, finish):
    outcome, entry, _ = throw(200, body)
    assert (outcome, entry.text, entry.finish_reason) == (USABLE, text, finish)


@pytest.mark.parametrize(("shape", "body", "outcome"), BROKEN, ids=name)
def test_a_broken_reply_is_no_answer(shape, body, outcome):
    came, entry, said = throw(200, body)
    assert came == outcome
    assert entry is None or entry.is_unanswered or entry.text == "sound"
    assert "\n" not in said


@pytest.mark.parametrize(("shape", "reply", "outcome"), ERRORS, ids=name)
def test_an_error_is_judged_by_its_code(shape, reply, outcome):
    status, body = reply
    came, _, said = throw(status or 200, body)
    assert came == outcome
    assert "\n" not in said


def test_there_are_sixty_shapes_and_more():
    names = [case[0] for case in (*SOUND, *BROKEN, *ERRORS)]
    assert len(set(names)) == len(names) >= 60
