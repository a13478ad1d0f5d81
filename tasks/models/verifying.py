"""Resend recorded calls without the ledger, and compare the new texts with the recorded texts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.models.calls import Call
from tasks.models.recording.entries import UNANSWERED
from tasks.models.request_builder import is_system_call
from tasks.models.sending.client import ModelClient


@dataclass(frozen=True)
class RepeatedCall:
    """A recorded call, and the text of the new reply."""

    call: Call
    text: str

    @property
    def same(self) -> bool:
        """Return whether the new text is identical to the recorded text."""
        return self.text == self.call.text


def find_calls(folder: Path, flow: str = "") -> list[Call]:
    """Return the calls of one flow, or of all flows, from a folder's artifacts, sorted by key."""
    paths = sorted(path for path in folder.rglob("*.calls.parquet") if ".preview" not in path.parts)
    calls = {
        call.id: call
        for path in paths
        for call in read_rows(path, Call)
        if not flow or call.stage.startswith(f"{flow}-")
    }
    return [calls[key] for key in sorted(calls)]


def find_model_calls(folder: Path, flow: str = "") -> list[Call]:
    """Return the answered model calls in a folder's artifacts, without calls to systems under test."""
    return [
        call
        for call in find_calls(folder, flow)
        if call.finish_reason != UNANSWERED and not is_system_call(call.to_request())
    ]


def draw_sample(calls: Sequence[Call], size: int | None, seed: int) -> list[Call]:
    """Return `size` random calls, sorted by key; all calls as given if `size` is None or too large."""
    if size is None or size >= len(calls):
        return list(calls)
    dice = random.Random(seed)  # noqa: S311 - the same sample for the same seed
    return sorted(dice.sample(list(calls), size), key=lambda call: call.id)


async def ask_again(
    calls: Iterable[Call], client: ModelClient, report: Callable[[RepeatedCall], None] = lambda _: None
) -> list[RepeatedCall]:
    """Resend calls in the given order, as fast as the rate limits allow; return the repeated calls.

    `report`: called with each repeated call once it is answered. Raises BadInput if a call's columns do not
    match its key. Also raises the errors of `ModelClient.send`.
    """

    async def compare(call: Call) -> RepeatedCall:
        request = call.to_request()
        if request.key() != call.id:
            raise BadInput(
                f"call {call.id[:12]}", "its columns in the calls artifact do not match its ledger key"
            )
        repeated = RepeatedCall(call, (await client.send({call.id: request}))[call.id].entry.text)
        report(repeated)
        return repeated

    try:
        return list(await asyncio.gather(*(compare(call) for call in calls)))
    finally:
        await client.close()
