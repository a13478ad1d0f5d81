"""Compare the artifacts of two checkouts byte for byte: `python -m bench.outputs BEFORE AFTER`.

The module hashes every output that a project's dvc.lock names; a folder is hashed file by file. A replay
cannot compare outputs whose dependencies have new paths. The `.gitignore` files that DVC writes are
skipped. The exit code is 1 if an output differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

NO_CONTENT = (".gitignore",)


def main() -> int:
    """Print the number of equal outputs, and each output that differs. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="a project's folder")
    parser.add_argument("after", type=Path, help="another's")
    options = parser.parse_args()
    before, after = hash_outputs(options.before), hash_outputs(options.after)
    differences = compare_outputs(before, after)
    equal = len(before.keys() | after.keys()) - len(differences)
    print(
        f"outputs: {len(before)} before, {len(after)} after, {equal} equal, {len(differences)} not",
        *differences,
        sep="\n",
    )
    return int(bool(differences))


def hash_outputs(project: Path) -> dict[str, str | None]:
    """Hash every output that a project's dvc.lock names: path -> MD5; None for a missing output.

    Raises FileNotFoundError if the project has no dvc.lock.
    """
    lock = yaml.load((project / "dvc.lock").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    paths = {out["path"] for stage in lock["stages"].values() for out in stage.get("outs", ())}
    return {path: hash_path(project / path) for path in sorted(paths)}


def hash_path(path: Path) -> str | None:
    """Hash a file, or a folder as DVC does (names and hashes of its files); None if the path is missing."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "md5").hexdigest()
    if not path.is_dir():
        return None
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    listing = [
        {"md5": hash_path(file), "relpath": name}
        for name, file in sorted(files.items())
        if file.name not in NO_CONTENT
    ]
    return hashlib.md5(json.dumps(listing).encode(), usedforsecurity=False).hexdigest() + ".dir"


def compare_outputs(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[str]:
    """Return one line for each output that is missing or differs between two projects."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            lines.append(f"only before: {path}")
        elif path not in before:
            lines.append(f"only after: {path}")
        elif before[path] is None:
            lines.append(f"not on the disk before: {path}")
        elif after[path] is None:
            lines.append(f"not on the disk after: {path}")
        elif before[path] != after[path]:
            lines.append(f"differs: {path}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
