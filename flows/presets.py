"""Apply presets: named sets of default values for parameters that params.yaml does not set.

`longform: {preset: paper}` in params.yaml selects a column of the table in tasks/presets.yaml. A value in
params.yaml always takes precedence. If a stage has a parameter in the table, the stage depends on the
parameter's cell in the selected column. A switch to another preset therefore makes the stage stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from flows.parameters import refuse, suggest
from tasks.errors import BadInput

TABLE = "tasks/presets.yaml"
"""The path of the table of presets, as in dvc.yaml."""
KEY = "preset"
"""The key in a flow's section whose value is the name of the flow's preset."""
DEFAULT = "sample"
PRESETS = (DEFAULT, "paper")
SOURCE = "section"
EACH = "each"
"""Placeholder in the table that matches every user-chosen name in a mapping."""
TEMPLATE = re.compile(r"\$\{[^}]*\}")
"""A placeholder that dvc.yaml fills in, such as `${key}`."""


@dataclass(frozen=True)
class PresetLine:
    """A line of the table: a parameter, its value under each preset, and the section of the paper."""

    flow: str
    keys: tuple[str, ...]
    """The parameter's keys below the flow's section; EACH matches every name."""
    values: Mapping[str, Any]
    """Preset -> value. The key DEFAULT is missing if the line only documents the paper's value."""
    section: str

    @property
    def fills(self) -> bool:
        """Whether the line fills in the parameter; if not, the code's default is the paper's value."""
        return DEFAULT in self.values

    def name_cell(self, preset: str) -> str:
        """Return the dotted name by which DVC finds the line's value for a preset in the table."""
        return ".".join((self.flow, *self.keys, preset))


@dataclass(frozen=True)
class Override:
    """A value in params.yaml that differs from the value of the selected preset."""

    name: str
    written: Any
    preset: Any
    section: str

    def describe(self) -> str:
        """Return a line such as `longform.interactions.queries: 5, not 16 (section 4.1)`."""
        return f"{self.name}: {_show(self.written)}, not {_show(self.preset)} ({self.section})"


@dataclass(frozen=True)
class ChosenPreset:
    """The preset of a flow, and the values of params.yaml that override the preset's values."""

    flow: str
    preset: str
    overrides: tuple[Override, ...]

    def describe(self) -> str:
        """Return one line for the preset and one line for each override, as one string."""
        count = len(self.overrides)
        kept = f"; params.yaml sets {count} other value{'s' if count > 1 else ''}:" if count else ""
        head = f"{self.flow}: preset {self.preset}{kept}"
        return "\n".join([head, *(f"  {override.describe()}" for override in self.overrides)])


@cache
def list_lines() -> tuple[PresetLine, ...]:
    """Return the lines of the table; an empty tuple in a project without a table.

    Raises BadInput for a line that lacks a required value.
    """
    path = Path(__file__).parents[1] / TABLE
    if not path.is_file():
        return ()
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(line for flow, part in table.items() for line in _read_lines(flow, (), part))


def _read_lines(flow: str, keys: tuple[str, ...], part: Any) -> Iterator[PresetLine]:
    if not isinstance(part, Mapping):
        raise BadInput(TABLE, f"{'.'.join((flow, *keys))}: is not a mapping of presets to values")
    if SOURCE not in part:
        for key, inner in part.items():
            yield from _read_lines(flow, (*keys, key), inner)
        return
    values = {name: value for name, value in part.items() if name != SOURCE}
    if not {*PRESETS} - {DEFAULT} <= set(values) <= {*PRESETS}:
        raise BadInput(TABLE, f"{'.'.join((flow, *keys))}: must have values for {', '.join(PRESETS)}")
    yield PresetLine(flow, keys, values, str(part[SOURCE]))


def list_preset_flows() -> tuple[str, ...]:
    """Return the names of the flows that have presets."""
    return tuple(dict.fromkeys(line.flow for line in list_lines()))


def find_preset(params: Mapping[str, Any], flow: str) -> str:
    """Return the name of a flow's preset. Raises BadInput for an unknown preset."""
    part = params.get(flow)
    name = part.get(KEY, DEFAULT) if isinstance(part, Mapping) else DEFAULT
    if name in PRESETS:
        return str(name)
    near = name if isinstance(name, str) else ""
    raise refuse(params, [flow, KEY], "is not a preset", hint=suggest(near, PRESETS))


