"""Evaluate a system on a user's questions: run the flow's own stages in a temporary folder.

Evaluations are not in dvc.yaml or dvc.lock. An interrupted evaluation continues from the ledger.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flows.code import find_module, to_path
from flows.discovery import list_evaluating, list_flows
from flows.evaluation_params import add_answers, add_endpoint, add_model, add_role, check_outside
from flows.graph import DeclaredGraph
from flows.night_settings import LABEL
from flows.run.binding import Places, bind, find_function
from flows.run.evaluated import name_written, read_scored_systems
from flows.run.loading import row_type_of
from flows.run.model_settings import read_mapping
from flows.run.needs import require_needs
from flows.run.node import Node
from flows.settings import get_section, parse_section
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.artifacts.rows import Dropped
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.lineage.bases import BASES, derive_rest, encode_bases
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.models.calls import Call
from tasks.reports.own_evaluation import Evaluation, Measured, measure_scored_systems, resolve_figures
from tasks.reports.replies import derive_replies
from tasks.reports.tables import round_figures
from tasks.systems.entries import ReplayEntry, SystemEntry, needs_documents
from tasks.systems.evaluation import EvaluationOptions, OwnDataset, ReadSection
from tasks.systems.own_items import write_name
from tasks.systems.replayed import read_recorded

if TYPE_CHECKING:
    from flows.run.session import Session

FOLDER = "data/evaluations"
FIGURES = "figures.json"
DATA = "data/"
OF_SOME = frozenset({"documents", "turns", "language", "columns", "score", "judge"})
"""Options that only some flows accept (`Evaluation.takes`)."""
Artifacts = Mapping[str, tuple[type, Sequence[Any]]]
"""Artifact -> (row type, rows). The key `<artifact>_dropped` contains the rows that a stage dropped."""


@dataclass(frozen=True)
class FlatPlaces(Places):
    """Puts all artifacts of an evaluation into one folder, instead of the graph's folders."""

    def place(self, path: str) -> Path:
        """Return the path of an output in the evaluation's folder."""
        return self.outs_root / Path(path).name

    def find(self, path: str) -> Path:
        """Return the path of a dependency: in the evaluation's folder if present, else in the project."""
        return self.place(path) if self.place(path).exists() else self.root / path


def find_evaluation(flow: str, root: Path) -> Evaluation:
    """Import a flow's declaration `EVALUATION` from `evaluation.py` below tasks/<flow>.

    Raises BadInput if the flow does not evaluate systems, or its declaration is missing.
    """
    flows = [found.name for found in list_flows() if any(scope.evaluates for scope in found.list_scopes())]
    if flow not in flows:
        raise BadInput(
            f"evaluate {flow}", "is not a flow that evaluates systems", hint=f"known: {', '.join(flows)}"
        )
    module = find_module(f"{flow}.evaluation", root)
    declared = getattr(importlib.import_module(module), "EVALUATION", None)
    if not isinstance(declared, Evaluation):
        raise BadInput(to_path(module), "declares no EVALUATION", hint="see docs/stages.md")
    return declared


@dataclass(frozen=True)
class EvaluationRun:
    """An evaluation that is ready to run: its system and dataset have been read and checked."""

    root: Path
    """The folder that contains the code: the project or, outside a project, the installed template."""
    flow: str
    declared: Evaluation
    params: Mapping[str, object]
    options: EvaluationOptions
    entry: SystemEntry
    own: OwnDataset
    place: Path | None = None
    """The output folder, to which paths in records are relative; None means `root`."""

    @property
    def base(self) -> Path:
        """The project's folder or, outside a project, the folder from which the command was run."""
        return self.place or self.root

    @property
    def out(self) -> Path:
        """The output folder: `--out`, or a folder named after the system and the evaluation's key."""
        return self.options.out or self.base / FOLDER / f"{self.options.system}-{self.own.key[:8]}"

    @property
    def given(self) -> dict[str, object]:
        """The parameters of params.yaml with the evaluation's entries, settings and label added."""
        own, given = self.own, copy.deepcopy(dict(self.params))
        entries = {f"{section}.{own.key}": entry for section, entry in own.entries.items()}
        for name, value in {**entries, **own.settings, "evaluation.as_of": self.options.as_of}.items():
            *parents, last = name.split(".")
            section: dict[str, Any] = given
            for parent in parents:
                section[parent] = section.get(parent) or {}
                section = section[parent]
            section[last] = value
        return given


