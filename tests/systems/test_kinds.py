"""Tests of external systems through the whole model layer: HTTP, a function, an OpenAI endpoint."""

import asyncio

import pytest
from aiohttp import web

from tasks.errors import CallMissing
from tasks.models.ask import Role
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.systems import SystemClient
from tasks.models.settings import SystemRun
from tasks.systems.build import build_system
from tasks.systems.contract import Passage, Turn
from tests.models.scenes import make_endpoint, say, serving
from tests.systems.scripted import ENTRY

PATIENT = {"timeout_s": 60.0, "deadline_s": 120.0}
HISTORY = [Turn("Who leads the mill?", "Ada.")]
HTTP = {
    "kind": "http",
    "version": "7",
    "answer": {
        "path": "/answer",
        "body": {"query": "Q: {question}", "history": "{history}", "options": {"k": 2, "deep": [True]}},
        "text": "result.text",
        "passages": "sources",
        "contexts": "text",
        "ids": "id",
        "titles": "title",
        "scores": "score",
    },
    "search": {
        "path": "/search",
        "body": {"q": "{question}"},
        "contexts": "[].t",
        "ids": "[].i",
    },
}
REPLY = {
    "result": {"text": " Bo leads it. "},
    "sources": [
        {"id": "d2", "title": "Quarry", "text": "Bo leads the quarry.", "score": 0.12345678},
        {"id": 7, "title": None, "text": "The quarry is old.", "score": 0},
    ],
}


class Server:
    """A small HTTP system that also supports the OpenAI protocol."""

    def __init__(self, reply=REPLY):
        self.reply, self.bodies = reply, []

    @property
    def app(self):
        app = web.Application()
        app.router.add_post("/v1/answer", self.answer)
        app.router.add_post("/v1/search", self.search)
        app.router.add_post("/v1/chat/completions", self.chat)
        return app

    async def answer(self, request):
        self.bodies.append(await request.json())
        return web.json_response(self.reply)

    async def search(self, request):
        self.bodies.append(await request.json())
        return web.json_response([{"t": "Bo leads the quarry.", "i": "d2"}])

    async def chat(self, request):
        self.bodies.append(await request.json())
        return say(f"turn {len(self.bodies[-1]['messages'])}", prompt_tokens=5, completion_tokens=2)


def open_dispatcher(folder, url):
    ledger, budget = Ledger(folder / "l.sqlite"), Budget()
    if url is None:
        return Dispatcher(ledger, None, budget)
    client = ModelClient({"answering-model": make_endpoint(url, **PATIENT)}, budget)
    return Dispatcher(ledger, client, budget, systems=SystemClient({"mine": SystemRun(url=url, **PATIENT)}))


def run(folder, entry, work, url=None, epoch=""):
    """Run `work(system)`; return its result and the calls."""
    with open_dispatcher(folder, url) as dispatcher:
        roles = {"answerer": Role(model="answering-model", max_tokens=50, attempts=1)}
        ask = RecordedModel(RequestBuilder("paper.answer", folder, roles, epoch=epoch), dispatcher)
        system = build_system("mine", ENTRY.validate_python(entry), [], ask)
        return asyncio.run(work(system)), ask.call_rows()


async def answer(system, history=HISTORY):
    return await system.answer("Who leads the quarry?", row="r1", history=history)


def test_a_system_behind_http_is_asked_and_read_by_paths(tmp_path):
    server = Server()
    with serving(server.app) as url:
        response, (call,) = run(tmp_path, HTTP, answer, url)
    assert server.bodies == [
        {
            "query": "Q: Who leads the quarry?",
            "history": [{"question": "Who leads the mill?", "answer": "Ada."}],
            "options": {"k": 2, "deep": [True]},
        }
    ]
    assert response.text == "Bo leads it."
    assert response.passages == (
        Passage("d2", "Quarry", "Bo leads the quarry.", 0.123457),
        Passage("7", "", "The quarry is old.", 0.0),
    )
    assert response.calls == (call.id,)
    assert (call.model, call.identity, call.row, call.role) == ("mine", "7", "r1", "system")
    # The next night, without a server: the ledger alone gives the same bytes.
    replayed, calls = run(tmp_path, HTTP, answer)
    assert (replayed, calls) == (response, [call])
    with pytest.raises(CallMissing, match=r"row r1: .*system mine"):
        run(tmp_path, HTTP, answer, epoch="monday")


