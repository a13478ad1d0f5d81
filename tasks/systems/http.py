"""Call a system with an HTTP interface: one POST per question, with JMESPath expressions for the reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.models.ask import Answer, Ask
from tasks.systems.contract import Passage, Response, Turn
from tasks.systems.entries import HttpCall, HttpEntry
from tasks.systems.replies import Reply, ReplyPaths, make_response, read_reply


class HttpSystem:
    """A system that is called by HTTP: the filled-in `body` is posted to the URL in `run.systems.<name>`."""

    def __init__(self, name: str, entry: HttpEntry, ask: Ask) -> None:
        self.name, self.version = name, entry.version
        self._entry, self._ask = entry, ask

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer one question with the call `answer`; see `System.answer`."""
        call = self._entry.answer
        paths = find_paths(call, call.text)
        return make_response(await self._post(call, paths, question, history, row))

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve passages with the call `search`, best first; None if `search` is missing or failed."""
        call = self._entry.search
        if call is None:
            return None
        paths = find_paths(call, None)
        reply = (await self._post(call, paths, query, (), row)).value
        return None if reply is None else reply.passages

    async def _post(
        self, call: HttpCall, paths: ReplyPaths, question: str, history: Sequence[Turn], row: str
    ) -> Answer[Reply]:
        body = fill_body(call.body, question, history)
        return await self._ask.system(
            self.name,
            self.version,
            {"path": call.path, "body": body},
            send=lambda transport: transport.post(call.path, body),
            row=row,
            parse=lambda text: read_reply(text, paths, needs_text=paths.text is not None),
        )


def find_paths(call: HttpCall, text: str | None) -> ReplyPaths:
    """Return the paths for a call's reply. `text`: the answer's path; None if the call only retrieves."""
    return ReplyPaths(text, call.passages, call.contexts, call.ids, call.titles, call.scores)


def fill_body(template: Mapping[str, object], question: str, history: Sequence[Turn]) -> dict[str, object]:
    """Return a body with its placeholders filled in, recursively.

    `{question}` is replaced within strings; `{history}` and `{messages}` only if they are a whole string.
    """
    return {name: _fill_value(value, question, history) for name, value in template.items()}


def _fill_value(template: object, question: str, history: Sequence[Turn]) -> object:
    if isinstance(template, dict):
        return fill_body(template, question, history)
    if isinstance(template, list):
        return [_fill_value(value, question, history) for value in template]
    if template == "{history}":
        return [{"question": turn.question, "answer": turn.answer} for turn in history]
    if template == "{messages}":
        messages = [
            {"role": role, "content": text}
            for turn in history
            for role, text in (("user", turn.question), ("assistant", turn.answer))
        ]
        return [*messages, {"role": "user", "content": question}]
    return template.replace("{question}", question) if isinstance(template, str) else template
