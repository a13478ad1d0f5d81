"""The results of a call, separate from the senders, whose libraries take a second to import."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from tasks.models.recording.entries import LedgerEntry
from tasks.models.sending.budget import NOTHING, Amount

RecordEntries = Callable[[Iterable[LedgerEntry]], Awaitable[None]]
"""Record entries in the ledger; they are on disk when it returns."""


@dataclass(frozen=True)
class CallResult:
    """The ledger entry that answers a request, and whether it was asked now (`live`, at a cost)."""

    entry: LedgerEntry
    live: bool
    cost: Amount = NOTHING