def prepare(
    root: Path,
    flow: str,
    params: Mapping[str, object],
    options: EvaluationOptions,
    place: Path | None = None,
) -> EvaluationRun:
    """Check the options, and read the user's dataset, without calling a model.

    `place`: see `EvaluationRun`. Raises BadInput, with a one-line message, if an option or the dataset is
    invalid. The flow must accept every given option. If the system retrieves documents, the flow must have
    documents.
    """
    declared = find_evaluation(flow, root)
    if place is not None:
        check_outside(options)
    for name in sorted(OF_SOME - declared.takes):
        if given := getattr(options, name):
            option = next(iter(given)) if isinstance(given, Mapping) else name
            raise BadInput(f"--{option}", f"does not apply to {flow}")
    options = replace(options, as_of=options.as_of or str(get_section(params, "evaluation.as_of") or ""))
    params = add_endpoint(params, options)
    if options.answers is not None:
        params = add_answers(place or root, params, options.system, options.answers)
    elif options.by_model:
        params = add_model(params, options.system)
    if options.judge:
        params = add_role(params, "judge", "judge", options.judge)
    entry = read_system(params, options)
    if "documents" not in declared.takes and needs_documents(entry):
        raise BadInput(
            f"systems.{options.system}", f"retrieves from documents, but the flow {flow} has no documents"
        )
    own = declared.read(options, entry, make_reader(params))
    if isinstance(entry, ReplayEntry) and not entry.model:
        own = replace(own, notes=(*own.notes, *list_unused(own, entry)))
    return EvaluationRun(root, flow, declared, params, options, entry, own, place)


def list_unused(own: OwnDataset, entry: ReplayEntry) -> list[str]:
    """Return a line with the number of recorded answers that match no question.

    Raises BadInput if no recorded answer matches.
    """
    # An item of a stream has the key and the text from its dataset.
    asked = dict(
        name_item(row)
        for name, (_, rows) in own.artifacts.items()
        for row in rows
        if name == "items" or hasattr(row, "question")
    )
    answers = read_recorded(entry)
    total = len(answers.by_id) + len(answers.by_question)
    unused = answers.count_unused(asked)
    if unused == total:
        raise BadInput(
            entry.file,
            "contains no answers to the questions of the dataset",
            hint="no `id` or `question` in the file matches the dataset",
        )
    return [f"{unused} of {total} answers do not belong to a question of the dataset"] if unused else []


def name_item(row: Any) -> tuple[str, str]:
    """Return an item's id and question; for an item of a stream, its key and text."""
    return (row.key, row.text) if hasattr(row, "key") else (row.id, row.question)


def make_nodes(run: EvaluationRun) -> list[Node]:
    """Make the nodes of the stages that run on the user's dataset."""
    own, graph = run.own, DeclaredGraph(run.root)
    return [
        graph.make_node(stage, own.key, own.entries[graph.declared[stage].stage.scope.over])
        for stage in own.stages
    ]


def require_evaluation_needs(run: EvaluationRun) -> None:
    """Raise BadInput if a requirement of an evaluation's stages is missing."""
    nodes = make_nodes(run)
    # Each artifact is the user's dataset, which has been read, or an output of these stages (`FlatPlaces`).
    artifacts = {dep for node in nodes for dep in node.deps if dep.startswith(DATA)}
    require_needs(run.root, run.given, nodes, artifacts)


