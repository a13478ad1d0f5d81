"""The databases of a dataset: `DIR/<db_id>/<db_id>.sqlite`, with those of its test suite beside it."""

from __future__ import annotations

from pathlib import Path

from tasks.databases.snapshot import Snapshot
from tasks.errors import BadInput
from tasks.scoring.items import BadItem


class TestSuites:
    """The databases of a folder; they must not change after they were first located."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise BadInput(folder, "is no folder", hint="--databases DIR: DIR/<db_id>/<db_id>.sqlite")
        self._folder = folder
        self._snapshots: list[Snapshot] = []
        self._addresses: dict[str, tuple[str, ...]] = {}

    def locate(self, name: str) -> tuple[str, ...]:
        """Return the URIs of a database, its own file first. Raises BadItem if it is missing."""
        if name not in self._addresses:
            snapshots = self._open(name)
            self._snapshots += snapshots
            self._addresses[name] = tuple(snapshot.uri for snapshot in snapshots)
        return self._addresses[name]

    def close(self) -> None:
        """Remove copies. Raises BadInput if a file changed meanwhile."""
        for snapshot in self._snapshots:
            snapshot.check()
            snapshot.close()

    def _open(self, name: str) -> list[Snapshot]:
        if name != Path(name).name or name == "..":
            raise BadItem(f"db_id {quote_name(name)} is no plain name")
        own = self._folder / name / f"{name}.sqlite"
        try:
            others = sorted(path for path in own.parent.glob("*.sqlite") if path != own)
            return [Snapshot(path) for path in (own, *others)]
        except BadInput as error:
            raise BadItem(str(error)) from error
        except (OSError, ValueError) as error:
            raise BadItem(f"db_id {quote_name(name)} names no file: {type(error).__name__}") from error


def quote_name(name: str) -> str:
    """Quote a name for people, at most 80 characters of it."""
    return repr(name if len(name) <= 80 else f"{name[:80]}…")
