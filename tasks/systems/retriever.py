"""The interface of a retriever."""

from __future__ import annotations

from typing import Protocol

from tasks.systems.chunks import Hit


class Retriever(Protocol):
    """Finds the chunks of a corpus that match a query."""

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find at most `count` chunks, best first. row: the id named in errors and in the calls artifact."""
        ...
