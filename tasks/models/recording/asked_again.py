"""Ask stages again although their answers are recorded (`--ask-again`)."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger


class AskedAgain:
    """Decides which recorded calls are asked again, and replaces their answers with the new ones.

    The commit that records a new answer also replaces the old one, so a killed run loses nothing. The ledger
    stores which calls a stage has asked again until the stage finishes. A run after a stopped one therefore
    asks only the remaining calls. Thread-safe.
    """

    def __init__(self, ledger: Ledger, project: str, stages: Iterable[str] = ()) -> None:
        """Read from the ledger which calls the stages have already asked again.

        `project`: the project's folder. `stages`: the names of the stages to ask again.
        """
        self._ledger, self._project = ledger, project
        self._done = {stage: frozenset(ledger.list_asked_again(project, stage)) for stage in stages}
        self._waiting: dict[str, str] = {}
        self._renewed: set[str] = set()

    def covers(self, stage: str) -> bool:
        """Return whether a stage is asked again."""
        return stage in self._done

    def meet(self, stage: str, keys: Iterable[str]) -> None:
        """Register calls that a stage needs: their recorded answers are ignored until new ones arrive."""
        for key in keys:
            if key not in self._renewed and key not in self._done[stage]:
                self._waiting.setdefault(key, stage)

    def is_waiting(self, key: str) -> bool:
        """Return whether a call's recorded answer is ignored, because the call is being asked again."""
        return key in self._waiting

    async def record(self, entries: Iterable[LedgerEntry]) -> None:
        """Record answers; they are on disk on return. The answer to a repeated call replaces the old one.

        A refusal of the endpoint never replaces a recorded answer.
        """
        given = list(entries)
        new = {entry.key for entry in given if entry.key in self._waiting and not entry.is_unanswered}
        marks = [(self._project, self._waiting[key], key) for key in sorted(new)]
        await self._ledger.put_async(given, marks)
        for key in new:
            self._renewed.add(key)
            self._waiting.pop(key, None)

    def finish(self, stage: str) -> None:
        """Delete a finished stage's list of calls asked again, so that the next time it asks all of them."""
        self._ledger.forget_asked_again(self._project, stage)
