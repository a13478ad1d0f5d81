"""Check the machine and the project for `benchloom doctor`, and give a command that fixes each problem."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tasks
from flows.extras import PACKAGE, PROJECT, is_installed, list_extras, list_requirements, list_unmet
from flows.run.model_settings import read_models
from flows.run.needs import Finding, check_databases, check_endpoint
from flows.settings import find_project, load_params
from tasks.errors import BadInput
from tasks.lines import print_line

MIN_PYTHON = (3, 11)
ROOM = 1_000_000_000
"""Free disk space required, in bytes; a run of the sample with its caches needs much less."""


def doctor_command(*, as_json: bool) -> int:
    """Run `benchloom doctor`; return 1 if a requirement of a run is missing, otherwise 0."""
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
    """Yield a finding for each requirement of a project, mandatory requirements first."""
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
    """Check the version of the Python interpreter."""
    found = sys.version.split()[0]
    if sys.version_info >= MIN_PYTHON:
        return Finding("Python", "ok", found)
    return Finding(
        "Python", "missing", f"{found}; Python 3.11 or later is required", "install Python 3.11 or later"
    )


def check_packages() -> Iterator[Finding]:
    """Compare the installed packages with the requirements of a run and of the extras."""
    mend = f"{sys.executable} -m pip install 'benchloom[{{}}]'"
    needed = [*list_requirements(), *list_requirements(PROJECT)]
    if wrong := list_unmet(needed):
        yield Finding("packages", "missing", ", ".join(wrong), mend.format(PROJECT))
    else:
        yield Finding("packages", "ok", f"all {len(needed)} required packages are installed")
    for extra in list_extras():
        if extra != PROJECT and (wrong := list_unmet(list_requirements(extra))):
            yield Finding(f"extra {extra}", "optional", ", ".join(wrong), mend.format(extra))


def check_pins(root: Path) -> Iterator[Finding]:
    """Compare the installed versions of Benchloom and of the pinned packages with pyproject.toml."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    pinned = settings.get("tool", {}).get("benchloom", {})
    # The packages of the extra `retrieval` are optional, so a missing package is not a problem.
    retrieval = {name: pin for name, pin in pinned.get("retrieval", {}).items() if is_installed(name)}
    pins = {**retrieval, **pinned.get("bytes", {}), **pinned.get("contracts", {})}
    if wrong := list_unmet([f"{name}=={pin}" for name, pin in pins.items()]):
        detail = f"{', '.join(wrong)}: artifacts would differ from the recorded bytes"
        names = " ".join(text.partition(" ")[0] for text in wrong)
        yield Finding("byte pins", "missing", detail, f"{sys.executable} -m pip install {names}")
    if pinned.get("version") and list_unmet([f"{PACKAGE}=={pinned['version']}"]):
        detail = f"the project's code is version {pinned['version']}, but {version(PACKAGE)} is installed"
        yield Finding("code", "optional", detail, "benchloom init --upgrade")


def check_programs() -> Iterator[Finding]:
    """Check that the programs that Benchloom starts by name are on PATH."""
    benchloom = shutil.which("benchloom")
    if benchloom is None:
        folder = Path(sys.executable).parent
        mend = f'export PATH="{folder}:$PATH"'
        yield Finding("benchloom on PATH", "optional", "not found; `dvc repro` calls `benchloom`", mend)
    else:
        yield Finding("benchloom on PATH", "ok", benchloom)
    if shutil.which("git") is None:
        yield Finding("git", "missing", "not found; DVC needs Git", "apt-get install git")
    if shutil.which("chromium") is None:
        yield Finding(
            "Chromium", "optional", "not found; only `make look` needs it", "apt-get install chromium"
        )


def check_folder(root: Path) -> Finding:
    """Check that the project is a DVC repository with a readable lock file."""
    if not (root / ".dvc").is_dir():
        return Finding("DVC", "missing", f"{root} is not a DVC repository", "git init && dvc init")
    locks = root / ".dvc" / "tmp" / "rwlock"
    try:
        json.loads(locks.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except ValueError:
        return Finding(
            "DVC",
            "missing",
            f"{locks} is truncated; make sure that no other run is active, then delete this file",
            f"rm {locks}",
        )
    return Finding("DVC", "ok", str(root))


def check_room(root: Path) -> Finding:
    """Check that there is disk space for artifacts and caches."""
    free = shutil.disk_usage(root).free
    if free < ROOM:
        return Finding("disk", "missing", f"{free / 1e6:.0f} MB free, 1 GB is required", "dvc gc --workspace")
    return Finding("disk", "ok", f"{free / 1e9:.0f} GB free")


def check_sections(params: Mapping[str, Any]) -> None:
    """Validate params.yaml except `databases`, since each database has a separate finding."""
    from flows.graph import DeclaredGraph
    from flows.sections import check_params, find_sections

    sections = find_sections(DeclaredGraph(Path(tasks.__file__ or "").parents[1]))
    check_params(params, {name: hint for name, hint in sections.items() if name != "databases"})


def print_findings(findings: list[Finding]) -> None:
    """Print the findings as lines: in a table, a long command would be wrapped and could not be copied."""
    for finding in findings:
        print_line(f"{finding.state:<9} {finding.what}: {finding.detail}")
        if finding.mend:
            print_line(f"          fix: {finding.mend}")
    missing = [finding.what for finding in findings if finding.state == "missing"]
    print(f"Missing: {', '.join(missing)}." if missing else "Everything that a run needs is present.")
