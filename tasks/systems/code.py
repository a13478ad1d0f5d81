"""A Python function as a system under test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tasks.models.ask import Ask
from tasks.systems.contract import Passage, Response, Turn
from tasks.systems.entries import CallableEntry
from tasks.systems.replies import Reply, ReplyPaths, make_response, read_reply

PATHS = ReplyPaths(text="answer", contexts="contexts", ids="ids", titles="titles", scores="scores")
"""Where a function's result holds what; a plain string is the answer."""


class CodeSystem:
    """Calls `function(question=..., history=[{question, answer}, ...])`, sync or async.

    It returns the answer's text, or {"answer": text, "contexts": [text, ...], "ids": [id, ...]} with optional
    `titles` and `scores`. `search(query=...)` returns the same without an answer.
    """

    def __init__(
        self, name: str, entry: CallableEntry, ask: Ask, locate: Callable[[str], str] = lambda name: name
    ) -> None:
        """locate: maps a function's name in the entry to the `package.module:name` to call."""
        self.name, self.version = name, entry.version
        self._entry, self._ask, self._locate = entry, ask, locate

    async def answer(self, question: str, *, row: str, history: Sequence[Turn] = ()) -> Response:
        """Answer one question by the function; see `System.answer`."""
        turns = [{"question": turn.question, "answer": turn.answer} for turn in history]
        answer = await self._ask.system(
            self.name,
            self.version,
            {"function": self._entry.function, "question": question, "history": turns},
            send=lambda transport: transport.call(
                self._locate(self._entry.function), question=question, history=turns
            ),
            row=row,
            parse=lambda text: read_reply(text, PATHS, needs_text=True),
        )
        return make_response(answer)

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve by the function `search`, best first; None without one, or if it failed."""
        search = self._entry.search
        if search is None:
            return None
        answer = await self._ask.system(
            self.name,
            self.version,
            {"function": search, "query": query},
            send=lambda transport: transport.call(self._locate(search), query=query),
            row=row,
            parse=lambda text: read_reply(text, PATHS, needs_text=False),
        )
        reply: Reply | None = answer.value
        return None if reply is None else reply.passages