def test_other_paths_read_a_recorded_reply_anew(tmp_path):
    with serving(Server().app) as url:
        run(tmp_path, HTTP, answer, url)
    other = {**HTTP, "answer": {**HTTP["answer"], "text": "sources[0].title", "passages": None}}
    response, _ = run(tmp_path, other, answer)
    assert (response.text, response.passages) == ("Quarry", None)


def test_lists_beside_each_other_are_of_one_length(tmp_path):
    columns = {"passages": None, "contexts": "texts", "ids": "ids", "titles": None, "scores": None}
    entry = {**HTTP, "answer": {**HTTP["answer"], **columns}}
    for ids, passages in ((["1", "2"], 2), (["1"], None)):
        folder = tmp_path / str(len(ids))
        folder.mkdir()
        with serving(Server({"result": {"text": "x"}, "texts": ["a", "b"], "ids": ids}).app) as url:
            response, _ = run(folder, entry, answer, url)
        assert (response.passages and len(response.passages)) == passages
    assert response.problem == "the reply's lists have different lengths: ids 1, contexts 2"


def test_retrieval_alone_is_a_call_of_its_own(tmp_path):
    async def retrieve(system):
        return await system.retrieve("quarry", row="r")

    server = Server()
    with serving(server.app) as url:
        passages, calls = run(tmp_path, HTTP, retrieve, url)
    assert passages == (Passage("d2", "", "Bo leads the quarry.", 0.0),)
    assert (server.bodies, len(calls)) == ([{"q": "quarry"}], 1)
    assert run(tmp_path, {**HTTP, "search": None}, retrieve) == (None, [])


def test_an_openai_compatible_endpoint_gets_the_conversation_and_no_more(tmp_path):
    server = Server()
    with serving(server.app) as url:
        response, (call,) = run(tmp_path, {"kind": "openai"}, answer, url)
    (body,) = server.bodies
    assert body["messages"] == [
        {"role": "user", "content": "Who leads the mill?"},
        {"role": "assistant", "content": "Ada."},
        {"role": "user", "content": "Who leads the quarry?"},
    ]
    assert (response.text, response.passages, response.calls) == ("turn 3", None, (call.id,))
    assert (call.prompt_tokens, call.completion_tokens) == (5, 2)
    assert run(tmp_path, {"kind": "openai"}, answer)[0] == response


def test_instructions_and_single_turn_are_switches(tmp_path):
    server = Server()
    entry = {"kind": "openai", "instructions": "Be brief.", "multi_turn": False}
    with serving(server.app) as url:
        run(tmp_path, entry, answer, url)
    assert server.bodies[0]["messages"] == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who leads the quarry?"},
    ]  # fmt: skip


def reply_by_hand(question, history):
    if not history:
        return "first"
    return {"answer": f"{history[0]['answer']} {question}", "contexts": ["x"], "ids": ["d1"], "scores": [2]}


async def find_by_hand(query):
    return {"contexts": [query], "ids": [4]}


def test_a_function_is_a_system(tmp_path):
    entry = {
        "kind": "callable",
        "version": "1",
        "function": "tests.systems.test_kinds:reply_by_hand",
        "search": "tests.systems.test_kinds:find_by_hand",
    }

    async def all_three(system):
        return (
            await answer(system),
            await answer(system, ()),
            await system.retrieve("q", row="r"),
        )

    (second, first, found), calls = run(tmp_path, entry, all_three, "http://127.0.0.1:9")
    assert (second.text, second.passages) == ("Ada. Who leads the quarry?", (Passage("d1", "", "x", 2.0),))
    assert (first.text, first.passages) == ("first", None)
    assert found == (Passage("4", "", "q", 0.0),)
    assert len(calls) == 3
    # Replayed, the function is not even imported.
    gone = {**entry, "version": "1"}
    assert run(tmp_path, gone, all_three)[0] == (second, first, found)
    with pytest.raises(CallMissing):
        run(tmp_path, {**entry, "version": "2"}, all_three)


def test_messages_are_the_conversation_as_chat_apis_write_it(tmp_path):
    server = Server()
    body = {"messages": "{messages}", "n": 1}
    entry = {**HTTP, "answer": {**HTTP["answer"], "body": body}}
    with serving(server.app) as url:
        run(tmp_path, entry, answer, url)
    assert server.bodies[0]["messages"][-1] == {"role": "user", "content": "Who leads the quarry?"}
    assert len(server.bodies[0]["messages"]) == 3
