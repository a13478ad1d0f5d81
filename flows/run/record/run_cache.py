"""DVC's run cache, read past what a killed process left half written in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dvc.stage.cache import StageCache, _get_stage_hash

ENTRY = re.compile(r"[0-9a-f]{64}")
"""An entry is named by its hash; before it is whole it lies under another name in the same folder."""


class WholeEntries(StageCache):  # type: ignore[misc] # DVC has no types
    """Restores whole entries alone, where DVC takes the newest file of any name."""

    def _load(self, stage: Any) -> dict[str, Any] | None:
        folder = Path(self._get_cache_dir(key)) if (key := _get_stage_hash(stage)) else None
        if folder is None or not folder.is_dir():
            return None
        whole = [path for path in folder.iterdir() if ENTRY.fullmatch(path.name)]
        newest = max(whole, key=lambda path: path.stat().st_mtime, default=None)
        entry: dict[str, Any] | None = None if newest is None else self._load_cache(key, newest.name)
        return entry
