"""Check the requirements of a project or of stages, and suggest how to meet each missing requirement.

`benchloom doctor` checks everything in params.yaml. A command that calls models checks its stages'
requirements before the first paid call, so no stage fails after earlier stages were paid for.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

from flows.discovery import find_stage
from flows.extras import PACKAGE, list_requirements, list_unmet
from flows.run.model_settings import read_mapping, read_models
from flows.run.node import Node
from flows.settings import get_section, parse_database
from tasks.errors import BadInput
from tasks.lines import say_line
from tasks.models.incoming import is_loopback
from tasks.models.settings import EmbeddedModel, Endpoint, SystemRun

CONNECT_S = 3.0
"""Seconds to wait for a connection; an address that does not respond in this time passes the check."""
JAPANESE = "ja"


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    `what`: the subject of the check. `mend`: a command or an instruction to fix the problem; empty if there
    is no problem.
    """

    what: str
    state: Literal["ok", "missing", "optional"]
    """`missing`: a requirement of a run is missing.

    `optional`: the requirement is needed only for the purpose in `detail`.
    """
    detail: str
    mend: str = ""


# Requirements of the given stages


@dataclass
class Used:
    """The models, systems, extras and files that stages use."""

    models: set[str] = field(default_factory=set)
    systems: set[str] = field(default_factory=set)
    extras: dict[str, str] = field(default_factory=dict)
    """Extra -> the first stage that needs it."""
    files: dict[str, str] = field(default_factory=dict)
    """File -> the first stage that reads it."""


def require_needs(root: Path, params: Mapping[str, Any], nodes: Sequence[Node], made: Iterable[str]) -> None:
    """Check that stages have everything they need: files, extras, models and systems.

    `made`: paths that other stages write. The function prints a line for each missing requirement except the
    last, for which it raises BadInput.
    """
    missing = [found for found in examine_needs(root, params, nodes, made) if found.state == "missing"]
    if not missing:
        return
    errors = [BadInput(found.what, found.detail, hint=found.mend) for found in missing]
    for error in errors[:-1]:
        say_line(f"benchloom: {error}")
    raise errors[-1]


def examine_needs(
    root: Path, params: Mapping[str, Any], nodes: Sequence[Node], made: Iterable[str]
) -> Iterator[Finding]:
    """Yield findings on the requirements of stages. made: paths that stages of the project write."""
    run, models = read_models(params)
    used = find_used(params, nodes, made)
    for extra, user in used.extras.items():
        if wrong := list_unmet(list_requirements(extra)):
            names = ", ".join(wrong[:3])
            yield Finding(user, "missing", f"needs {names}", f"pip install '{PACKAGE}[{extra}]'")
    for file, stage in used.files.items():
        if not (root / file).exists():
            yield Finding(
                stage,
                "missing",
                f"{file} does not exist",
                "restore the file, or correct its path in params.yaml",
            )
    endpoints = {name: run.endpoints[name] for name in sorted(used.models) if name in run.endpoints}
    systems = {name: run.systems.get(name, SystemRun()) for name in sorted(used.systems)}
    found = [require(check_endpoint(name, endpoint, models)) for name, endpoint in endpoints.items()]
    found += [require(check_key(f"system {name}", system)) for name, system in systems.items()]
    yield from found
    lacking = {finding.what for finding in found if finding.state == "missing"}
    places = {
        **{f"model {name}": endpoint.url for name, endpoint in endpoints.items()},
        **{f"system {name}": system.url for name, system in systems.items()},
    }
    yield from check_addresses({what: url for what, url in places.items() if url and what not in lacking})


def require(finding: Finding) -> Finding:
    """Change an `optional` finding to `missing`, since a stage needs the requirement."""
    if finding.state != "optional":
        return finding
    return Finding(finding.what, "missing", finding.detail.partition(";")[0], finding.mend)


