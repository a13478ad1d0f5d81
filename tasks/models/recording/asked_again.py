"""Repeat the recorded calls of given stages (`--ask-again`)."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger


class AskedAgain:
    """Determines which recorded calls are repeated, and replaces their answers.

    A new answer replaces the old answer in a single commit, so a killed run loses nothing. Until a stage
    finishes, the ledger stores which of its calls were already repeated. After an interrupted run, the next
    run therefore repeats only the remaining calls. Thread-safe.
    """

    def __init__(self, ledger: Ledger, project: str, stages: Iterable[str] = ()) -> None:
        """Load the calls that an interrupted run has already repeated.

        `project`: the project's folder. `stages`: the names of the stages whose calls are repeated.
        """
        self._ledger, self._project = ledger, project
        self._done = {stage: frozenset(ledger.list_asked_again(project, stage)) for stage in stages}
        self._waiting: dict[str, str] = {}
        self._renewed: set[str] = set()

    def covers(self, stage: str) -> bool:
        """Return whether a stage's calls are repeated."""
        return stage in self._done

    def meet(self, stage: str, keys: Iterable[str]) -> None:
        """Mark a stage's calls as waiting for new answers, except calls that were already repeated."""
        for key in keys:
            if key not in self._renewed and key not in self._done[stage]:
                self._waiting.setdefault(key, stage)

    def is_waiting(self, key: str) -> bool:
        """Return whether a call's recorded answer is ignored, because the call is being repeated."""
        return key in self._waiting

    async def record(self, entries: Iterable[LedgerEntry]) -> None:
        """Record answers; on return, they are on disk. A repeated call's answer replaces the old answer.

        A call without an answer never replaces a recorded answer.
        """
        given = list(entries)
        new = {entry.key for entry in given if entry.key in self._waiting and not entry.is_unanswered}
        marks = [(self._project, self._waiting[key], key) for key in sorted(new)]
        await self._ledger.put_async(given, marks)
        for key in new:
            self._renewed.add(key)
            self._waiting.pop(key, None)

    def finish(self, stage: str) -> None:
        """Delete a finished stage's list of repeated calls, so that the next `--ask-again` repeats them."""
        self._ledger.forget_asked_again(self._project, stage)