def read_system(params: Mapping[str, object], options: EvaluationOptions) -> SystemEntry:
    """Return the system's entry, and check the label of the evaluation (`--as-of`).

    Raises BadInput for an unknown system or an invalid label.
    """
    if options.as_of and not LABEL.fullmatch(options.as_of):
        raise BadInput(
            f"--as-of {options.as_of}",
            "is not a valid label: use at most 64 letters, digits, dots and dashes",
        )
    systems = read_mapping(params, "systems", SystemEntry)
    if options.system not in systems:
        there = ", ".join(sorted(systems)) or "none"
        raise BadInput(
            f"--system {options.system}", f"is not under `systems` in params.yaml (known: {there})"
        )
    entry: SystemEntry = systems[options.system]
    return entry


def run_stages(run: EvaluationRun, session: Session) -> tuple[Artifacts, list[Call]]:
    """Run the flow's stages on the user's dataset, in a temporary folder.

    Returns the artifacts that the stages read and wrote (name -> row type and rows), and the distinct calls.
    Exceptions raised by a stage propagate unchanged.
    """
    own, given = run.own, run.given
    rows = dict(own.artifacts)
    calls: dict[str, Call] = {}
    with tempfile.TemporaryDirectory(prefix="evaluation-") as folder:
        places = FlatPlaces(run.root, Path(folder))
        for name, (row, written) in own.artifacts.items():
            write_rows(places.outs_root / f"{name}.parquet", row, written)
        for node in make_nodes(run):
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


def make_reader(params: Mapping[str, object]) -> ReadSection:
    """Make the function that reads and validates sections of params.yaml."""
    return cast("ReadSection", partial(parse_section, params))


def prepare_out(out: Path) -> None:
    """Create the output folder before any model is called.

    Raises BadInput if the folder cannot be created, or is not writable.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(out, f"the folder cannot be created ({(error.strerror or '').lower()})") from error
    if not os.access(out, os.W_OK):
        raise BadInput(out, "is not writable")


def write_artifacts(run: EvaluationRun, rows: Artifacts, calls: Sequence[Call]) -> None:
    """Write the rows and calls of an evaluation; each file is written atomically."""
    for name, (row, written) in rows.items():
        if not name.endswith("_dropped") and (name not in run.own.artifacts or name in run.own.kept):
            write_rows(run.out / f"{name}.parquet", row, written)
    write_rows(run.out / "calls.parquet", Call, calls)


def measure(run: EvaluationRun, rows: Artifacts) -> Measured:
    """Compute the figures as the flow declares, or by default from the scored answers on disk."""
    if run.declared.measure is not None:
        found = {artifact: written for artifact, (_, written) in rows.items()}
        return run.declared.measure(found, run.options, make_reader(run.params))
    scope = next(scope for scope in list_evaluating() if scope.evaluates in run.own.stages)
    system, label = run.options.system, "evaluate"
    scored_systems = read_scored_systems(
        scope, run.own.key, system, lambda name: run.out / f"{name}.parquet", label
    )
    return measure_scored_systems(scored_systems, name_written(scope.evaluates))


def write_figures(run: EvaluationRun, measured: Measured, calls: Sequence[Call]) -> dict[str, Any]:
    """Write figures.json into the folder of the scored rows; return the file's content.

    The file contains no absolute paths.
    """
    options, own = run.options, run.own
    bases = {f"/{name}": Derivation("count", (Selection(name),)) for name in own.kept}
    own_figures = {**measured.figures, "replies": derive_replies(calls)}
    figures: dict[str, Any] = {
        "evaluation": own.key,
        "flow": run.flow,
        "dataset": write_name(options.dataset),
        "system": options.system,
        "version": run.entry.version,
        "as_of": options.as_of,
        "limit": options.limit,
        **own.about,
        **cast("dict[str, Any]", round_figures(resolve_figures(own_figures, run.out, bases))),
        "left_out": list(own.problems),
        "failures": list(measured.failures),
    }
    known = {**bases, **measured.bases}
    figures[BASES] = encode_bases(figures, derive_rest(figures, measured.rest, known))
    text = json.dumps(figures, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(run.out / FIGURES, text + "\n")
    return figures
