"""Ignore the recorded answers of stages given by `--ask-again`."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger


class AskedAgain:
    """Decides which recorded calls are asked again, and replaces their answers by the new ones.

    An answer is replaced in the commit that records the new one, so that a killed run loses nothing. The
    ledger notes what a stage asked again until the stage has finished: a run after a stopped one asks only
    the rest. Safe for threads.
    """

    def __init__(self, ledger: Ledger, project: str, stages: Iterable[str] = ()) -> None:
        """project: its folder. stages: the names of those that ask again."""
        self._ledger, self._project = ledger, project
        self._done = {stage: frozenset(ledger.list_asked_again(project, stage)) for stage in stages}
        self._waiting: dict[str, str] = {}
        self._renewed: set[str] = set()

    def covers(self, stage: str) -> bool:
        """Return whether a stage asks again."""
        return stage in self._done

    def meet(self, stage: str, keys: Iterable[str]) -> None:
        """Note calls that a stage needs: from now on, what is recorded of them waits to be replaced."""
        for key in keys:
            if key not in self._renewed and key not in self._done[stage]:
                self._waiting.setdefault(key, stage)

    def is_waiting(self, key: str) -> bool:
        """Return whether the recorded answer to a call is not taken."""
        return key in self._waiting

    async def record(self, entries: Iterable[LedgerEntry]) -> None:
        """Record answers; they are on disk on return. One that is asked again replaces what was recorded.

        No answer (an endpoint that refused) replaces none.
        """
        given = list(entries)
        new = {entry.key for entry in given if entry.key in self._waiting and not entry.is_unanswered}
        marks = [(self._project, self._waiting[key], key) for key in sorted(new)]
        await self._ledger.put_async(given, marks)
        for key in new:
            self._renewed.add(key)
            self._waiting.pop(key, None)

    def finish(self, stage: str) -> None:
        """Say that a stage has finished: when it is to ask again another time, it asks everything."""
        self._ledger.forget_asked_again(self._project, stage)
