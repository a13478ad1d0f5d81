"""Read and write dvc.lock one entry at a time.

For every change, DVC parses the whole file (2 ms per stage) and writes the whole file (40 ms per stage). This
module does not parse or write unchanged entries again: parsed entries are cached by the hash of their text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tasks.errors import BadInput
from tasks.files import write_beside, write_text

LOCK = "dvc.lock"
WIDTH = 80
"""Line length above which the fast YAML writer and DVC's YAML writer break lines differently."""
KEPT_ENTRIES = ".benchloom/lock-entries.json"
"""The file with a project's cached entries."""
Entry = dict[str, Any]
"""The record of a stage in dvc.lock: cmd, deps, params, outs."""
HEAD = re.compile(r"\A(?:schema: ['\"]?2\.0['\"]?\n)?stages:\n")
NEXT = re.compile(r"^(?=  [^ \n#])", re.MULTILINE)
WHOLE = re.compile(r"^[^ \n]|(?:- |: )[&*]\w", re.MULTILINE)
"""Matches text that prevents parsing entry by entry: anchors, aliases, and unindented lines."""
HINT = "restore it from git, or delete it: the run cache restores completed stages"


class LockFile:
    """A dvc.lock file.

    `kept`: the cache file for parsed entries; if None, every read parses all entries.
    """

    def __init__(self, path: Path, kept: Path | None = None) -> None:
        self.path, self.kept = path, kept

    def read(self) -> dict[str, Entry]:
        """Return stage -> entry for all stages. Raises BadInput if the file is not a valid lock file."""
        text = self._read_text()
        blocks = split_blocks(text)
        if blocks is None:
            return self._require_entries(self._parse(text).get("stages") or {})
        known = self._load_kept()
        found = self._parse_blocks(blocks, known)
        stages = {named[0]: named[1] for named in found.values()}
        if found.keys() != known.keys():
            self._keep(found)
        return self._require_entries(stages)

    def update(self, entries: Mapping[str, Entry]) -> None:
        """Replace the entries of the given stages; all entries stay sorted by name.

        The file is replaced atomically. DVC writes in place, which leaves a truncated file if the disk is
        full.
        """
        text = self._read_text()
        blocks = split_blocks(text)
        if blocks is None:
            data = self._parse(text)
            stages = dict(sorted({**(data.get("stages") or {}), **entries}.items()))
            text = dump({"schema": "2.0", **data, "stages": stages})
        else:
            found = self._parse_blocks(blocks, self._load_kept())
            texts = {found[digest][0]: block for block in blocks if (digest := hash_text(block)) in found}
            for name, entry in entries.items():
                texts[name] = dump({"stages": {name: entry}}).partition("\n")[2]
                found[hash_text(texts[name])] = [name, entry]
            # Sorted, so that the order in which stages end does not affect the file.
            text = "schema: '2.0'\nstages:\n" + "".join(texts[name] for name in sorted(texts))
            self._keep({digest: named for digest, named in found.items() if is_kept_whole(named)})
        with write_beside(self.path) as draft:
            draft.write_text(text, encoding="utf-8")

    def _parse_blocks(self, blocks: Iterable[str], known: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """Return block hash -> [stage, entry]; blocks whose hash is in `known` are not parsed."""
        found = {}
        for block in blocks:
            digest = hash_text(block)
            named = known.get(digest) or next(([*item] for item in self._parse(block).items()), None)
            if named is not None:
                found[digest] = named
        return found

    def _read_text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise BadInput(self.path, "is not UTF-8", hint=HINT) from error

    def _parse(self, text: str) -> dict[str, Any]:
        """Parse YAML 1.2 with the library that DVC uses.

        Raises BadInput for anything other than a mapping.
        """
        try:
            data = YAML(typ="safe").load(text)
        except YAMLError as error:
            line = str(error).strip().splitlines()[0]
            raise BadInput(self.path, f"cannot be read: {line}", hint=HINT) from error
        if data is not None and not isinstance(data, dict):
            raise BadInput(self.path, "is not a mapping (key: value)", hint=HINT)
        return data or {}

    def _require_entries(self, stages: Mapping[str, Any]) -> dict[str, Entry]:
        """Return the entries of stages. Raises BadInput if an entry's structure is invalid."""
        for name, entry in stages.items():
            parts = (entry.get("deps"), entry.get("outs")) if isinstance(entry, dict) else ([None],)
            items = [item for part in parts for item in part or ()]
            if not all(isinstance(item, dict) and isinstance(item.get("path"), str) for item in items):
                raise BadInput(self.path, f"has no readable entry for stage {name}", hint=HINT)
        return dict(stages)

    def _load_kept(self) -> dict[str, list[Any]]:
        """Load the cached entries: hash of an entry's text -> [stage, entry].

        The result is empty if the cache file is missing or invalid.
        """
        if self.kept is None:
            return {}
        try:
            kept = json.loads(self.kept.read_bytes())
        except (OSError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, entries: Mapping[str, list[Any]]) -> None:
        if self.kept is not None:
            with suppress(OSError, TypeError, ValueError):
                write_text(self.kept, json.dumps(entries))


def split_blocks(text: str) -> list[str] | None:
    """Split a lock file into the texts of its entries; None if entries cannot be parsed one by one."""
    if not text.strip():
        return []
    head = HEAD.match(text)
    body = text[head.end() :] if head else ""
    if head is None or WHOLE.search(body) or (body and not body.endswith("\n")):
        return None
    first, *blocks = NEXT.split(body)
    return None if first.strip() else blocks


def is_kept_whole(named: list[Any]) -> bool:
    """Return whether a parsed entry survives a round trip through JSON, so that it can be cached."""
    try:
        return bool(json.loads(json.dumps(named)) == named)
    except (TypeError, ValueError):
        return False


def hash_text(text: str) -> str:
    """Return the SHA-256 of a string."""
    return hashlib.sha256(text.encode()).hexdigest()


def dump(data: Mapping[str, Any]) -> str:
    """Return YAML 1.2 in block style with the given order of keys; the text is identical to DVC's output.

    The fast writer breaks long lines differently, and writes null explicitly. DVC's own writer is used for
    entries with long lines, null or non-ASCII characters.
    """
    plain = json_like(data)
    for yaml in (YAML(typ="safe"), YAML()):
        yaml.default_flow_style = False
        yaml.representer.sort_base_mapping_type_on_output = False
        stream = StringIO()
        yaml.dump(plain, stream)
        text = stream.getvalue()
        if text.isascii() and not any(
            len(line) > WIDTH or line.endswith("null") for line in text.splitlines()
        ):
            break
    return text


def json_like(value: Any) -> Any:
    """Convert DVC's mappings and sequences to plain dicts and lists, recursively."""
    if isinstance(value, Mapping):
        return {key: json_like(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_like(item) for item in value]
    return value
