"""Read and write dvc.lock one entry at a time.

DVC parses and writes the whole file for every change, which takes it 2 ms and 40 ms a stage. Here the text
of an entry that has not changed is neither parsed again (what was parsed is kept beside, by the hash of the
text) nor written again.
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
"""Both writers of YAML break lines that are longer, each in its way."""
KEPT_ENTRIES = ".benchloom/lock-entries.json"
"""Where a project's parsed entries are kept."""
Entry = dict[str, Any]
"""What dvc.lock records of a stage: cmd, deps, params, outs."""
HEAD = re.compile(r"\A(?:schema: ['\"]?2\.0['\"]?\n)?stages:\n")
NEXT = re.compile(r"^(?=  [^ \n#])", re.MULTILINE)
WHOLE = re.compile(r"^[^ \n]|(?:- |: )[&*]\w", re.MULTILINE)
"""A key beside the stages, or an anchor or alias, by which one entry's text stands for part of another's."""
HINT = "restore it from git, or delete it: the run cache restores completed stages"


class LockFile:
    """A dvc.lock. kept: where its parsed entries are kept; nothing = each reading parses them all."""

    def __init__(self, path: Path, kept: Path | None = None) -> None:
        self.path, self.kept = path, kept

    def read(self) -> dict[str, Entry]:
        """Read all entries by stage. Raises BadInput if the file cannot be read as a lock file."""
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
        """Write entries over what the file holds of their stages; all stay sorted by name.

        The file takes the old one's place whole: DVC writes in place, and on a full disk leaves half of it.
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
            text = "schema: '2.0'\nstages:\n" + "".join(texts[name] for name in sorted(texts))
            self._keep({digest: named for digest, named in found.items() if is_kept_whole(named)})
        with write_beside(self.path) as draft:
            draft.write_text(text, encoding="utf-8")

    def _parse_blocks(self, blocks: Iterable[str], known: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """Parse blocks that are not `known`; return the stage and entry of each by the hash of its text."""
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
        """Parse YAML as DVC does (version 1.2, its library)."""
        try:
            data = YAML(typ="safe").load(text)
        except YAMLError as error:
            line = str(error).strip().splitlines()[0]
            raise BadInput(self.path, f"cannot be read: {line}", hint=HINT) from error
        if data is not None and not isinstance(data, dict):
            raise BadInput(self.path, "is not a mapping (key: value)", hint=HINT)
        return data or {}

    def _require_entries(self, stages: Mapping[str, Any]) -> dict[str, Entry]:
        """Check that entries have a lock file's shape. Raises BadInput."""
        for name, entry in stages.items():
            parts = (entry.get("deps"), entry.get("outs")) if isinstance(entry, dict) else ([None],)
            items = [item for part in parts for item in part or ()]
            if not all(isinstance(item, dict) and isinstance(item.get("path"), str) for item in items):
                raise BadInput(self.path, f"has no readable entry for stage {name}", hint=HINT)
        return dict(stages)

    def _load_kept(self) -> dict[str, list[Any]]:
        """Load parsed entries by the hash of their text: [stage, entry]; none where the file is broken."""
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
    """Split a lock file into the texts of its entries; None where they do not stand each for itself."""
    if not text.strip():
        return []
    head = HEAD.match(text)
    body = text[head.end() :] if head else ""
    if head is None or WHOLE.search(body) or (body and not body.endswith("\n")):
        return None
    first, *blocks = NEXT.split(body)
    return None if first.strip() else blocks


def is_kept_whole(named: list[Any]) -> bool:
    """Return whether a parsed entry is the same after JSON, whose keys are all text."""
    try:
        return bool(json.loads(json.dumps(named)) == named)
    except (TypeError, ValueError):
        return False


def hash_text(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def dump(data: Mapping[str, Any]) -> str:
    """Write YAML 1.2 in block style, keys in the order given, as DVC does to the letter.

    The fast writer breaks long lines elsewhere, and writes null out: such entries are left to DVC's own.
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
    """Give plain dicts and lists for whatever mappings and sequences DVC hands over."""
    if isinstance(value, Mapping):
        return {key: json_like(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_like(item) for item in value]
    return value
