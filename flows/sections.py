"""Validate the sections of params.yaml: shared sections, flow sections and stage sections."""

from __future__ import annotations

import datetime as dt
import importlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from jsonschema import Draft7Validator
from jsonschema.exceptions import SchemaError
from pydantic import Field
from referencing.exceptions import Unresolvable

from flows.code import to_path
from flows.graph import Declared, DeclaredGraph, is_declaring
from flows.import_process import ImportLimits
from flows.lineage.openlineage import Destination
from flows.night_settings import Nightly
from flows.parameters import refuse, suggest, validate
from flows.presets import KEY, PRESETS, list_preset_flows
from flows.run.engine.engine_settings import EngineSettings
from flows.run.node import Node
from flows.settings import Workers, parse_database
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput
from tasks.judging.trust import TrustThresholds
from tasks.models.ask import Role
from tasks.models.settings import EmbeddedModel, ModelRun
from tasks.settings import Settings
from tasks.systems.entries import SystemEntry


class NightLabel(Settings):
    """The label of a nightly run."""

    as_of: str | int | dt.date | None = ""
    """The nightly run's label, which is part of the key of each evaluation call; empty in any other run."""


class EvaluationSection(NightLabel):
    """`evaluation` in params.yaml: the label of a nightly run, and the items that it evaluates.

    Each nightly run repeats all calls.
    """

    items: dict[str, tuple[str, ...]] | None = None
    """Full name of an entry (`assessments.films-good`) -> ids of the items to evaluate.

    A nightly run that evaluates a subset sets this value in its own working tree.
    """


class BaselineNight(NightLabel):
    """`baselines` in params.yaml: the nightly label of baseline calls; set only with `nightly.baselines`."""


class RunSettings(ModelRun):
    """`run` in params.yaml: connections, limits and costs. No stage depends on these settings."""

    workers: Workers = 4
    """Maximum number of concurrent stages."""
    engine: EngineSettings = EngineSettings()
    importing: ImportLimits = ImportLimits()
    openlineage: Destination = Destination()
    hooks: dict[str, dict[str, Any] | None] = Field(default_factory=dict)
    """Hook name -> the hook's options. A hook is called after each stage and each run (docs/plugs.md)."""


SCHEMA = "params.schema.json"
PresetName = Annotated[
    Literal[PRESETS],  # type: ignore[valid-type]
    Field(description="The set of defaults for this flow (docs/presets.md)."),
]
FurtherCanaries = Annotated[
    bool, Field(description="Also ask the judge the held-out test cases, which are reported separately.")
]
HOUSE: Mapping[str, object] = {
    "baselines": BaselineNight,
    "databases": dict[str, DatabaseEntry],
    "evaluation": EvaluationSection,
    "judging.further_canaries": FurtherCanaries,
    "judging.thresholds": TrustThresholds,
    "models": dict[str, EmbeddedModel],
    "nightly": Nightly,
    "roles": dict[str, Role],
    "run": RunSettings,
    "systems": dict[str, SystemEntry],
}
"""Sections that belong to no stage or flow: dotted name -> the annotation that validates the section."""


def find_sections(graph: DeclaredGraph, stages: Container[str] | None = None) -> dict[str, Any]:
    """Return dotted name of a section -> the annotation that validates it, from stages' signatures.

    `stages`: names of the stages to import; None imports all stages. If an imported stage reads parameters of
    another stage, the other stage is imported, too. Raises BadInput if a stage cannot be imported, or reads a
    section without a known model.
    """
    sections = {**HOUSE, **dict.fromkeys(_list_preset_keys(graph), PresetName)}
    for flow in graph.flows:
        sections |= {name: _load_model(place) for name, place in flow.sections.items()}
    declared = [
        declaration for name, declaration in graph.declared.items() if stages is None or name in stages
    ]
    # A stage may read parameters or entries of other stages; the other stages' models validate them.
    read = {f"{name}." for declaration in declared for name in declaration.stage.settings}
    others = [
        declaration
        for name, declaration in graph.declared.items()
        if declaration not in declared
        and any(part.startswith((f"{name}.", f"{declaration.stage.scope.over or name}.")) for part in read)
    ]
    for declaration in [*declared, *others]:
        over = declaration.stage.scope.over
        hints = _read_hints(declaration) if {"params", "entry"} & set(declaration.arguments) else {}
        if "params" in hints:
            sections[declaration.stage.name] = hints["params"]
        if "entry" in hints:
            entries = GenericAlias(dict, (str, hints["entry"]))
            if sections.setdefault(over, entries) != entries:
                raise declaration.refuse(
                    f"declares a different type of `entry` than other stages that run over {over}"
                )
    # Include all stages: a stage may read entries of a section that only stages outside this run use.
    for declaration in graph.declared.values():
        if declaration.stage.scope.over:
            sections.setdefault(declaration.stage.scope.over, dict[str, Any])
    for declaration in declared:
        for name in declaration.stage.settings:
            if not _is_known(name.partition(".${")[0], sections):
                raise declaration.refuse(
                    f"reads the settings {name!r}, which no model validates: add it to `sections` in the "
                    "flow's module"
                )
    return dict(sorted(sections.items()))


def list_required(graph: DeclaredGraph) -> list[str]:
    """List the sections that params.yaml must have, even if empty, since stages run once per entry."""
    scopes = [declaration.stage.scope for declaration in graph.declared.values()]
    return sorted({scope.over for scope in scopes if scope.over and not scope.when})


def check_params(params: Mapping[str, object], sections: Mapping[str, object]) -> None:
    """Validate every section that exists, and check that a flow's section has no unknown keys.

    Raises BadInput with the first invalid parameter and its line.
    """
    for name, hint in sections.items():
        _check_section(params, name.split("."), hint)
    _refuse_unknown(params, sections)


