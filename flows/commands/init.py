"""`benchloom init DIR`: a project of one's own from this one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.errors import BadInput, BenchloomError
from tasks.files import write_beside

ROOT = Path(__file__).parents[2]
FOLDERS = ("flows", "tasks")
LABELS = Path("data/labels")
"""People's labels: a stage depends on the folder, so it must be there; a project begins without any."""
FILES = ("pyproject.toml", "requirements.lock", "Makefile", "LICENSE", ".gitignore", ".dvcignore")
SAMPLE = "sources"
"""The stages and parameters of the sample's own sources, which another project has no use for."""

FILL_IN = """\
my_shop: {file: data/shop.sqlite, title: My shop, licence: CC-BY-4.0, source: where it comes from}
my_server: {url: "postgresql+psycopg://reader@host/shop", password_env: SHOP_PASSWORD}
"""
README = """\
# {name}

Questions with answers from your own databases. `make setup` makes the environment; then:

1. Name your database in `params.yaml` under `databases:`.
2. Name your model there under `run.endpoints:` and in `roles:`, or leave the embedded one as it is
   (`benchloom model pull`).
3. `benchloom doctor` says what is missing, `benchloom plan` what a run would ask and cost,
   `benchloom run --limit 3` tries it on a few items, and `benchloom run` runs it.
"""


def init_command(folder: Path) -> int:
    """Carry out `benchloom init`; returns the exit code."""
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(folder, "is not empty", hint="name a new folder")
    make_project(folder)
    print(f"made {folder}; now: cd {folder} && make setup, then fill in params.yaml", file=sys.stderr)
    return 0


def make_project(folder: Path) -> None:
    """Make a project with the code and parameters of this one, and a graph that is empty without databases.

    The code is copied, since stages depend on it: an edit makes stale what it shapes.
    """
    missing = [name for name in (*FOLDERS, "dvc.yaml", "params.yaml") if not (ROOT / name).exists()]
    if missing:
        raise BadInput(ROOT, f"has no {missing[0]} to copy", hint="call `benchloom init` from a checkout")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / LABELS).mkdir(parents=True)
    shutil.copy(ROOT / LABELS / "README.md", folder / LABELS)
    for name in FILES:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
    write_yaml(folder / "dvc.yaml", drop_sample_stages(load_yaml(ROOT / "dvc.yaml")))
    write_yaml(folder / "params.yaml", empty_databases(load_yaml(ROOT / "params.yaml")))
    (folder / "README.md").write_text(README.format(name=folder.resolve().name), encoding="utf-8")
    start_repositories(folder)


def drop_sample_stages(graph: Any) -> Any:
    """Take the stages that make the sample's databases out of a graph."""
    for name in [name for name in graph["stages"] if name.startswith(f"{SAMPLE}-")]:
        del graph["stages"][name]
    return graph


def empty_databases(params: Any) -> Any:
    """Take the sample out of the parameters, and say what an entry looks like."""
    params.pop(SAMPLE, None)
    params["databases"] = {}
    # What else names the sample: its companies, assessments, corpus, and the nights that ask them.
    params["companies"], params["closed"], params["assessments"] = {}, {}, {}
    params["grammar"]["profiles"]["entities"] = {}
    params["nightly"]["assessments"] = []
    params.yaml_set_comment_before_after_key("databases", before=FILL_IN)
    return params


def start_repositories(folder: Path) -> None:
    """Put a project under Git and DVC."""
    for command in (["git", "init", "-q"], [sys.executable, "-m", "dvc", "init", "-q"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
        if done.returncode:
            raise BenchloomError(f"{folder}: `{' '.join(command[-3:])}` failed: {done.stderr.strip()}")


def load_yaml(path: Path) -> Any:
    """Read a YAML file with its comments."""
    from ruamel.yaml import YAML

    reader = YAML()
    reader.preserve_quotes = True
    return reader.load(path.read_text(encoding="utf-8"))


def write_yaml(path: Path, data: Mapping[str, Any]) -> None:
    """Write a YAML file with its comments."""
    from ruamel.yaml import YAML

    editor = YAML()
    editor.width = 120
    with write_beside(path) as draft:
        editor.dump(data, draft)
