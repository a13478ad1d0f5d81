"""Tests of servers that send replies twice, late, early, split or interleaved: replies are never mixed up."""

import asyncio
import json
import random
import re
from contextlib import asynccontextmanager

import pytest

from tasks.errors import ModelFailed
from tasks.models.request_builder import make_system_call
from tasks.models.sending import failures
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.systems import SystemClient
from tasks.models.settings import SystemRun
from tests.models.scenes import MODEL, make_endpoint, make_request

MODES = ("plain", "twice at once", "twice", "early", "in halves", "interleaved", "late")
CALLS = 1_000


def write_reply(number: str) -> bytes:
    """Return a reply that is valid for a model's endpoint, a system and Anthropic's protocol."""
    said = f"answer {number}"
    message = {"role": "assistant", "content": said}
    body = json.dumps(
        {"answer": said, "choices": [{"message": message, "finish_reason": "stop"}],
         "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
         "content": [{"type": "text", "text": said}], "usage": {"input_tokens": 9, "output_tokens": 4}}
    )  # fmt: skip
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


class Desynchronised:
    """A raw server that keeps connections open regardless of the client's headers."""

    def __init__(self) -> None:
        self.dice, self.last, self.modes = random.Random(7), b"", set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.last and self.dice.random() < 0.05:
                self.modes.add("early")
                writer.write(self.last)
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
                body = (await reader.readexactly(length)).decode()
                await self.answer(writer, re.search(r"question (\d+)", body)[1])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, writer: asyncio.StreamWriter, number: str) -> None:
        reply, mode = write_reply(number), self.dice.choice(MODES)
        self.modes.add(mode)
        if mode == "in halves":
            writer.write(reply[:60])
            await asyncio.sleep(self.dice.uniform(0, 0.02))
            writer.write(reply[60:])
        elif mode == "interleaved":
            writer.write(b"".join(bytes(pair) for pair in zip(reply, self.last or reply, strict=False)))
        elif mode == "late":
            await asyncio.sleep(self.dice.uniform(0.02, 0.1))
            writer.write(reply)
        else:
            writer.write(reply * (2 if mode == "twice at once" else 1))
        await writer.drain()
        self.last = reply
        if mode == "twice":
            await asyncio.sleep(self.dice.uniform(0, 0.1))
            writer.write(reply)
            await writer.drain()


@asynccontextmanager
async def serving_bytes(server: Desynchronised):
    opened = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{opened.sockets[0].getsockname()[1]}"
    finally:
        opened.close()


@pytest.fixture(autouse=True)
def _wait_no_longer(monkeypatch):
    monkeypatch.setattr(failures, "FIRST_WAIT_S", 0.01)


async def ask_all(client, ask) -> dict[int, str | None]:
    """Send all questions concurrently; close the client; return question -> answer."""
    try:
        return dict(await asyncio.gather(*map(ask, range(CALLS))))
    finally:
        await client.close()


def count(answers: dict[int, str | None]) -> tuple[int, int]:
    """Count correct answers, and answers assigned to a wrong question."""
    right = sum(text == f"answer {number}" for number, text in answers.items())
    given = [text for text in answers.values() if text is not None]
    return right, len(given) - right


@pytest.mark.parametrize("kind", ["openai", "provider"])
def test_no_models_reply_lands_under_another_question(kind):
    server = Desynchronised()
    own = {"provider": "anthropic", "omit": ["seed", "top_p"], "kind": kind} if kind == "provider" else {}

    async def run():
        async with serving_bytes(server) as url:
            settings = {"in_flight": 32, "retries": 8, "breaker": 10_000, **own}
            client = ModelClient({MODEL: make_endpoint(url, **settings)}, Budget())

            async def ask(number):
                try:
                    sent = await client.send({str(number): make_request(number)})
                except ModelFailed:
                    return number, None
                entry = sent[str(number)].entry
                return number, None if entry.is_unanswered else entry.text

            return await ask_all(client, ask)

    right, other = count(asyncio.run(run()))
    assert other == 0
    assert right >= CALLS * 0.99
    assert server.modes == {*MODES, "early"}


def test_no_systems_reply_lands_under_another_question():
    server = Desynchronised()

    async def run():
        async with serving_bytes(server) as url:
            settings = SystemRun(url=url, in_flight=32, retries=8, breaker=10_000, timeout_s=5)
            client = SystemClient({"ours": settings})

            async def record(entries):
                pass

            async def ask(number):
                query = {"q": f"question {number}"}
                request = make_system_call("ours", "1", query)
                sent = await client.put(
                    str(number), request, lambda way: way.post("/ask", query), lambda key: True, record
                )
                entry = sent[str(number)].entry
                return number, json.loads(entry.text)["answer"] if entry.finish_reason == "stop" else None

            return await ask_all(client, ask)

    right, other = count(asyncio.run(run()))
    assert other == 0
    assert right >= CALLS * 0.99