def find_used(params: Mapping[str, Any], nodes: Sequence[Node], made: Iterable[str]) -> Used:
    """Collect the models, systems, extras and files that stages use.

    `made`: paths that stages of the project write.
    """
    from tasks.models.ask import Role
    from tasks.systems.entries import SystemEntry

    roles, systems = read_mapping(params, "roles", Role), read_mapping(params, "systems", SystemEntry)
    used, own = Used(), {*made, *(out for node in nodes for out in node.outs)}
    for node in nodes:
        declared = find_stage(node.stage)
        if declared is not None and declared.extra:
            used.extras.setdefault(declared.extra, node.name)
        for dep in node.deps:
            if dep not in own:
                used.files.setdefault(dep, node.name)
        entries = list_entries(node, params)
        named = [name for name in find_systems(node) if name in systems]
        for name in named:
            if systems[name].kind == "rag" and systems[name].retriever != "none":
                used.extras.setdefault("retrieval", f"systems.{name}")
        if JAPANESE in find_languages([*entries, *(systems[name].model_dump() for name in named)]):
            used.extras.setdefault("japanese", node.name)
        if node.asks:
            sure = [drop_fields(entry, declared.may_ask if declared else ()) for entry in entries]
            wanted = name_roles(node, sure, roles)
            wanted += [role for name in named for role in list_roles(systems[name]) if role in roles]
            used.models |= {roles[role].model for role in wanted}
            used.systems |= {name for name in named if systems[name].kind in ("http", "callable", "plug")}
    return used


def find_systems(node: Node) -> Iterator[str]:
    """Yield the systems that a stage's parameters name: `good` for `systems.good`."""
    for key in node.params:
        section, _, name = key.partition(".")
        if section == "systems" and name:
            yield name


