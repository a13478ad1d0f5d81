"""Databases of Spider as sources of long-form questions: entries, a set, and the questions that steer it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from flows.params_file import NAME
from flows.settings import get_section
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.sources.spider import Release

SECTION = "longform"


def check_set(params: Mapping[str, Any], question_set: str) -> None:
    """Raise BadInput where a set cannot have this name."""
    if not NAME.fullmatch(question_set):
        raise BadInput(
            "--longform", f"{question_set[:80]!r} is no name", hint="letters, digits, hyphens, underscores"
        )
    entry = (get_section(params, f"{SECTION}.sets") or {}).get(question_set) or {}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("databases") or [], list):
        raise BadInput("params.yaml", f"{SECTION}.sets.{question_set} is no set of databases")


def check_source(params: Mapping[str, Any], name: str, file: str) -> None:
    """Raise BadInput where another database has this name."""
    entry = (get_section(params, f"{SECTION}.databases") or {}).get(name)
    if entry is not None and (not isinstance(entry, Mapping) or entry.get("file") != file):
        raise BadInput(
            "params.yaml", f"{SECTION}.databases.{name} is another database", hint="rename that one"
        )


def enter_set(data: Any, question_set: str, files: Mapping[str, str]) -> None:
    """Enter databases, file by name, and a set over them, one question each, in params.yaml.

    What stands there already stays: words of a database, other databases and the settings of the set.
    """
    section = data.setdefault(SECTION, {})
    for part in ("databases", "sets"):
        section[part] = section.get(part) or {}
    for name, file in files.items():
        questions = PurePosixPath(file).with_suffix(".seeds.json").as_posix()
        already = section["databases"].get(name) or {}
        section["databases"][name] = {**already, "file": file, "questions": questions}
    entry = section["sets"].get(question_set) or {"questions": 1}
    there = list(entry.get("databases") or [])
    section["sets"][question_set] = {
        **entry, "databases": [*there, *(name for name in files if name not in there)],
    }  # fmt: skip


def write_seeds(folder: Path, release: Release, names: Sequence[str]) -> int:
    """Write each database's own questions to `<name>.seeds.json`, a list of texts, each once.

    They steer `longform.control`. Returns how many have any; the list of the others is empty.
    """
    steered = 0
    for name in names:
        asked = [question.question for question in release.questions if question.database == name]
        path = folder / f"{name}.seeds.json"
        write_text(path, json.dumps(list(dict.fromkeys(asked)), ensure_ascii=False, indent=1) + "\n")
        steered += bool(asked)
    return steered
