"""Evaluate a system on a user's questions: run the flow's own stages in a temporary folder.

Evaluations are not in dvc.yaml or dvc.lock. An interrupted run continues from the ledger.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from flows.code import find_module, to_path
from flows.discovery import list_evaluating, list_flows
from flows.graph import DeclaredGraph
from flows.night_settings import LABEL
from flows.run.binding import Places, bind, find_function
from flows.run.evaluated import name_written, read_strands
from flows.run.loading import row_type_of
from flows.run.model_settings import read_mapping
from flows.run.session import Session
from flows.settings import parse_section
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.artifacts.rows import Dropped
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.lineage.bases import BASES, derive_rest, encode_bases
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.models.calls import Call
from tasks.reports.own_evaluation import Evaluation, Measured, measure_strands, resolve_figures
from tasks.reports.tables import round_figures
from tasks.systems.capabilities import needs_documents
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection
from tasks.systems.own_items import write_name

FOLDER = "data/evaluations"
FIGURES = "figures.json"


@dataclass(frozen=True)
class FlatPlaces(Places):
    """Puts all artifacts of an evaluation into one folder, instead of the graph's folders."""

    def place(self, path: str) -> Path:
        """Return the file that an output is written to."""
        return self.outs_root / Path(path).name

    def find(self, path: str) -> Path:
        """Return a dependency's file: the one in the folder if there is one, else the project's."""
        return self.place(path) if self.place(path).exists() else self.root / path


def find_evaluation(flow: str, root: Path) -> Evaluation:
    """Import a flow's declaration: `EVALUATION` in `evaluation.py` below tasks/<flow>. Raises BadInput."""
    flows = [found.name for found in list_flows() if any(scope.evaluates for scope in found.list_scopes())]
    if flow not in flows:
        raise BadInput(
            f"evaluate {flow}", "is no flow that evaluates systems", hint=f"there are {', '.join(flows)}"
        )
    module = find_module(f"{flow}.evaluation", root)
    declared = getattr(importlib.import_module(module), "EVALUATION", None)
    if not isinstance(declared, Evaluation):
        raise BadInput(to_path(module), "declares no EVALUATION", hint="see docs/stages.md")
    return declared


def read_own(
    flow: str,
    evaluation: Evaluation,
    params: Mapping[str, object],
    options: EvaluationOptions,
    entry: SystemEntry,
) -> OwnDataset:
    """Read and check the user's dataset for a system. Raises BadInput, one line.

    An option of other flows is refused, and so is a system that needs documents where the flow has none.
    """
    for name in sorted({"documents", "turns", "language"} - evaluation.takes):
        if getattr(options, name):
            raise BadInput(f"--{name}", f"is of other flows than {flow}")
    if "documents" not in evaluation.takes and needs_documents(entry):
        raise BadInput(f"systems.{options.system}", f"retrieves from documents, and {flow} has none")
    return evaluation.read(options, entry, make_reader(params))


def read_system(params: Mapping[str, object], options: EvaluationOptions) -> SystemEntry:
    """Return the system's entry; check the label of the evaluation (`--as-of`). Raises BadInput."""
    if options.as_of and not LABEL.fullmatch(options.as_of):
        raise BadInput(f"--as-of {options.as_of}", "is no label: letters, digits, dots, dashes, 64 at most")
    systems = read_mapping(params, "systems", SystemEntry)
    if options.system not in systems:
        there = ", ".join(sorted(systems)) or "none yet"
        raise BadInput(
            f"--system {options.system}", f"is not under `systems` in params.yaml (there: {there})"
        )
    entry: SystemEntry = systems[options.system]
    return entry


def run_stages(
    root: Path, params: Mapping[str, object], options: EvaluationOptions, own: OwnDataset, session: Session
) -> tuple[dict[str, tuple[type, Sequence[Any]]], list[Call]]:
    """Run the flow's stages on the user's dataset, in a temporary folder.

    Returns the artifacts that they read and wrote (name -> row type and rows), and the distinct calls.
    Raises what a stage raises.
    """
    given = overlay(params, options, own)
    graph = DeclaredGraph(root)
    rows = dict(own.artifacts)
    calls: dict[str, Call] = {}
    with tempfile.TemporaryDirectory(prefix="evaluation-") as folder:
        places = FlatPlaces(root, Path(folder))
        for name, (row, written) in own.artifacts.items():
            write_rows(places.outs_root / f"{name}.parquet", row, written)
        for stage in own.stages:
            entry = own.entries[graph.declared[stage].stage.scope.over]
            node = graph.make_node(stage, own.key, entry)
            bound = bind(node, given, places, session.make_ask)
            bound.call()
            row = row_type_of(find_function(node)[1])
            artifact, *beside = node.outs
            rows[Path(artifact).stem] = row, read_rows(places.place(artifact), row)
            for path in beside:
                if path.endswith(".dropped.parquet"):
                    rows[f"{Path(artifact).stem}_dropped"] = Dropped, read_rows(places.place(path), Dropped)
            for call in bound.ask.call_rows() if bound.ask is not None else ():
                calls.setdefault(call.id, call)
    return rows, list(calls.values())


