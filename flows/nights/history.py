"""Read and write the history of nightly runs: each run's outcome, and a page that lists all runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flows.night_settings import FOLDER
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.judging.comparison import Comparison
from tasks.judging.nights import Night
from tasks.lineage.bases import BASES, encode_bases
from tasks.lineage.derivation import Derivation
from tasks.reports.night import write_nights
from tasks.reports.night_summary import summarise_night

HISTORY, NIGHT = "nights.json", "night.json"


def read_history(home: Path) -> list[Night]:
    """Read the history of nightly runs, oldest first. Raises BadInput if the file is malformed."""
    path = home / FOLDER / HISTORY
    if not path.exists():
        return []
    try:
        return TypeAdapter(list[Night]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise BadInput(
            path,
            "is not a valid history of nightly runs",
            hint="move the file elsewhere to start a new history",
        ) from error


def find_night(history: Sequence[Night], label: str) -> Night | None:
    """Find a nightly run by its label; return None if there is none."""
    return next((night for night in history if night.label == label), None)


def find_against(history: Sequence[Night], label: str) -> str | None:
    """Return the label of the last accepted nightly run on all items before the run `label`.

    Return None if there is no such run.
    """
    past = list_past(history, label)
    return next((night.label for night in reversed(past) if night.is_baseline), None)


def list_past(history: Sequence[Night], label: str) -> Sequence[Night]:
    """List the nightly runs before `label`, oldest first.

    Later runs are excluded so that a repeated run is compared with the same runs as before.
    """
    labels = [night.label for night in history]
    return history[: labels.index(label)] if label in labels else history


def write_night(
    home: Path,
    night: Night,
    comparison: Comparison | None = None,
    bases: Mapping[str, Derivation] | None = None,
) -> str:
    """Write a nightly run into the history, its page and its folder; return its summary in Markdown.

    `bases`: JSON pointer of a figure in the record -> rows behind the figure; None keeps the recorded rows.
    """
    history = read_history(home)
    labels = [earlier.label for earlier in history]
    if night.label in labels:
        history[labels.index(night.label)] = night
    else:
        history.append(night)
    folder, summary = home / FOLDER / night.label, summarise_night(night)
    record = json.loads(json.dumps(asdict(night)))  # convert tuples to lists, as `encode_bases` expects
    _write_json(folder / NIGHT, record | {BASES: _find_bases(folder / NIGHT, record, bases)})
    if comparison is not None:
        _write_json(folder / "comparison.json", asdict(comparison))
    if night.differences:
        lines = (f"{found.entry}\t{found.item}\t{found.what}\n" for found in night.differences)
        write_text(folder / "gold.tsv", "".join(lines))
    write_text(folder / "summary.md", summary)
    _write_json(home / FOLDER / HISTORY, [asdict(night) for night in history])
    write_nights(home / FOLDER / "index.html", history)
    return summary


def accept_night(home: Path, label: str) -> Night:
    """Accept a nightly run despite its alarm, so that later nightly runs are compared with it.

    Raises BadInput if there is no finished nightly run with this label.
    """
    history = read_history(home)
    night = find_night(history, label)
    if night is None or night.state == "unfinished":
        there = ", ".join(night.label for night in history if night.state == "alarm") or "none"
        what = "is not finished" if night is not None else "is not the label of a nightly run"
        raise BadInput(f"nightly accept {label}", f"{what} (nightly runs with an alarm: {there})")
    accepted = replace(night, state="accepted")
    write_night(home, accepted)
    return accepted


def _find_bases(path: Path, record: dict[str, Any], bases: Mapping[str, Derivation] | None) -> object:
    if bases is not None:
        return encode_bases(record, bases)
    return json.loads(path.read_bytes()).get(BASES, {}) if path.is_file() else {}


def _write_json(path: Path, data: object) -> None:
    write_text(path, json.dumps(data, indent=1, sort_keys=True) + "\n")
