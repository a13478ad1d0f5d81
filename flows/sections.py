"""The sections of params.yaml with the annotations that validate them: shared ones, flows' and stages'."""

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
    """The night that calls belong to."""

    as_of: str | int | dt.date | None = ""
    """The night's label, part of the key of every call of an evaluation. Empty: of no night."""


class EvaluationSection(NightLabel):
    """The night that an evaluation belongs to: systems, judges and canaries are asked anew under each."""

    items: dict[str, tuple[str, ...]] | None = None
    """Entries by their full name (`assessments.films-good`) -> the ids of the only items that they ask.
    Written by a night that asks a part, in its own tree."""


class BaselineNight(NightLabel):
    """The night that the calls of baselines belong to; a night raises it only if `nightly.baselines`."""


class RunSettings(ModelRun):
    """How things are reached and what they may cost: no stage depends on any of it."""

    workers: Workers = 4
    """Stages at once."""
    engine: EngineSettings = EngineSettings()
    importing: ImportLimits = ImportLimits()
    openlineage: Destination = Destination()
    hooks: dict[str, dict[str, Any] | None] = Field(default_factory=dict)
    """What is called at the end of stages and of the run: a hook's name -> its options (docs/plugs.md)."""


SCHEMA = "params.schema.json"
PresetName = Annotated[
    Literal[PRESETS],  # type: ignore[valid-type]
    Field(description="Which values the flow has where this file gives none (docs/presets.md)"),
]
HOUSE: Mapping[str, object] = {
    "baselines": BaselineNight,
    "databases": dict[str, DatabaseEntry],
    "evaluation": EvaluationSection,
    "judging.further_canaries": bool,
    "judging.thresholds": TrustThresholds,
    "models": dict[str, EmbeddedModel],
    "nightly": Nightly,
    "roles": dict[str, Role],
    "run": RunSettings,
    "systems": dict[str, SystemEntry],
}
"""Sections that are no stage's and no flow's own: dotted name -> what validates them."""


def find_sections(graph: DeclaredGraph, stages: Container[str] | None = None) -> dict[str, Any]:
    """Return the annotation that validates each section, by dotted name, read from the stages' signatures.

    stages: the names of the only stages to import, with those whose parameters they read; None for all.
    Raises BadInput if a stage cannot be imported, or reads a section without a known model.
    """
    sections = {**HOUSE, **dict.fromkeys(_list_preset_keys(graph), PresetName)}
    for flow in graph.flows:
        sections |= {name: _load_model(place) for name, place in flow.sections.items()}
    declared = [own for name, own in graph.declared.items() if stages is None or name in stages]
    # A stage may read the parameters, or the entries, of others, which then validate them.
    read = {f"{name}." for own in declared for name in own.stage.settings}
    others = [
        own
        for name, own in graph.declared.items()
        if own not in declared
        and any(part.startswith((f"{name}.", f"{own.stage.scope.over or name}.")) for part in read)
    ]
    for own in [*declared, *others]:
        over = own.stage.scope.over
        hints = _read_hints(own) if {"params", "entry"} & set(own.arguments) else {}
        if "params" in hints:
            sections[own.stage.name] = hints["params"]
        if "entry" in hints:
            entries = GenericAlias(dict, (str, hints["entry"]))
            if sections.setdefault(over, entries) != entries:
                raise own.refuse(f"takes another type of `entry` than other stages over {over}")
    # Of all stages: one may read entries that only stages which do not run now fan out over.
    for own in graph.declared.values():
        if own.stage.scope.over:
            sections.setdefault(own.stage.scope.over, dict[str, Any])
    for own in declared:
        for name in own.stage.settings:
            if not _is_known(name.partition(".${")[0], sections):
                raise own.refuse(
                    f"reads the settings {name!r}, which no model validates: name it in its flow's `sections`"
                )
    return dict(sorted(sections.items()))


def list_required(graph: DeclaredGraph) -> list[str]:
    """List the sections that must exist, even if empty: those that stages fan out over."""
    scopes = [own.stage.scope for own in graph.declared.values()]
    return sorted({scope.over for scope in scopes if scope.over and not scope.when})


def check_params(params: Mapping[str, object], sections: Mapping[str, object]) -> None:
    """Validate every section that exists, and check that a flow's section has no unknown keys.

    Raises BadInput that names the first invalid parameter and its line.
    """
    for name, hint in sections.items():
        _check_section(params, name.split("."), hint)
    _refuse_unknown(params, sections)


