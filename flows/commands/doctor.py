"""`benchloom doctor`: what is missing on this machine, and the command that mends it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import tasks
from flows.extras import PACKAGE, PROJECT, is_installed, list_extras, list_requirements, list_unmet
from flows.run.model_settings import read_models
from flows.settings import find_project, get_section, load_params, parse_database
from tasks.errors import BadInput
from tasks.lines import print_line
from tasks.models.settings import EmbeddedModel, Endpoint

MIN_PYTHON = (3, 11)
ROOM = 1_000_000_000
"""Bytes that a run of the sample and its caches stay well below."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. mend: the command that puts it right, where it is not."""

    what: str
    state: Literal["ok", "missing", "optional"]
    """missing: a run needs it. optional: only what `detail` names needs it."""
    detail: str
    mend: str = ""


def doctor_command(*, as_json: bool) -> int:
    """Carry out `benchloom doctor`; returns 1 where something is missing that a run needs."""
    try:
        findings = list(examine(find_project()))
    except BadInput as error:
        none = Finding("project", "optional", str(error), "benchloom init DIR")
        findings = [check_python(), *check_packages(), *check_programs(), none]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False))
    else:
        print_findings(findings)
    return int(any(finding.state == "missing" for finding in findings))


def examine(root: Path) -> Iterator[Finding]:
    """Look at everything that a project needs, the needed before the useful."""
    yield check_python()
    yield from check_packages()
    yield from check_pins(root)
    yield from check_programs()
    yield check_folder(root)
    yield check_room(root)
    try:
        params = load_params(root)
        run, models = read_models(params)
        check_sections(params)
    except BadInput as error:
        yield Finding("params.yaml", "missing", str(error), "edit params.yaml")
        return
    yield Finding("params.yaml", "ok", "can be read")
    yield from check_databases(root, params)
    for name, endpoint in run.endpoints.items():
        yield check_endpoint(name, endpoint, models)


def check_python() -> Finding:
    """Look at the interpreter."""
    found = sys.version.split()[0]
    if sys.version_info >= MIN_PYTHON:
        return Finding("Python", "ok", found)
    return Finding("Python", "missing", f"{found}; 3.11 or later is needed", "install Python 3.11 or later")


def check_packages() -> Iterator[Finding]:
    """Hold the installed packages against what a run needs, and against the extras."""
    mend = f"{sys.executable} -m pip install 'benchloom[{{}}]'"
    needed = [*list_requirements(), *list_requirements(PROJECT)]
    if wrong := list_unmet(needed):
        yield Finding("packages", "missing", ", ".join(wrong), mend.format(PROJECT))
    else:
        yield Finding("packages", "ok", f"{len(needed)} that a run needs")
    for extra in list_extras():
        if extra != PROJECT and (wrong := list_unmet(list_requirements(extra))):
            yield Finding(f"extra {extra}", "optional", ", ".join(wrong), mend.format(extra))