def fill_presets(params: Mapping[str, Any], flows: Iterable[str] = ()) -> dict[str, Any]:
    """Return the parameters, with preset values for parameters that params.yaml does not set.

    `flows`: names of all flows, to report a flow without presets. A value is filled in only if params.yaml
    has the mapping that contains it. Raises BadInput for an unknown preset, for a preset of a flow without
    presets, and for a preset outside a flow's section.
    """
    known = list_preset_flows()
    if KEY in params and known:
        example = f"{known[0]}: {{{KEY}: {PRESETS[-1]}}}"
        raise refuse(params, [KEY], "must be in the section of a flow", hint=f"write `{example}`")
    for flow in flows:
        part = params.get(flow)
        if flow not in known and isinstance(part, Mapping) and KEY in part:
            words = f"the flow {flow} has no presets"
            hint = f"flows with presets: {', '.join(known)}" if known else f"{TABLE} is missing"
            raise refuse(params, [flow, KEY], words, hint=hint)
    filled = dict(params)
    for line in list_lines():
        preset = find_preset(params, line.flow)
        if line.fills:
            filled[line.flow] = _fill(filled.get(line.flow), line.keys, line.values[preset])
    return {name: value for name, value in filled.items() if name in params}


def _fill(part: Any, keys: tuple[str, ...], value: Any) -> Any:
    """Return nested mappings with a value added under the keys, if only the last key is missing."""
    first, *rest = keys
    if not isinstance(part, Mapping):
        return part
    if not rest:
        return {first: value, **part}
    names = [name for name in (part if first == EACH else [first]) if name in part]
    return {**part, **{name: _fill(part[name], tuple(rest), value) for name in names}}


def list_chosen(params: Mapping[str, Any], flows: Iterable[str]) -> list[ChosenPreset]:
    """Return the presets other than the default, with the values in params.yaml that override presets.

    `params`: the content of params.yaml, before the presets' values were filled in.
    """
    chosen = []
    for flow in list_preset_flows():
        preset = find_preset(params, flow)
        if flow in flows and preset != DEFAULT:
            lines = [line for line in list_lines() if line.flow == flow]
            overrides = [found for line in lines for found in _find_overrides(params, line, preset)]
            chosen.append(ChosenPreset(flow, preset, tuple(overrides)))
    return chosen


def _find_overrides(params: Mapping[str, Any], line: PresetLine, preset: str) -> Iterator[Override]:
    for name, written in _find_written(params.get(line.flow), (line.flow,), line.keys):
        if written != line.values[preset]:
            yield Override(".".join(name), written, line.values[preset], line.section)


def _find_written(
    part: Any, above: tuple[str, ...], keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values in params.yaml that a line of the table refers to, with their keys."""
    if not keys:
        yield above, part
        return
    first, *rest = keys
    if isinstance(part, Mapping):
        for name in part if first == EACH else [first]:
            if name in part:
                yield from _find_written(part[name], (*above, str(name)), tuple(rest))


def list_cells(params: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the table cells that a stage depends on, as DVC names them.

    `names`: sections of params.yaml that the stage reads, such as `longform.sets.${key}`. If the flow's
    section of params.yaml selects a preset, a cell's name contains a reference to that setting, and DVC
    resolves the reference.
    """
    read = [tuple(TEMPLATE.sub(EACH, name).split(".")) for name in names]
    cells = []
    for line in list_lines():
        if line.fills and any(_overlaps(section, (line.flow, *line.keys)) for section in read):
            part = params.get(line.flow)
            switched = isinstance(part, Mapping) and KEY in part
            cells.append(line.name_cell(f"${{{line.flow}.{KEY}}}" if switched else DEFAULT))
    return cells


def _overlaps(section: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    """Return whether one of two key paths contains the other; EACH matches any name."""
    return all(part == other or EACH in (part, other) for part, other in zip(section, keys, strict=False))


def _show(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), sort_keys=False)
    text = text.removesuffix("\n").removesuffix("\n...")
    return text if len(text) <= 60 else f"{text[:57]}..."
