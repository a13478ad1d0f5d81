"""Read params.yaml, and edit its values without losing comments. Each error message is a single line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import yaml
from pydantic import BaseModel, Field

from flows.discovery import list_flows, list_scopes, list_stages
from flows.parameters import Parameters, refuse, validate
from flows.params_file import dump_flow, list_changes, parse_params, put_value, write_value
from flows.presets import KEY, fill_presets, list_preset_flows
from tasks.errors import BadInput
from tasks.files import write_beside

if TYPE_CHECKING:
    from tasks.databases.entry import DatabaseEntry

Model = TypeVar("Model", bound=BaseModel)

Workers = Annotated[int, Field(gt=0)]
"""Type of the setting `run.workers`."""

BY_NAME = frozenset({"systems", "roles", "models", "run.endpoints", "run.hooks", "run.prices", "run.systems"})
"""Sections of params.yaml with user-chosen keys, except the sections whose stages run once per entry."""
OWN_SECTIONS = frozenset({"evaluation", "judging", "nightly"})
"""Top-level sections that belong to no stage."""


def find_project(start: Path | None = None) -> Path:
    """Find the project's folder: the first folder, from `start` upwards, with dvc.yaml and params.yaml."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file() and (folder / "params.yaml").is_file():
            _keep_private(folder / ".benchloom")
            return folder
    raise BadInput(
        here, "is not in a Benchloom project", hint="cd into a project, or create one: benchloom init DIR"
    )


def find_base(*, needed: bool) -> Path:
    """Return the project's folder; outside a project, return the current folder.

    `needed`: whether to raise BadInput outside a project.
    """
    try:
        return find_project()
    except BadInput:
        if needed:
            raise
        return Path.cwd()


def _keep_private(state: Path) -> None:
    """Make a project's state folder (logs, server databases, replaced files) accessible only to its owner."""
    with suppress(OSError):  # another user's project, or a read-only disk
        state.mkdir(mode=0o700, exist_ok=True)
        if state.stat().st_mode & 0o077:
            state.chmod(0o700)


def load_params(root: Path) -> Parameters:
    """Read params.yaml, and fill in the values of its presets.

    Raises BadInput, with the line, if the file is invalid (see `parse_params` and `fill_presets`).
    """
    path = root / "params.yaml"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror}") from error
    return _fill_presets(parse_params(content, path, list_fanned(), list_sections()), path, content)


def _fill_presets(data: dict[str, object], path: Path, content: bytes) -> Parameters:
    """Fill in the values of presets. Raises BadInput as `fill_presets` does."""
    written = Parameters(data, path, content)
    filled = fill_presets(written, [flow.name for flow in list_flows()])
    return Parameters(filled, path, content, written)


def get_section(params: Mapping[str, object], key: str) -> Any:
    """Return the section `a.b.c` of params, or {} if the section or one of its parents is missing.

    Raises BadInput if a parent of the section is not a mapping.
    """
    part: Any = params
    keys = key.split(".")
    for depth, name in enumerate(keys):
        if part is not None and not isinstance(part, Mapping):
            raise refuse(params, keys[:depth], "must be a mapping (key: value)")
        part = (part or {}).get(name, {})
    return part


def parse_section(params: Mapping[str, object], key: str, model: type[Model]) -> Model:
    """Validate one section of params.yaml. Raises BadInput with the parameter and its line."""
    section = get_section(params, key)
    return cast(Model, validate(model, {} if section is None else section, key.split("."), params))


def parse_value(params: Mapping[str, object], key: str, hint: Any) -> Any:
    """Return a part of params.yaml, validated against an annotation.

    Raises BadInput with the parameter's name and line.
    """
    return validate(hint, get_section(params, key), key.split("."), params)


def parse_database(params: Mapping[str, object], name: str) -> DatabaseEntry:
    """Validate one entry of `databases:`. Raises BadInput with the parameter and its line."""
    from tasks.databases.entry import DatabaseEntry

    keys = ["databases", name]
    fields = get_section(params, ".".join(keys)) or {}
    if not isinstance(fields, Mapping):
        raise refuse(params, keys, "must be a mapping (key: value)")
    return cast("DatabaseEntry", validate(DatabaseEntry, {**fields, "name": name}, keys, params))


