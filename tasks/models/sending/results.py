"""The results of calls; this module avoids importing the sending libraries, which takes a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from tasks.models.recording.entries import LedgerEntry
from tasks.models.sending.budget import NOTHING, Amount

RecordEntries = Callable[[Iterable[LedgerEntry]], Awaitable[None]]
"""Function that records entries in the ledger; on return, they are on disk."""


@dataclass(frozen=True)
class CallResult:
    """The ledger entry that answers a request, whether this run sent the request (`live`), and the cost."""

    entry: LedgerEntry
    live: bool
    cost: Amount = NOTHING