def find_models(node: Node, params: Mapping[str, Any], roles: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the models that a stage may call, from the roles that it declares by name.

    If the stage declares all roles, the roles that its entry names are used. If the entry names no role, all
    roles are used.
    """
    named = name_roles(node, list_entries(node, params), roles)
    named = named or (list(roles) if "roles" in node.params else [])
    return tuple(dict.fromkeys(roles[name].model for name in named))


def name_roles(node: Node, entries: Sequence[object], roles: Mapping[str, Any]) -> list[str]:
    """Return the roles that a stage declares; if it declares all roles, only those that `entries` name.

    A role that is only a default of an entry may never be called, so it is omitted.
    """
    named = [key.removeprefix("roles.").partition(".")[0] for key in node.params if key.startswith("roles.")]
    if "roles" in node.params:
        named = list(list_texts(entries))
    return [name for name in dict.fromkeys(named) if name in roles]


def list_entries(node: Node, params: Mapping[str, Any]) -> list[object]:
    """List the entries of params.yaml that a stage runs for, without their defaults."""
    return [get_section(params, key) for key in node.params if node.key and key.endswith(f".{node.key}")]


def drop_fields(entry: object, fields: Sequence[str]) -> object:
    """Return an entry without the given fields."""
    if not isinstance(entry, Mapping):
        return entry
    return {name: value for name, value in entry.items() if name not in fields}


def list_texts(value: object) -> Iterator[str]:
    """Yield all strings in a value of params.yaml, including strings in lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from list_texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from list_texts(part)


def list_roles(entry: Any) -> list[str]:
    """List the roles that a system always calls: the answering role and, for dense retrieval, the embedder.

    The rewriter is omitted, since a system calls it only for questions with earlier turns.
    """
    if entry.kind == "openai":
        return [entry.role]
    if entry.kind != "rag":
        return []
    kinds = entry.fused if entry.retriever == "hybrid" else (entry.retriever,)
    return [entry.answerer, *([entry.embedder] if "dense" in kinds else [])]


def find_languages(entries: Iterable[object]) -> set[str]:
    """Return the languages that entries name."""
    return {str(entry["language"]) for entry in entries if isinstance(entry, Mapping) and "language" in entry}


# Checks of single requirements


def check_endpoint(name: str, endpoint: Endpoint, models: Mapping[str, EmbeddedModel]) -> Finding:
    """Check an endpoint's keys and library, or an embedded model's files.

    The finding is `optional` if only live calls, not replayed calls, need what is missing.
    """
    what = f"model {name}"
    if endpoint.kind != "embedded":
        if endpoint.kind == "provider" and find_spec("any_llm") is None:
            detail = "its provider's library is not installed; only live calls need it"
            return Finding(what, "optional", detail, f"pip install '{PACKAGE}[providers]'")
        return check_key(what, endpoint, *endpoint.headers.values())
    if name not in models:
        return Finding(what, "missing", f"params.yaml has no models.{name}", "edit params.yaml: models")
    from tasks.models.serving.embedded import LIBRARIES
    from tasks.models.serving.fetching import find_file, has_files

    library, extra = LIBRARIES[models[name].kind]
    if find_spec(library) is None:
        detail = f"{library} is not installed; only live calls need it"
        return Finding(what, "optional", detail, f"pip install '{PACKAGE}[{extra}]'")
    if has_files(models[name]):
        return Finding(what, "ok", str(find_file(models[name])))
    return Finding(
        what, "optional", "not downloaded; only live calls need it", f"benchloom model pull {name}"
    )


def check_key(what: str, place: Endpoint | SystemRun, *further: str) -> Finding:
    """Check that the environment variables of a connection are set."""
    wanted = [*([place.key_env] if place.key_env else []), *further]
    missing = [name for name in wanted if not os.environ.get(name)]
    if not missing:
        return Finding(what, "ok", str(place.url or "a function of the project"))
    detail = f"the environment variable {missing[0]} is not set; only live calls need it"
    return Finding(what, "optional", detail, f"export {missing[0]}=...")


def check_addresses(places: Mapping[str, str]) -> Iterator[Finding]:
    """Check in parallel that addresses accept connections; yield a finding for each address that does not.

    If a proxy is configured, only loopback addresses are checked.
    """
    # On a machine with a proxy, a direct connection may fail although calls succeed.
    asked = {what: url for what, url in places.items() if is_loopback(url) or not getproxies()}
    with ThreadPoolExecutor(max(len(asked), 1)) as pool:
        for what, problem in zip(asked, pool.map(try_address, asked.values()), strict=True):
            if problem:
                mend = "start it, or correct its url in params.yaml"
                yield Finding(what, "missing", f"{asked[what]} {problem}", mend)


def try_address(url: str) -> str:
    """Return why a connection to a URL's host fails; empty if the connection succeeds or is too slow."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S):
            return ""
    except TimeoutError:
        return ""
    except (OSError, ValueError) as error:
        return f"cannot be reached ({getattr(error, 'strerror', '') or error})"


def check_databases(root: Path, params: Mapping[str, Any]) -> Iterator[Finding]:
    """Check each database's file, or its password and driver."""
    databases = get_section(params, "databases") or {}
    if not databases:
        yield Finding("databases", "missing", "params.yaml lists no database", "edit params.yaml: databases")
    for name in databases:
        yield check_database(root, name, params)


def check_database(root: Path, name: str, params: Mapping[str, Any]) -> Finding:
    """Check one entry of `databases:`."""
    what = f"database {name}"
    try:
        entry = parse_database(params, name)
        if entry.file is None:
            entry.connect().dispose()
            return Finding(what, "ok", "the driver and the password are available")
    except BadInput as error:
        return Finding(what, "missing", str(error), f"edit params.yaml: databases.{name}")
    if (root / entry.file).is_file():
        return Finding(what, "ok", str(entry.file))
    if f"- {entry.file}" not in (root / "dvc.yaml").read_text(encoding="utf-8"):
        return Finding(
            what,
            "missing",
            f"the file {entry.file} does not exist",
            f"edit params.yaml: databases.{name}.file",
        )
    if has_packages(root):
        return Finding(what, "ok", f"a stage will create {entry.file}")
    return Finding(
        what, "missing", f"the packages from which {entry.file} is built are not installed", "make setup"
    )


def has_packages(root: Path) -> bool:
    """Return whether the sample's files are in the project, or can be copied from installed packages."""
    from tasks.sources.packages import FILES, TARGET

    return all((root / TARGET / file.target).is_file() or find_spec(file.package) for file in FILES)