def check_pins(root: Path) -> Iterator[Finding]:
    """Hold the installed packages against pyproject.toml: those that shape bytes, and the code's version."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    own = settings.get("tool", {}).get("benchloom", {})
    retrieval = {name: pin for name, pin in own.get("retrieval", {}).items() if is_installed(name)}
    pins = {**retrieval, **own.get("bytes", {}), **own.get("contracts", {})}
    if wrong := list_unmet([f"{name}=={pin}" for name, pin in pins.items()]):
        detail = f"{', '.join(wrong)}: artifacts would have other bytes than recorded"
        names = " ".join(text.partition(" ")[0] for text in wrong)
        yield Finding("byte pins", "missing", detail, f"{sys.executable} -m pip install {names}")
    if own.get("version") and list_unmet([f"{PACKAGE}=={own['version']}"]):
        detail = f"this project's is of {own['version']}, and {version(PACKAGE)} is installed"
        yield Finding("code", "optional", detail, "benchloom init --upgrade")


def check_programs() -> Iterator[Finding]:
    """Look for the programs that are called by name."""
    benchloom = shutil.which("benchloom")
    if benchloom is None:
        folder = Path(sys.executable).parent
        mend = f'export PATH="{folder}:$PATH"'
        yield Finding("benchloom on PATH", "optional", "`dvc repro` calls it by name", mend)
    else:
        yield Finding("benchloom on PATH", "ok", benchloom)
    if shutil.which("git") is None:
        yield Finding("git", "missing", "DVC works in a Git repository", "apt-get install git")
    if shutil.which("chromium") is None:
        yield Finding("Chromium", "optional", "`make look` drives it", "apt-get install chromium")


def check_folder(root: Path) -> Finding:
    """Look whether the project is a DVC repository whose lock file is whole."""
    if not (root / ".dvc").is_dir():
        return Finding("DVC", "missing", f"{root} is no DVC repository", "git init && dvc init")
    locks = root / ".dvc" / "tmp" / "rwlock"
    try:
        json.loads(locks.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except ValueError:
        return Finding(
            "DVC", "missing", f"{locks} was cut short; no other run may be going on", f"rm {locks}"
        )
    return Finding("DVC", "ok", str(root))


def check_room(root: Path) -> Finding:
    """Look whether there is room for artifacts and caches."""
    free = shutil.disk_usage(root).free
    if free < ROOM:
        return Finding("disk", "missing", f"{free / 1e6:.0f} MB free, 1 GB is wanted", "dvc gc --workspace")
    return Finding("disk", "ok", f"{free / 1e9:.0f} GB free")


def check_sections(params: Mapping[str, Any]) -> None:
    """Validate every section of params.yaml but the databases, each of which is a finding by itself."""
    from flows.graph import DeclaredGraph
    from flows.sections import check_params, find_sections

    sections = find_sections(DeclaredGraph(Path(tasks.__file__ or "").parents[1]))
    check_params(params, {name: hint for name, hint in sections.items() if name != "databases"})


def check_databases(root: Path, params: Mapping[str, Any]) -> Iterator[Finding]:
    """Look for each database's file, or its password and driver."""
    databases = get_section(params, "databases") or {}
    if not databases:
        yield Finding("databases", "missing", "params.yaml names none", "edit params.yaml: databases")
    for name in databases:
        yield check_database(root, name, params)


def check_database(root: Path, name: str, params: Mapping[str, Any]) -> Finding:
    """Look at one entry of `databases:`."""
    what = f"database {name}"
    try:
        entry = parse_database(params, name)
        if entry.file is None:
            entry.connect().dispose()
            return Finding(what, "ok", "its driver and password are here")
    except BadInput as error:
        return Finding(what, "missing", str(error), f"edit params.yaml: databases.{name}")
    if (root / entry.file).is_file():
        return Finding(what, "ok", str(entry.file))
    if f"- {entry.file}" not in (root / "dvc.yaml").read_text(encoding="utf-8"):
        return Finding(what, "missing", f"no file {entry.file}", f"edit params.yaml: databases.{name}.file")
    if has_packages(root):
        return Finding(what, "ok", f"{entry.file} will be made by its stage")
    return Finding(what, "missing", f"the packages whose files {entry.file} is made from", "make setup")


def has_packages(root: Path) -> bool:
    """Tell whether the sample's packaged files lie in the project, or can be copied from their packages."""
    from tasks.sources.packages import FILES, TARGET

    return all((root / TARGET / file.target).is_file() or find_spec(file.package) for file in FILES)


def check_endpoint(name: str, endpoint: Endpoint, models: Mapping[str, EmbeddedModel]) -> Finding:
    """Look for an endpoint's key, or for the file of an embedded model. A replay needs neither."""
    from tasks.models.serving.fetching import find_file, has_files

    what = f"model {name}"
    if endpoint.kind != "embedded":
        if endpoint.key_env is None or os.environ.get(endpoint.key_env):
            return Finding(what, "ok", str(endpoint.url))
        detail = f"the environment has no {endpoint.key_env}; only live calls need it"
        return Finding(what, "optional", detail, f"export {endpoint.key_env}=...")
    if name not in models:
        return Finding(what, "missing", f"params.yaml has no models.{name}", "edit params.yaml: models")
    if has_files(models[name]):
        return Finding(what, "ok", str(find_file(models[name])))
    return Finding(what, "optional", "not pulled; only live calls need it", f"benchloom model pull {name}")


def print_findings(findings: list[Finding]) -> None:
    """Print the findings for people: no table, since a command must be whole to be copied."""
    for finding in findings:
        print_line(f"{finding.state:<9} {finding.what}: {finding.detail}")
        if finding.mend:
            print_line(f"          mend: {finding.mend}")
    missing = [finding.what for finding in findings if finding.state == "missing"]
    print(f"Missing: {', '.join(missing)}." if missing else "Nothing is missing that a run needs.")
