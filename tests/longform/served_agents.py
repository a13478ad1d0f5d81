"""Agents' models as endpoints on loopback that reply by a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from aiohttp import web

from tasks.models.ask import Answer, Role, render_prompt
from tasks.models.calls import Call
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tests.longform.scripted_agents import PROMPTS, Asked
from tests.models.scenes import answering, make_endpoint, say

PROMPT_TOKENS, COMPLETION_TOKENS = 1_000, 40
"""The recorded latency of every call."""


class ServedAgents:
    """An `ask` of the model layer with one endpoint per role; stores every request.

    models: role -> name of its endpoint. reply: function that returns the reply to a request.
    """

    def __init__(self, models: Mapping[str, str], reply: Callable[[Asked], str], ledger: Path) -> None:
        self.asked: list[Asked] = []
        self._models, self._reply, self._ledger = models, reply, ledger
        self._known: dict[tuple[str, str], Asked] = {}
        self._open = ExitStack()

    def __enter__(self) -> ServedAgents:
        """Start the endpoints."""
        roles = {role: Role(model=name, attempts=1) for role, name in self._models.items()}
        urls = {
            name: self._open.enter_context(answering(self._make_handler(name)))
            for name in self._models.values()
        }
        endpoints = {name: make_endpoint(url) for name, url in urls.items()}
        client = ModelClient(endpoints, Budget())
        dispatcher = self._open.enter_context(Dispatcher(Ledger(self._ledger), client))
        builder = RequestBuilder("longform.interactions", PROMPTS, roles)
        self._model = RecordedModel(builder, dispatcher)
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._open.close()

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, role: str, row: str, **more: Any
    ) -> Answer[Any]:
        """Record the row of the text, and call the model."""
        messages = render_prompt(PROMPTS / f"{prompt}.md", fields).messages
        system, user = (message["content"] for message in messages)
        key = (self._models[role], json.dumps([system, user]))
        asked = Asked(prompt, role, row, system, user, more["grammar"], more["max_tokens"])
        assert self._known.setdefault(key, asked) == asked, "two rows with one request"
        return await self._model(prompt, fields, role=role, row=row, **more)

    def list_calls(self) -> list[Call]:
        """Return the calls in the format of the stage's artifact."""
        return list(self._model.call_rows())

    def _make_handler(self, name: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            body = await request.json()
            assert body["model"] == name
            asked = self._known[name, json.dumps([message["content"] for message in body["messages"]])]
            self.asked.append(asked)
            text = self._reply(asked)
            return say(text, prompt_tokens=PROMPT_TOKENS, completion_tokens=COMPLETION_TOKENS)

        return handle
