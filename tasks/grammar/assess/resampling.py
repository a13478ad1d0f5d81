"""Wrap an `ask` to sample more responses from a system, by replacing only the role that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.rows import make_id
from tasks.models.ask import Answer, Ask, Send, Tool

Value = TypeVar("Value")


class ResampledAsk:
    """An `ask` that sends each call for the role `replaced` to `role`, and requests the row's n-th sample.

    A system built with this `ask` retrieves the same documents but writes another answer. The sample number
    is derived from the row and n, so that rows have different seeds. A system that is called through `system`
    has no role, so the system's answers cannot be resampled.
    """

    def __init__(self, ask: Ask, replaced: str, role: str, n: int) -> None:
        self.ask, self.replaced, self.role, self.n = ask, replaced, role, n

    async def __call__(
        self,
        prompt: str | Path,
        fields: Mapping[str, object],
        *,
        role: str,
        row: str,
        parse: Callable[[str], Value],
        grammar: str | None = None,
        schema: Mapping[str, object] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
        turns: Sequence[tuple[str, str]] = (),
        tools: Sequence[Tool] = (),
    ) -> Answer[Value]:
        """Send a request; replace its role and sample number if its role is `replaced`. See `Ask`."""
        swapped = role == self.replaced
        return await self.ask(
            prompt,
            fields,
            role=self.role if swapped else role,
            row=row,
            parse=parse,
            grammar=grammar,
            schema=schema,
            sample=number_sample(row, self.n) if swapped else sample,
            max_tokens=max_tokens,
            top_logprobs=top_logprobs,
            turns=turns,
            tools=tools,
        )

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Return the embeddings of texts from the wrapped `ask`."""
        return await self.ask.embed(texts, role=role, row=row)

    async def system(
        self,
        name: str,
        version: str,
        request: Mapping[str, object],
        *,
        send: Send,
        row: str,
        parse: Callable[[str], Value],
    ) -> Answer[Value]:
        """Send a request to a system through the wrapped `ask`."""
        return await self.ask.system(name, version, request, send=send, row=row, parse=parse)


def number_sample(row: str, n: int) -> int:
    """Return the number, from 1 to 2^28, that a row's n-th sample adds to the role's seed."""
    return 1 + int(make_id("sample", row, n)[:7], 16)
