"""Wrap an `ask` so that a system samples another response: only the answering role is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.rows import make_id
from tasks.models.ask import Answer, Ask, Send, Tool

Value = TypeVar("Value")


class ResampledAsk:
    """Wrap an `ask`: send calls for role `replaced` to `role`, which has a higher temperature, as sample n.

    A system built with this wrapper retrieves as before but answers differently. The sample's number is
    derived from the row and n. If only n were used, all rows would be sampled with the same seed. Systems
    called by `system` have no role, so they cannot be sampled.
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
        """Ask a role one question, after replacing the role if it is `replaced`.

        The parameters are those of `Ask`.
        """
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
        """Embed texts, unchanged."""
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
        """Send a request to a system, unchanged."""
        return await self.ask.system(name, version, request, send=send, row=row, parse=parse)


def number_sample(row: str, n: int) -> int:
    """Derive the sample number of a row's n-th sample, from 1 to 2^28; it is added to the role's seed."""
    return 1 + int(make_id("sample", row, n)[:7], 16)
