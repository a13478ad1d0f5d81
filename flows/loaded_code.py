"""Record the source of each loaded module of `tasks`, so that a fingerprint describes the code that ran.

Python takes compiled code from its cache where size and time (in whole seconds) are those of the source that
was compiled. Here the source that is read is compiled, and its hash is kept.
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
"""SHA-256 of the sources that this process runs, by the file's real path."""


class HashingLoader(SourceFileLoader):
    """Loads a module from its source, always, and keeps the source's hash."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile a module's source."""
        source = self.get_data(self.path)
        LOADED[os.path.realpath(self.path)] = hashlib.sha256(source).hexdigest()
        code: CodeType = self.source_to_code(source, self.path)
        return code


class HashingFinder(MetaPathFinder):
    """Finds the modules of `tasks` where Python does, for `HashingLoader` to load."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module; None where it is not of `tasks`, or has no source."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = HashingLoader(spec.loader.name, spec.loader.path)
        return spec


def watch_imports() -> None:
    """Keep the hash of every module of `tasks` that is imported from now on, or was before."""
    sys.meta_path.insert(0, HashingFinder())
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] == PACKAGE and file:
            LOADED[os.path.realpath(file)] = hash_file(Path(file))


def is_loaded_otherwise(file: Path, digest: str) -> bool:
    """Return whether this process runs another source than that of a hash."""
    return LOADED.get(os.path.realpath(file), digest) != digest


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes; a missing file has the hash `missing`."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"