def check_refused(root: Path, params: Mapping[str, object], nodes: Sequence[Node]) -> None:
    """Validate the values that nodes read and that params.schema.json rejects.

    The check finds most errors before the stale stages are determined, and imports only the affected stages.
    Raises BadInput for an invalid value.
    """
    refused = list_refused(root, params) if is_declaring(root) else []
    first = [node for node in nodes if any(_is_read(value, node.params) for value in refused)]
    if first:
        check_read(DeclaredGraph(root), params, first)


def check_stale(root: Path, params: Mapping[str, object], nodes: Sequence[Node]) -> None:
    """Validate the parameters of stale stages before the first stage runs.

    Does nothing in a folder without flows. Raises BadInput for an invalid parameter.
    """
    if nodes and is_declaring(root):
        check_read(DeclaredGraph(root), params, nodes)


def list_refused(root: Path, params: Mapping[str, object]) -> list[str]:
    """Return the dotted names of the values in params.yaml that params.schema.json rejects.

    The schema lacks the models' validators, so the list only shows which parameters to validate first. The
    list is empty if the schema file is missing or invalid.
    """
    try:
        schema = json.loads((root / SCHEMA).read_bytes())
        Draft7Validator.check_schema(schema)
        errors = list(Draft7Validator(schema).iter_errors(params))
    except (OSError, ValueError, SchemaError, Unresolvable):  # the file may be missing or edited
        return []
    return [".".join(map(str, error.absolute_path)) for error in errors]


def _is_read(value: str, names: Sequence[str]) -> bool:
    """Return whether the parameter `value` is in a section of `names`, or contains a section of `names`."""
    return any(f"{value}.".startswith(f"{name}.") or name.startswith(f"{value}.") for name in names)


def check_read(graph: DeclaredGraph, params: Mapping[str, object], nodes: Sequence[Node]) -> None:
    """Validate the sections and entries that the given stages read.

    Raises BadInput with the first invalid parameter and its line.
    """
    sections = find_sections(graph, {node.stage for node in nodes})
    for read in sorted({name for node in nodes for name in node.params}):
        for name, hint in sections.items():
            if read == name or name.startswith(f"{read}."):
                _check_section(params, name.split("."), hint)
            elif read.startswith(f"{name}."):
                keys, entry = name.split("."), _find_entry_hint(hint)
                key = read.removeprefix(f"{name}.").partition(".")[0]
                if entry is None:
                    _check_section(params, keys, hint)
                # The model of a database needs the key of the entry as its name.
                elif name == "databases":
                    parse_database(params, key)
                else:
                    _check_section(params, [*keys, key], entry)


def _check_section(params: Mapping[str, object], keys: list[str], hint: Any) -> None:
    value = _find(params, keys)
    if value is not None:
        validate(hint, value, keys, params)


def _find_entry_hint(hint: Any) -> Any:
    """Return the annotation of an entry in a section with user-chosen keys; None for any other section."""
    return get_args(hint)[1] if get_origin(hint) is dict else None


def check_names(params: Mapping[str, object], graph: DeclaredGraph) -> None:
    """Check that a flow's section has no unknown keys, without importing stages or validating values.

    Raises BadInput with the first unknown key and its line.
    """
    names = [*HOUSE, *_list_preset_keys(graph)]
    names += [name for flow in graph.flows for name in flow.sections]
    for declaration in graph.declared.values():
        names += [declaration.stage.name] if "params" in declaration.arguments else []
        names += [declaration.stage.scope.over] if declaration.stage.scope.over else []
    _refuse_unknown(params, dict.fromkeys(names))


def _refuse_unknown(params: Mapping[str, object], sections: Mapping[str, object]) -> None:
    for keys, known in _list_unknown(params, sections, ()):
        raise refuse(params, keys, "no such key", hint=suggest(keys[-1], known))


def _list_unknown(
    part: Mapping[str, object], sections: Mapping[str, object], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield each unknown key with the known keys of its section; top-level keys are not checked."""
    prefix = "".join(f"{key}." for key in above)
    known = {name.removeprefix(prefix).partition(".")[0] for name in sections if name.startswith(prefix)}
    for key in part:
        name = f"{prefix}{key}"
        inner = part[key]
        if key in known and name not in sections and isinstance(inner, Mapping):
            yield from _list_unknown(inner, sections, (*above, key))
        elif key not in known and above:
            yield (*above, str(key)), sorted(known)


def _list_preset_keys(graph: DeclaredGraph) -> list[str]:
    """List the preset keys of the project's flows, such as `longform.preset`."""
    return [f"{flow.name}.{KEY}" for flow in graph.flows if flow.name in list_preset_flows()]


def _find(params: Mapping[str, object], keys: list[str]) -> Any:
    """Return a section; None if the section or one of its parents is missing or empty."""
    part: Any = params
    for depth, key in enumerate(keys):
        if not isinstance(part, Mapping):
            raise refuse(params, keys[:depth], "must be a mapping (key: value)")
        part = part.get(key)
        if part is None:
            return None
    return part


def _is_known(name: str, sections: Mapping[str, object]) -> bool:
    return any(
        name == section or section.startswith(f"{name}.") or name.startswith(f"{section}.")
        for section in sections
    )


def _read_hints(own: Declared) -> dict[str, Any]:
    return get_type_hints(getattr(_import(own.module), own.stage.function), include_extras=True)


def _load_model(place: str) -> Any:
    module, _, name = place.partition(":")
    model = getattr(_import(module), name, None)
    if model is None:
        raise BadInput(to_path(module), f"has no class {name!r}, which the module of a flow uses")
    return model


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BadInput(to_path(module), f"cannot be imported: {error}") from error
