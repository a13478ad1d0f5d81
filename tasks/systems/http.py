"""A system behind HTTP: one POST a question, its JSON reply read by paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.models.ask import Answer, Ask
from tasks.systems.contract import Passage, Response, Turn
from tasks.systems.entries import HttpCall, HttpEntry
from tasks.systems.replies import Reply, ReplyPaths, make_response, read_reply


class HttpSystem:
    """Posts what the entry's `body` says; where it goes stands under `run.systems.<name>`."""

    def __init__(self, name: str, entry: HttpEntry, ask: Ask) -> None:
        self.name, self.version = name, entry.version
        self._entry, self._ask = entry, ask

    async def answer(self, question: str, *, row: str, history: Sequence[Turn] = ()) -> Response:
        """Answer one question."""
        call = self._entry.answer
        paths = find_paths(call, call.text)
        return make_response(await self._put(call, paths, question, history, row))

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve by the call `search`; None where there is none, or where it failed."""
        call = self._entry.search
        if call is None:
            return None
        paths = find_paths(call, None)
        reply = (await self._put(call, paths, query, (), row)).value
        return None if reply is None else reply.passages

    async def _put(
        self, call: HttpCall, paths: ReplyPaths, question: str, history: Sequence[Turn], row: str
    ) -> Answer[Reply]:
        body = fill_body(call.body, question, history)
        return await self._ask.system(
            self.name,
            self.version,
            {"path": call.path, "body": body},
            send=lambda door: door.post(call.path, body),
            row=row,
            parse=lambda text: read_reply(text, paths, needs_text=paths.text is not None),
        )


def find_paths(call: HttpCall, text: str | None) -> ReplyPaths:
    """Gather where a call's reply holds what."""
    return ReplyPaths(text, call.passages, call.contexts, call.ids, call.titles, call.scores)


def fill_body(template: Any, question: str, history: Sequence[Turn]) -> Any:
    """Fill `{question}`, `{history}` and `{messages}` into a body's strings."""
    if isinstance(template, dict):
        return {name: fill_body(value, question, history) for name, value in template.items()}
    if isinstance(template, list):
        return [fill_body(value, question, history) for value in template]
    if template == "{history}":
        return [{"question": turn.question, "answer": turn.answer} for turn in history]
    if template == "{messages}":
        said = [
            {"role": role, "content": text}
            for turn in history
            for role, text in (("user", turn.question), ("assistant", turn.answer))
        ]
        return [*said, {"role": "user", "content": question}]
    return template.replace("{question}", question) if isinstance(template, str) else template