def overlay(params: Mapping[str, object], options: EvaluationOptions, own: OwnDataset) -> dict[str, object]:
    """Return the parameters of params.yaml with the evaluation's entries, settings and label added."""
    given = copy.deepcopy(dict(params))
    entries = {f"{section}.{own.key}": entry for section, entry in own.entries.items()}
    for name, value in {**entries, **own.settings, "evaluation.as_of": options.as_of}.items():
        *parents, last = name.split(".")
        section: dict[str, Any] = given
        for parent in parents:
            section[parent] = section.get(parent) or {}
            section = section[parent]
        section[last] = value
    return given


def make_reader(params: Mapping[str, object]) -> ReadSection:
    """Make the function that reads and validates sections of params.yaml."""
    return cast("ReadSection", partial(parse_section, params))


def place_out(root: Path, options: EvaluationOptions, key: str) -> Path:
    """Return the output folder: `--out`, or one named by the system and a part of the key."""
    return options.out or root / FOLDER / f"{options.system}-{key[:8]}"


def prepare_out(out: Path) -> None:
    """Create the output folder, before any model is asked. Raises BadInput."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(out, f"cannot be made a folder ({(error.strerror or '').lower()})") from error
    if not os.access(out, os.W_OK):
        raise BadInput(out, "cannot be written to")


def write_rows_of(
    out: Path, own: OwnDataset, rows: Mapping[str, tuple[type, Sequence[Any]]], calls: Sequence[Call]
) -> None:
    """Write the rows and calls of an evaluation; every file is renamed into place."""
    for name, (row, written) in rows.items():
        if not name.endswith("_dropped") and (name not in own.artifacts or name in own.kept):
            write_rows(out / f"{name}.parquet", row, written)
    write_rows(out / "calls.parquet", Call, calls)


def measure_rows(
    evaluation: Evaluation,
    rows: Mapping[str, tuple[type, Sequence[Any]]],
    params: Mapping[str, object],
    options: EvaluationOptions,
    own: OwnDataset,
    out: Path,
) -> Measured:
    """Compute the figures as the flow declares, else from its scored answers. out: where the rows are."""
    if evaluation.measure is not None:
        found = {artifact: written for artifact, (_, written) in rows.items()}
        return evaluation.measure(found, options, make_reader(params))
    scope = next(scope for scope in list_evaluating() if scope.evaluates in own.stages)
    strands = read_strands(scope, own.key, options.system, lambda name: out / f"{name}.parquet", "evaluate")
    return measure_strands(strands, name_written(scope.evaluates))


def write_figures(
    out: Path, flow: str, options: EvaluationOptions, entry: SystemEntry, own: OwnDataset, measured: Measured
) -> dict[str, Any]:
    """Write figures.json beside the rows, from which numbers are computed, and return it."""
    bases = {f"/{name}": Derivation("count", (Selection(name),)) for name in own.kept}
    resolved = resolve_figures(measured.figures, out, bases)
    figures: dict[str, Any] = {
        **describe_evaluation(flow, options, entry, own),
        **cast("dict[str, Any]", round_figures(resolved)),
        "left_out": list(own.problems),
        "failures": list(measured.failures),
    }
    known = {**bases, **measured.bases}
    figures[BASES] = encode_bases(figures, derive_rest(figures, measured.rest, known))
    text = json.dumps(figures, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(out / FIGURES, text + "\n")
    return figures


def describe_evaluation(
    flow: str, options: EvaluationOptions, entry: SystemEntry, own: OwnDataset
) -> dict[str, object]:
    """Describe the evaluation for figures.json, without absolute paths."""
    return {
        "evaluation": own.key,
        "flow": flow,
        "dataset": write_name(options.dataset),
        "system": options.system,
        "version": entry.version,
        "as_of": options.as_of,
        "limit": options.limit,
        **own.about,
    }
