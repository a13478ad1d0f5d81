"""Create a project from the installed template (`benchloom init DIR`)."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchloom.history import History
from benchloom.places import find_template
from benchloom.tree import list_tree
from benchloom.yaml_files import load_yaml, write_yaml
from tasks.errors import BadInput

NEEDED = ("dvc", "prefect", "pandas")
"""Packages that are required for a run, but not for creating a project."""
SAMPLE = "sources"
"""Name of the section of params.yaml, and prefix of the stages in dvc.yaml, for the sample project's sources.

New projects contain neither the section nor the stages.
"""
SAMPLE_BLOCK = re.compile(rf"^  {SAMPLE}-[^\n]*\n(?:    [^\n]*\n)+\n?", re.MULTILINE)
"""Matches a block of dvc.yaml for the sample's sources.

`benchloom graph` also omits these blocks if params.yaml has no section `sources`.
"""
REWRITTEN = ("dvc.yaml", "params.yaml", "pyproject.toml")

FILL_IN = """\
my_shop: {file: data/shop.sqlite, title: My shop, licence: CC-BY-4.0, source: where it comes from}
my_server: {url: "postgresql+psycopg://reader@host/shop", password_env: SHOP_PASSWORD}
"""
ASKERS = (
    "I am preparing for a meeting",
    "I am filling in a form",
    "I am writing a short report",
    "I am checking an entry in our records",
    "I am going through our records",
    "I am standing in for a colleague",
    "I am preparing a list for the office",
    "I am answering a letter",
    "I am answering an email",
    "Somebody on the phone wants to know this",
    "I am putting a file in order",
    "I am comparing two lists that do not agree",
    "I am filling the gaps in a table",
    "I am tidying up some old notes",
    "I am checking a draft before it goes out",
    "I am writing a note for the team",
    "I am planning the week",
    "I am preparing a summary",
    "I am answering a question from a customer",
    "I am proofreading a report before noon",
    "I am looking into an old case",
    "I am working through my inbox",
    "I am getting ready for a visit from the auditor",
    "I am writing down what we know",
)
"""Circumstances in which employees ask questions, for GRAMMAR's criterion `long` in a new project."""
README = """\
# {name}

Questions with answers from your own databases, built by [Benchloom](https://pypi.org/project/benchloom/).

1. `benchloom add database shop shop.sqlite` tests your database and adds it to `params.yaml`.
2. `benchloom add model NAME --endpoint URL --key-env VAR` tests your model and adds it. Without this step,
   Benchloom uses the embedded model (`benchloom model pull` downloads it).
3. `benchloom doctor` lists missing requirements. `benchloom plan` estimates the calls and the cost of a run.
   `benchloom run --limit 3` runs a preview on three items, and `benchloom run` runs everything.

`flows/` and `tasks/` are this project's copy of Benchloom's code. After an edit, only the
stages that depend on the edited code become stale.
`benchloom init --upgrade` merges the installed version into them and keeps your edits. `requirements.lock`
lists the exact package versions with which this version of Benchloom was tested.
"""
PYPROJECT = """\
[project]
name = "{name}"
version = "0"
requires-python = ">=3.11"
dependencies = ["benchloom[project]=={version}"]

# The version of the code in this project; `benchloom init --upgrade` raises it.
[tool.benchloom]
version = "{version}"

{pins}
"""
DVC_FILES = {".dvc/config": "", ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n"}
"""The files that `dvc init` would write, with their content. DVC itself does not have to be installed."""


def init_command(folder: Path) -> int:
    """Create a project for `benchloom init DIR`; return the exit code."""
    version = make_project(folder)
    lacking = any(find_spec(name) is None for name in NEEDED)
    steps = [f"cd {folder}", *(["pip install 'benchloom[project]'"] if lacking else [])]
    print(
        f"created {folder} with Benchloom {version}; next: {', '.join(steps)}, "
        "`benchloom add database NAME FILE`, "
        "and `benchloom doctor`",
        file=sys.stderr,
    )
    return 0


def make_project(folder: Path) -> str:
    """Create a project in a new or empty folder; return Benchloom's version.

    Raises BadInput if the folder is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(folder, "is not empty", hint="choose a new folder")
    template = find_template()
    version = read_version(template)
    write_project(template, folder, folder.resolve().name)
    History(folder).begin(version)
    return version


def write_project(template: Path, folder: Path, name: str) -> None:
    """Write the files of a project: the template's code and parameters, without the sample.

    The code is copied because stages depend on it: an edit of the code makes its artifacts stale.
    """
    for path in list_tree(template):
        if path.as_posix() not in REWRITTEN:
            write_bytes(folder / path, (template / path).read_bytes())
    graph = SAMPLE_BLOCK.sub("", (template / "dvc.yaml").read_text(encoding="utf-8"))
    write_yaml(folder / "params.yaml", empty_databases(load_yaml(template / "params.yaml")))
    texts = {
        "README.md": README.format(name=name),
        "LICENSE": read_licence(template),
        "dvc.yaml": graph,
        "pyproject.toml": describe_project(template, name),
        **DVC_FILES,
    }
    for place, text in texts.items():
        write_bytes(folder / place, text.encode())


def read_version(template: Path) -> str:
    """Return the Benchloom version in a template's pyproject.toml."""
    settings = tomllib.loads((template / "pyproject.toml").read_text(encoding="utf-8"))
    return str(settings["project"]["version"])


def describe_project(template: Path, name: str) -> str:
    """Return the text of a project's pyproject.toml, which includes the template's version pins."""
    paragraphs = (template / "pyproject.toml").read_text(encoding="utf-8").split("\n\n")
    pins = [text.strip() for text in paragraphs if re.search(r"^\[tool\.benchloom\.", text, re.MULTILINE)]
    valid = re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-").lower() or "project"
    return PYPROJECT.format(name=valid, version=read_version(template), pins="\n\n".join(pins))


def read_licence(template: Path) -> str:
    """Read the text of the code's licence; an installed wheel contains the text in its metadata."""
    beside = template / "LICENSE"
    if beside.is_file():
        return beside.read_text(encoding="utf-8")
    return distribution("benchloom").read_text("licenses/LICENSE") or ""


def empty_databases(params: Any) -> Any:
    """Remove the sample project's entries from the parameters, and add a comment with example entries."""
    params.pop(SAMPLE, None)
    params["databases"] = {}
    # Remove other parameters that refer to the sample: companies, assessments, corpus, nightly assessments.
    params["companies"], params["closed"], params["assessments"] = {}, {}, {}
    params["longform"] |= {"databases": {}, "sets": {}, "evaluations": {}}
    params["tanq"] |= {"sources": {}, "sets": {}, "evaluations": {}}
    params["streambench"] |= {
        "databases": {},
        "streams": {},
        "evaluations": {},
        "systems": {},
        "overviews": {},
    }
    params["grammar"]["profiles"] |= {"entities": {}, "documents_of": {}}
    params["grammar"]["questions"]["sizes"] = {}
    params["grammar"]["baselines"].pop("sample", None)  # the preset sets the same value
    params["grammar"]["text_templates"]["criteria"]["long"]["circumstances"] = list(ASKERS)
    params["nightly"]["assessments"] = []
    params.yaml_set_comment_before_after_key("databases", before=FILL_IN)
    return params


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, creating its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
