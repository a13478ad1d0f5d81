"""Hostile replies of an HTTP system (tests.hostile.wire), read by paths; `search`: a retrieval request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import TypeAdapter

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import ModelFailed
from tasks.models.calls import Call
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.systems import SystemClient
from tasks.models.settings import SystemRun
from tasks.systems.build import SystemEntry, build_system
from tasks.systems.contract import Response
from tests.hostile.subject import Kind, Outcome, Subject
from tests.hostile.wire import KEY, SCALARS, Reply, Wire, make_reply, make_value, open_wire

KEY_ENV = "BENCHLOOM_HOSTILE_SYSTEM_KEY"
COLUMNS = {"passages": "sources", "contexts": "text", "ids": "id", "titles": "title", "scores": "score"}
ENTRY = TypeAdapter(SystemEntry).validate_python(
    {
        "kind": "http",
        "version": "1",
        "answer": {"path": "/answer", "body": {"q": "{question}"}, "text": "answer.text", **COLUMNS},
        "search": {"path": "/search", "body": {"q": "{question}"}, "contexts": "[].text", "ids": "[].id"},
    }
)
SETTINGS: dict[str, Any] = {
    "timeout_s": 2.0, "deadline_s": 4.0, "retries": 0, "breaker": 10**6, "max_bytes": 1_000_000,
}  # fmt: skip


class AskedSystem:
    """Calls a system through the whole model layer, and reads the answer again from the ledger alone."""

    limit_s = 3.0

    def __init__(self, wire: Wire, folder: Path, live: Dispatcher, replay: Dispatcher) -> None:
        self._wire, self._folder, self._live, self._replay, self._number = wire, folder, live, replay, 0

    def throw(self, value: Reply) -> Outcome:
        self._number += 1
        self._wire.reply = value
        try:
            answer, calls = self._ask(self._live, bool(value.get("search")))
        except ModelFailed as error:
            assert KEY not in str(error)  # noqa: PT017 - it must not be said, whatever is raised
            return Outcome("refused", str(error))
        assert self._ask(self._replay, bool(value.get("search"))) == (answer, calls)
        write_rows(self._folder / "x.calls.parquet", Call, calls)
        assert read_rows(self._folder / "x.calls.parquet", Call) == calls
        assert KEY not in repr((answer, calls))
        repr(asdict(answer)).encode()
        if answer.text is None:
            return Outcome("failed", answer.problem)
        return Outcome("answered", f"{len(answer.passages or ())} passages")

    def look(self) -> object:
        return [path.name for path in self._folder.iterdir() if KEY.encode() in path.read_bytes()]

    def _ask(self, dispatcher: Dispatcher, searches: bool) -> tuple[Response, list[Call]]:
        ask = RecordedModel(RequestBuilder("hostile.ask", self._folder, {}), dispatcher)
        system = build_system("mine", ENTRY, [], ask)
        question = f"question {self._number}"
        if not searches:
            return asyncio.run(system.answer(question, row="r")), ask.call_rows()
        found = asyncio.run(system.retrieve(question, row="r"))
        (call,) = ask.call_rows()
        return Response(None if found is None else "", found, (call.id,), call.problem), [call]


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv(KEY_ENV, KEY)
        wire = stack.enter_context(open_wire())
        budget, ledger = Budget(), stack.enter_context(Ledger(folder / "ledger.sqlite"))
        systems = SystemClient({"mine": SystemRun(url=wire.url, key_env=KEY_ENV, **SETTINGS)})
        live = stack.enter_context(Dispatcher(ledger, ModelClient({}, budget), budget, systems=systems))
        yield AskedSystem(wire, folder, live, stack.enter_context(Dispatcher(ledger, None, budget)))


NAMES = ["answer", "text", "sources", "id", "title", "score", "error", "message"]


def make(random: Random) -> Reply:
    """Generate a reply with odd values in answer and passages, or one that only resembles a reply."""
    odd = make_value(random, NAMES)
    if random.random() < 0.3:
        return {**make_reply(random, [odd]), "search": random.random() < 0.5}
    passages = []
    for _ in range(random.randint(0, 3)):
        parts = [f'"{name}":{random.choice([*SCALARS, odd])}' for name in ("id", "title", "text", "score")]
        passages.append("{" + ",".join(random.sample(parts, random.randint(1, 4))) + "}")
    if random.random() < 0.3:
        return {**make_reply(random, [f"[{','.join(passages)}]"]), "search": True}
    text = random.choice([*SCALARS, '"fine"', '"fine"', '"fine"'])
    return make_reply(random, [f'{{"answer":{{"text":{text}}},"sources":[{",".join(passages)}]}}'])


KIND = Kind(at_least=60, open=open_subject, make=make)