def check_refused(root: Path, params: Mapping[str, object], nodes: Sequence[Node]) -> None:
    """Validate what nodes read of the values that the schema for editors refuses. Raises BadInput.

    This finds most errors before it is known what is stale, and imports the stages concerned alone.
    """
    refused = list_refused(root, params) if is_declaring(root) else []
    first = [node for node in nodes if any(_is_read(value, node.params) for value in refused)]
    if first:
        check_read(DeclaredGraph(root), params, first)


def check_stale(root: Path, params: Mapping[str, object], nodes: Sequence[Node]) -> None:
    """Validate what stale stages read, before the first of them runs. Raises BadInput (see `check_read`).

    Does nothing in a folder without code of its own.
    """
    if nodes and is_declaring(root):
        check_read(DeclaredGraph(root), params, nodes)


def list_refused(root: Path, params: Mapping[str, object]) -> list[str]:
    """List the values of params.yaml that params.schema.json refuses, by dotted name.

    The schema lacks what the models' validators know, and so this decides nothing.
    """
    try:
        schema = json.loads((root / SCHEMA).read_bytes())
        Draft7Validator.check_schema(schema)
        errors = list(Draft7Validator(schema).iter_errors(params))
    except (OSError, ValueError, SchemaError, Unresolvable):  # a project may lack it, or have it edited
        return []
    return [".".join(map(str, error.absolute_path)) for error in errors]


def _is_read(value: str, names: Sequence[str]) -> bool:
    """Return whether one of the sections holds a value, or is a part of it."""
    return any(f"{value}.".startswith(f"{name}.") or name.startswith(f"{value}.") for name in names)


def check_read(graph: DeclaredGraph, params: Mapping[str, object], nodes: Sequence[Node]) -> None:
    """Validate the sections and entries that some stages read.

    Raises BadInput that names the first invalid parameter and its line.
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
                elif name == "databases":
                    parse_database(params, key)
                else:
                    _check_section(params, [*keys, key], entry)


def _check_section(params: Mapping[str, object], keys: list[str], hint: Any) -> None:
    value = _find(params, keys)
    if value is not None:
        validate(hint, value, keys, params)


def _find_entry_hint(hint: Any) -> Any:
    """Return what validates one entry of a section whose keys are names; None for another section."""
    return get_args(hint)[1] if get_origin(hint) is dict else None


def check_names(params: Mapping[str, object], graph: DeclaredGraph) -> None:
    """Check that a flow's section has no unknown keys; imports no stage, and validates no value.

    Raises BadInput that names the first unknown key and its line.
    """
    names = [*HOUSE, *_list_preset_keys(graph)]
    names += [name for flow in graph.flows for name in flow.sections]
    for own in graph.declared.values():
        names += [own.stage.name] if "params" in own.arguments else []
        names += [own.stage.scope.over] if own.stage.scope.over else []
    _refuse_unknown(params, dict.fromkeys(names))


def _refuse_unknown(params: Mapping[str, object], sections: Mapping[str, object]) -> None:
    for keys, known in _list_unknown(params, sections, ()):
        raise refuse(params, keys, "no such key", hint=suggest(keys[-1], known))


def _list_unknown(
    part: Mapping[str, object], sections: Mapping[str, object], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """List unknown keys beside known sections, with the known ones; the top level allows any section."""
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
    """List the keys that name the presets of the project's own flows: it may lack some of ours."""
    return [f"{flow.name}.{KEY}" for flow in graph.flows if flow.name in list_preset_flows()]


def _find(params: Mapping[str, object], keys: list[str]) -> Any:
    """Return a section; None if it, or one above it, is missing or empty."""
    part: Any = params
    for depth, key in enumerate(keys):
        if not isinstance(part, Mapping):
            raise refuse(params, keys[:depth], "must be a mapping (key: value)")
        part = part.get(key)
        if part is None:
            return None
    return part


def _is_known(name: str, sections: Mapping[str, object]) -> bool:
    return any(name == own or own.startswith(f"{name}.") or name.startswith(f"{own}.") for own in sections)


def _read_hints(own: Declared) -> dict[str, Any]:
    return get_type_hints(getattr(_import(own.module), own.stage.function), include_extras=True)


def _load_model(place: str) -> Any:
    module, _, name = place.partition(":")
    model = getattr(_import(module), name, None)
    if model is None:
        raise BadInput(to_path(module), f"has no model {name!r}, which a flow's page names")
    return model


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BadInput(to_path(module), f"cannot be imported: {error}") from error