def set_params(root: Path, assignments: list[str]) -> None:
    """Apply `KEY=VALUE` edits to params.yaml, as `dvc exp run -S` does. Values are YAML.

    A key may be new only if it names a flow's preset, a section that a flow or stage declares, or an entry of
    a section with user-chosen keys. The rest of the file does not change. On an error, raises BadInput
    without writing the file.
    """
    path = root / "params.yaml"
    data: Mapping[str, Any] = load_params(root)
    # `read_text` would convert line ends, which an edit must not change.
    text = path.read_bytes().decode("utf-8")
    for assignment in assignments:
        keys, value = _parse_assignment(data, assignment)
        text = write_value(text, keys, value)
        content = text.encode()
        data = _fill_presets(parse_params(content, path, list_fanned(), list_sections()), path, content)
    with write_beside(path) as draft:
        draft.write_bytes(text.encode())


def write_params(root: Path, values: Mapping[tuple[str, ...], object]) -> None:
    """Write values under their keys into params.yaml; all other lines do not change.

    Raises BadInput, without writing, if the result would be invalid or the text cannot express the values.
    """
    edited = edit_params(root, values)
    with write_beside(root / "params.yaml") as draft:
        draft.write_bytes(edited.text)


def edit_params(root: Path, values: Mapping[tuple[str, ...], object]) -> Parameters:
    """Return the parameters with the values set under their keys; the file is not written.

    The attribute `text` of the result is the edited content of the file. Raises BadInput if the result would
    be invalid or the text cannot express the values.
    """
    path = root / "params.yaml"
    data: Mapping[str, Any] = load_params(root)
    text = path.read_bytes().decode("utf-8")
    for keys, value in values.items():
        for place, part in list_changes(data, keys, value):
            text = write_value(text, place, dump_flow(part))
        data = put_value(data, keys, value)
    content = text.encode()
    return _fill_presets(parse_params(content, path, list_fanned(), list_sections()), path, content)


def _parse_assignment(data: Mapping[str, Any], assignment: str) -> tuple[list[str], str]:
    """Split `KEY=VALUE`. Raises BadInput if params.yaml has no such key, or the value is not YAML."""
    key, equals, value = assignment.partition("=")
    if not equals:
        raise BadInput(f"--set {assignment}", "is not of the form KEY=VALUE")
    keys = key.strip().split(".")
    section: Any = data
    for depth, name in enumerate(keys[:-1], start=1):
        if isinstance(section, dict) and section.get(name) is None and is_declared(keys[:depth]):
            section = {}
        elif not isinstance(section, dict) or name not in section:
            raise BadInput(f"--set {key}", f"params.yaml has no section {name!r}")
        else:
            section = section[name]
    new = ".".join(keys[:-1]) in list_named_sections() or is_declared(keys) or is_preset_key(keys)
    if not isinstance(section, dict) or (keys[-1] not in section and not new):
        known = ", ".join(map(str, section)) if isinstance(section, dict) else "none"
        raise BadInput(f"--set {key}", f"params.yaml has no such parameter (known: {known})")
    try:
        yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"--set {key}", "the value is not valid YAML", hint="put it in quotes") from error
    return keys, value


def is_preset_key(keys: Sequence[str]) -> bool:
    """Return whether a key names the preset of a flow, such as `longform.preset`."""
    return len(keys) == 2 and keys[1] == KEY and keys[0] in list_preset_flows()


def list_sections() -> frozenset[str]:
    """List the top-level sections of params.yaml that Benchloom defines."""
    names = {*OWN_SECTIONS, *list_named_sections(), *(stage.name for stage in list_stages())}
    return frozenset(name.partition(".")[0] for name in names)


def list_fanned() -> frozenset[str]:
    """List the sections of params.yaml whose stages run once per entry."""
    return frozenset(scope.over for scope in list_scopes() if scope.over)


def list_named_sections() -> frozenset[str]:
    """List the sections of params.yaml whose keys are names chosen by the user."""
    return BY_NAME | list_fanned()


def is_declared(parts: Sequence[str]) -> bool:
    """Return whether a section may be created: a flow or stage declares the section or a subsection."""
    name = ".".join(parts)
    declared = (*(scope.over for scope in list_scopes()), *(stage.name for stage in list_stages()))
    return any(section == name or section.startswith(f"{name}.") for section in declared)
