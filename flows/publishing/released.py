"""Write published rows in the file layout of a paper's release; publish imported folders of items."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from flows.discovery import list_flows
from flows.lineage.evaluated import RECORD as EVALUATED
from flows.publishing.choice import ROWS, Choice
from flows.publishing.sources import ABOUT, UNKNOWN, Source, describe_folder
from flows.run.loading import load_function
from flows.run.node import Node
from flows.stage import Flow
from tasks.artifacts.card import DatasetSource
from tasks.errors import BadInput

OPTION = "--prediction-key"
ITEMS, PREDICTIONS = "items.parquet", "predictions.parquet"
WriteReleased = Callable[[Path, Path | None, str, Path], list[str]]


@dataclass(frozen=True)
class Release:
    """Items, and optionally predictions, to write in the layout of a flow's release.

    `predictions`: None if only items are written.
    """

    flow: Flow
    items: Path
    predictions: Path | None
    key: str

    def write(self, draft: Path) -> list[str]:
        """Write the files into a publication's folder; return notes to print."""
        module, _, function = self.flow.released.partition(":")
        write = cast("WriteReleased", load_function(module, function))
        (draft / self.flow.name).mkdir()
        return write(self.items, self.predictions, self.key, draft / self.flow.name)


@dataclass(frozen=True)
class ItemsFolder:
    """A folder of items, from an import or from `benchloom evaluate`.

    name: the folder's name in the project.
    """

    name: str
    place: Path
    flow: Flow

    @property
    def choice(self) -> Choice:
        """The folder's row files as a `Choice`, the items first; paths are relative to the folder."""
        there = (name for name in (ITEMS, PREDICTIONS, "scores.parquet") if (self.place / name).is_file())
        nodes = tuple(Node(Path(name).stem, "", "", (), (name,), ()) for name in there)
        return Choice(self.name, nodes[0], nodes, {})

    def make_release(self, key: str) -> Release:
        """Return the folder's release in the layout of its flow."""
        predictions = self.place / PREDICTIONS
        return Release(self.flow, self.place / ITEMS, predictions if predictions.is_file() else None, key)

    def list_sources(self) -> list[Source]:
        """List the sources that the folder and its dataset describe; if there are none, an unknown one."""
        told = [source for about in self._find_about() for source in describe_folder(about)]
        return [Source(self.name, source) for source in told or [DatasetSource(self.name, UNKNOWN)]]

    def _find_about(self) -> Iterator[Path]:
        folders = [self.place]
        record = self.place / EVALUATED
        if record.is_file():
            deps = [str(dep.get("path", "")) for dep in read_json(record).get("deps", ())]
            folders += [Path(dep).parent for dep in deps if Path(dep).stem == "items"]
        yield from (folder / name for folder in folders for name in ABOUT if (folder / name).is_file())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object that a command wrote. Raises BadInput if the file is not a JSON object."""
    try:
        read = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadInput(path, "is not valid JSON", hint="delete the folder and create it again") from error
    if not isinstance(read, dict):
        raise BadInput(path, "is not a JSON object", hint="delete the folder and create it again")
    return read


def find_items_folder(root: Path, place: Path) -> ItemsFolder | None:
    """Return the folder of items at a path; None if its flow has no release layout."""
    if not (place / ITEMS).is_file():
        return None
    figures = place / "figures.json"
    named = read_json(figures).get("flow", "") if figures.is_file() else place.parent.name
    flow = next((flow for flow in list_flows() if flow.released and flow.name == named), None)
    if flow is None:
        return None
    inside = place.is_relative_to(root)
    return ItemsFolder(place.relative_to(root).as_posix() if inside else place.name, place, flow)


def find_release(root: Path, choice: Choice, key: str) -> Release | None:
    """Return the rows that an entry publishes in the layout of its paper's release.

    For a dataset, these rows are the items. For an evaluation, they are the items and the predictions. Return
    None if the flow has no release layout, or for an evaluation without `key`. `key`: name of the field for a
    predicted table in the release's records. Raises BadInput if `key` is given but the flow has no release
    layout, or if the evaluation has no predictions.
    """
    flow = next(flow for flow in list_flows() if flow.find(choice.lead.stage))
    if not flow.released:
        if key:
            names = ", ".join(flow.name for flow in list_flows() if flow.released)
            raise BadInput(OPTION, f"does not apply to {flow.name}", hint=f"use it for {names}")
        return None
    samples = {f"{scope.samples}{ROWS}" for scope in flow.list_scopes() if scope.samples}
    if Path(choice.lead.artifact).name in samples:
        return Release(flow, root / choice.lead.artifact, None, key)
    if not key:
        return None
    deps = (dep for node in choice.stages for dep in node.deps if Path(dep).name in samples)
    made = (node.artifact for node in choice.stages if Path(node.artifact).name == PREDICTIONS)
    items, predictions = next(deps, None), next(made, None)
    if items is None or predictions is None:
        raise BadInput(OPTION, f"{choice.entry} has no predictions", hint="run the evaluation first")
    return Release(flow, root / items, root / predictions, key)
