"""Hostile replies of a model endpoint (tests.hostile.wire).

`content`: parts of a text in a valid reply; `embeds`: the request asks to embed two texts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.databases.columns import Column
from tasks.errors import ModelFailed
from tasks.grammar.construct.sql_templates import TemplateKind, parse_answer
from tasks.judging.verdicts import VerdictForm
from tasks.models.ask import Role, Unparsed
from tasks.models.calls import Call
from tasks.models.logprobs import compare_choices
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.entries import UNANSWERED
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import Endpoint
from tests.hostile.subject import Kind, Outcome, Subject
from tests.hostile.wire import KEY, SCALARS, Reply, Wire, join_parts, make_reply, make_value, open_wire

MODEL, KEY_ENV = "hostile", "BENCHLOOM_HOSTILE_KEY"
SETTINGS = {"timeout_s": 2.0, "deadline_s": 4.0, "retries": 0, "breaker": 10**6, "max_bytes": 1_000_000}
SIMPLE = TemplateKind(tables=(1, 2), placeholders=1, templates=1, requests=1, criteria=("c",))
SCHEMA = [
    Column("films.title", "films", "title", "text", False, False, None, True),
    Column("films.year", "films", "year", "integer", True, False, None, True),
]
ROLE = Role(model=MODEL, max_tokens=64, attempts=1, logprobs=True)


def read_json(text: str) -> object:
    """Parse JSON without a limit on nesting."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unparsed("no JSON") from error


def read_sql(text: str) -> object:
    return parse_answer(text, SCHEMA, SIMPLE, "SELECT 1")


def read_verdict(text: str) -> object:
    return VerdictForm(("Correct", "Incorrect"), "3fa91c").parse(text)


PARSERS: list[Callable[[str], object]] = [read_json, read_sql, read_verdict]


class AskingModel:
    """Calls an endpoint through the whole model layer, and reads the answer again from the ledger alone."""

    limit_s = 3.0

    def __init__(
        self, wire: Wire, folder: Path, client: ModelClient, live: Dispatcher, replay: Dispatcher
    ) -> None:
        self._wire, self._folder, self._live, self._replay, self._number = wire, folder, live, replay, 0
        self._client = client
        (folder / "ask.md").write_text("# user\nNumber {{ number }}?\n")

    def throw(self, value: Reply) -> Outcome:
        self._number += 1
        self._wire.reply = make_sound(value) if "content" in value else value
        ask = self._open(self._live)
        # An input may mark the endpoint as unusable; the next input is from another endpoint.
        self._client.find_endpoint(MODEL).refuses = None
        try:
            answers = asyncio.run(self._ask(ask, bool(value.get("embeds"))))
        except ModelFailed as error:
            return Outcome("refused", self._check_key(str(error)))
        replayed = self._open(self._replay)
        assert asyncio.run(self._ask(replayed, bool(value.get("embeds")))) == answers
        assert replayed.call_rows() == ask.call_rows()
        assert all(
            0 <= count <= 10**8
            for call in ask.call_rows()
            for count in (call.prompt_tokens, call.completion_tokens)
        )
        write_rows(self._folder / "x.calls.parquet", Call, ask.call_rows())
        assert read_rows(self._folder / "x.calls.parquet", Call) == ask.call_rows()
        self._check_key(repr((answers, ask.call_rows())))
        if all(call.finish_reason == UNANSWERED for call in ask.call_rows()):
            return Outcome("refused", ask.call_rows()[0].text)
        return Outcome("answered", "recorded, and read again")

    def _check_key(self, text: str) -> str:
        assert KEY not in text
        return text

    def look(self) -> object:
        return [path.name for path in self._folder.iterdir() if KEY.encode() in path.read_bytes()]

    def _open(self, dispatcher: Dispatcher) -> RecordedModel:
        return RecordedModel(RequestBuilder("hostile.ask", self._folder, {"it": ROLE}), dispatcher)

    async def _ask(self, ask: RecordedModel, embeds: bool) -> object:
        if embeds:
            return await ask.embed([f"text {self._number}", f"another {self._number}"], role="it", row="r")
        answers = [
            await ask("ask", {"number": self._number}, role="it", row="r", parse=parse, top_logprobs=2)
            for parse in PARSERS
        ]
        return [(repr(answer), compare_choices(answer.logprobs, ["yes", "no"])) for answer in answers]


def make_sound(value: Reply) -> Reply:
    """Return a valid chat completion of a text."""
    text = json.dumps(join_parts(value["content"]).decode("latin-1"))
    start, end = '{"choices": [{"message": {"role": "assistant", "content": ', '}, "finish_reason": "stop"}]}'
    return {**value, "body": [start, text, end]}


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv(KEY_ENV, KEY)
        wire = stack.enter_context(open_wire())
        budget, ledger = Budget(), stack.enter_context(Ledger(folder / "ledger.sqlite"))
        settings = Endpoint(url=wire.url, key_env=KEY_ENV, **SETTINGS)
        client = ModelClient({MODEL: settings}, budget, record_possibly_paid=ledger.record_possibly_paid)
        live = stack.enter_context(Dispatcher(ledger, client, budget))
        yield AskingModel(wire, folder, client, live, stack.enter_context(Dispatcher(ledger, None, budget)))


NAMES = [
    "choices", "message", "content", "finish_reason", "usage", "prompt_tokens", "completion_tokens",
    "logprobs", "token", "logprob", "top_logprobs", "data", "embedding", "index", "error", "code",
]  # fmt: skip
TEXTS = [
    "SELECT title FROM films WHERE ", "title = '[films.title]'", "(", ")", "SELECT ", "WITH a AS (", ",",
    "--", " UNION ", "/*", "'", "[", "]", "{", "}", '"', "Verdict: Correct", "\n", "Verdict:", "> ", "```",
    "NOT ", "CASE WHEN ", "=[", "{key}", "{escaped key}", "\x00", "\x1b[2J", "\xe9", "\\", "*", "<think>",
]  # fmt: skip


def make(random: Random) -> Reply:
    """Generate a text for the parsers, a completion with odd values, or something like a completion."""
    chance = random.random()
    if chance < 0.4:
        texts = [random.choice(TEXTS) for _ in range(random.randint(1, 8))]
        return {"content": [[text, random.choice([1, 1, 1, 60, 2_000])] for text in texts]}
    odd = make_value(random, NAMES)
    if chance < 0.55:
        rows = [f'{{"index":{number},"embedding":[{odd},0.5]}}' for number in range(2)]
        usage = make_value(random, NAMES)
        return {**make_reply(random, [f'{{"data":[{",".join(rows)}],"usage":{usage}}}']), "embeds": True}
    if chance < 0.75:
        return make_reply(random, [odd])
    text, token, logprob, prompt, completion = random.choices(SCALARS, k=5)
    usage = f'{{"prompt_tokens":{prompt},"completion_tokens":{completion}}}'
    logprobs = f'{{"content":[{{"token":{token},"logprob":{logprob}}},{make_value(random, NAMES)}]}}'
    choice = f'{{"message":{{"content":{text}}},"finish_reason":{odd},"logprobs":{logprobs}}}'
    return make_reply(random, [f'{{"choices":[{choice}],"usage":{usage}}}'])


KIND = Kind(at_least=60, open=open_subject, make=make)
