"""The blocks of dvc.yaml as DVC resolved them, kept for as long as neither it nor params.yaml changes.

DVC parses both and fills in every template each time: of 216 stages that takes it half a second.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import dvc

from flows.run.node import PARAMS
from tasks.files import write_text

KEPT = ".benchloom/blocks.json"
FURTHER = re.compile(rb"^vars:|^  *vars:", re.MULTILINE)
"""By which dvc.yaml takes values from further files, or from itself."""


class ResolvedBlocks:
    """A project's kept blocks, by stage. Of files that take values from elsewhere, none are kept."""

    def __init__(self, root: Path) -> None:
        self._root, self._kept = root, root / KEPT
        self._digest = self._hash_files()

    def load(self) -> dict[str, Any] | None:
        """Load the blocks of just these files; None where there are none, or the file is broken."""
        try:
            kept = json.loads(self._kept.read_bytes())
            if self._digest and kept["of"] == self._digest and isinstance(kept["blocks"], dict):
                return dict(kept["blocks"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def keep(self, blocks: Mapping[str, Any]) -> None:
        """Keep blocks, if they are the same after JSON."""
        with suppress(OSError, TypeError, ValueError):
            text = json.dumps({"of": self._digest, "blocks": blocks})
            unchanged = self._digest and self._hash_files() == self._digest
            if unchanged and json.loads(text)["blocks"] == blocks:
                write_text(self._kept, text)

    def _hash_files(self) -> str:
        """Hash what blocks are resolved from, and by what; nothing where that is more than two files."""
        texts = [read_bytes(self._root / name) for name in ("dvc.yaml", PARAMS)]
        hashes = [hashlib.sha256(text).hexdigest() for text in texts]
        return "" if FURTHER.search(texts[0]) else " ".join([dvc.__version__, *hashes])


def read_bytes(path: Path) -> bytes:
    """Read a file; nothing of one that is not there."""
    return path.read_bytes() if path.is_file() else b""
