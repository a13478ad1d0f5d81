"""An evaluation of somebody's own questions: what is shared by the flows whose rules it goes by.

It is no stage: nothing of it is in dvc.yaml or dvc.lock. A run that was stopped goes on from the ledger.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from flows.nights.night import LABEL
from flows.run.binding import prompts_folder
from flows.run.session import Session, read_mapping
from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.models.calls import Call
from tasks.models.recorded_model import RecordedModel
from tasks.systems.contract import Document
from tasks.systems.entries import SystemEntry

FOLDER = "data/evaluations"


@dataclass(frozen=True)
class Wish:
    """What is evaluated. Paths are whole: the command line's folder need not be the project's."""

    dataset: Path
    system: str
    documents: Path | None = None
    limit: int | None = None
    as_of: str = ""
    out: Path | None = None
    turns: int | None = None
    """ragcheck: also lead conversations, of so many turns at most."""
    language: str = ""
    """ragcheck: of the questions."""


@dataclass(frozen=True)
class Ground:
    """What an evaluation stands on, read and checked before anybody is asked.

    problems: rows that cannot be asked, each of which counts as a failure; notes: what else there is to say.
    about: what figures.json says of it beyond what all flows have.
    """

    questions: Sequence[Any]
    documents: Sequence[Document]
    entry: SystemEntry
    problems: Sequence[str]
    notes: Sequence[str]
    key: str
    out: Path
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What an evaluation came to. rows: artifact's name -> row type and rows; failures: a line each."""

    rows: Mapping[str, tuple[type, Sequence[Any]]]
    figures: Mapping[str, Any]
    failures: Sequence[str]


class Asks:
    """Makes the `ask` of each step, and knows the calls that all of them took."""

    def __init__(self, session: Session, epoch: str) -> None:
        self._session, self._epoch = session, epoch
        self._made: list[RecordedModel] = []

    def make(self, step: str, module: ModuleType) -> RecordedModel:
        """Make a step's ask. module: the stage whose prompts it asks by."""
        self._made.append(self._session.make_ask(f"evaluate-{step}", prompts_folder(module), self._epoch))
        return self._made[-1]

    def list_calls(self) -> list[Call]:
        """List the calls, each once."""
        return list({call.id: call for ask in reversed(self._made) for call in ask.call_rows()}.values())


class Flow(Protocol):
    """What a flow's module must have to be evaluated by."""

    def read_ground(self, root: Path, params: Mapping[str, Any], wish: Wish) -> Ground:
        """Read and check what is asked. Raises BadInput, one line."""
        ...

    async def evaluate(self, ground: Ground, params: Mapping[str, Any], wish: Wish, asks: Asks) -> Result:
        """Ask the system, have it judged, and make the figures."""
        ...

    def print_figures(self, figures: Mapping[str, Any]) -> None:
        """Print what figures.json holds, for people."""
        ...


def read_system(params: Mapping[str, Any], wish: Wish) -> SystemEntry:
    """Find the system's entry, and check the label that it is asked under. Raises BadInput."""
    if wish.as_of and not LABEL.fullmatch(wish.as_of):
        raise BadInput(f"--as-of {wish.as_of}", "is no label: letters, digits, dots, dashes, 64 at most")
    systems = read_mapping(params, "systems", SystemEntry)
    if wish.system not in systems:
        there = ", ".join(sorted(systems)) or "none yet"
        raise BadInput(f"--system {wish.system}", f"is not under `systems` in params.yaml (there: {there})")
    entry: SystemEntry = systems[wish.system]
    return entry


def place_out(root: Path, wish: Wish, key: str) -> Path:
    """Name the folder that is written to."""
    return wish.out or root / FOLDER / f"{wish.system}-{key[:8]}"


def prepare_out(out: Path) -> None:
    """Make the folder that is written to, before anybody is asked. Raises BadInput."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(out, f"cannot be made a folder ({(error.strerror or '').lower()})") from error
    if not os.access(out, os.W_OK):
        raise BadInput(out, "cannot be written to")


def write_name(path: Path) -> str:
    """Write a file's name as text, also where its bytes are no UTF-8."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def describe_wish(flow: str, wish: Wish, ground: Ground) -> dict[str, Any]:
    """Say what was evaluated, without a path of this machine."""
    return {
        "evaluation": ground.key,
        "flow": flow,
        "dataset": write_name(wish.dataset),
        "system": wish.system,
        "version": ground.entry.version,
        "as_of": wish.as_of,
        "limit": wish.limit,
        "documents": len(ground.documents),
        **ground.about,
    }


def write_all(out: Path, result: Result, calls: Sequence[Call], figures: Mapping[str, Any]) -> None:
    """Write the rows, then the figures; each file beside its place and renamed."""
    for stem, (row, rows) in result.rows.items():
        write_rows(out / f"{stem}.parquet", row, rows)
    write_rows(out / "calls.parquet", Call, calls)
    write_text(
        out / "figures.json", json.dumps(figures, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    )


def clean(text: str) -> str:
    """Take out what moves a terminal's cursor: names and problems are not ours."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
