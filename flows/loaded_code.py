"""Record the source of each loaded module of `tasks`, so that a fingerprint describes the code that ran.

Python uses a cached compiled module if the source still has the same size and modification time (in whole
seconds). Python can therefore miss an edit that was made within one second of an earlier edit. This loader
always compiles the source, and stores the hash of the source.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

PACKAGE = "tasks"
LOADED: dict[str, str] = {}
"""Real path of a file -> SHA-256 of the source that this process runs."""


class HashingLoader(SourceFileLoader):
    """Loads modules from source, never from a cached file, and stores the hash of the source."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile a module's source and store its hash."""
        source = self.get_data(self.path)
        LOADED[os.path.realpath(self.path)] = hashlib.sha256(source).hexdigest()
        code: CodeType = self.source_to_code(source, self.path)
        return code


class HashingFinder(MetaPathFinder):
    """Finds the modules of `tasks` as Python does, but loads them with `HashingLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module; return None if it is not in `tasks`, or has no source file."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = HashingLoader(spec.loader.name, spec.loader.path)
        return spec


def watch_imports() -> None:
    """Store the hashes of all modules of `tasks` that are already imported or will be imported."""
    sys.meta_path.insert(0, HashingFinder())
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] == PACKAGE and file:
            LOADED[os.path.realpath(file)] = hash_file(Path(file))


def is_loaded_otherwise(file: Path, digest: str) -> bool:
    """Return whether this process loaded the file with a hash other than `digest`; False if not loaded."""
    return LOADED.get(os.path.realpath(file), digest) != digest


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; `missing` for a missing file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"
