"""What a retriever is, and which one an entry asks for."""

from __future__ import annotations

from typing import Protocol

from tasks.systems.chunks import Hit


class Retriever(Protocol):
    """Finds pieces of a corpus."""

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find at most `count` pieces, best first."""
        ...
