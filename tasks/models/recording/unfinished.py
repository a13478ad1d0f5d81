"""Which recorded calls belong to stages that have not finished.

A finished stage's artifact names its calls. Of one that is still at work, or was stopped, the live ledger
alone knows them, by what they asked and not by whom: this table says whose they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from tasks.models.recording.ledger import Ledger

INSERT = "INSERT INTO unfinished VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
NOTED_AT_ONCE = 200
"""So many calls that were found recorded wait to be noted, since nothing was paid for them now."""


class Unfinished:
    """Notes what one stage of a project asks, until it has finished."""

    def __init__(self, ledger: Ledger, project: str, stage: str) -> None:
        """project: its folder; projects of one user share a ledger, and have stages of the same names."""
        self._ledger, self._project, self._stage = ledger, project, stage
        self._waiting: set[str] = set()

    def note(self, keys: Iterable[str], *, asked: bool) -> None:
        """Note calls that the stage uses. asked: they are about to be asked, so they must not be lost."""
        self._waiting.update(keys)
        if asked or len(self._waiting) >= NOTED_AT_ONCE:
            rows = [(self._project, self._stage, key) for key in sorted(self._waiting)]
            self._waiting.clear()
            self._ledger.submit((INSERT, row) for row in rows)

    def forget(self) -> None:
        """Forget the stage's calls: it has finished."""
        self._waiting.clear()
        chosen = (self._project, self._stage)
        self._ledger.submit([("DELETE FROM unfinished WHERE project = ? AND stage = ?", chosen)])


def list_unfinished(ledger: Ledger, project: str, flow: str) -> list[str]:
    """List the keys that a flow's unfinished stages have used, sorted; a call may not be answered yet."""
    rows = ledger.read(
        "SELECT DISTINCT key FROM unfinished WHERE project = ? AND stage >= ? AND stage < ? ORDER BY key",
        (project, f"{flow}-", f"{flow}."),  # "." comes next after "-": what begins with the flow's name
    )
    return [key for (key,) in rows]
