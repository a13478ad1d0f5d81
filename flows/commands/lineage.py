"""`benchloom lineage`: from an artifact, or one of its rows, back to the sources."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tasks.artifacts.graph import FileFact, Graph, StageFact
from tasks.errors import BadInput

LOCK = "dvc.lock"


def lineage(target: str, row: str | None = None, as_json: bool = False, root: Path | None = None) -> str:
    """Tell where an artifact, or one of its rows, comes from.

    target: an artifact's path in the project; root: the project, the current folder by default.
    Raises BadInput where the target or the row is unknown, saying what there is.
    """
    # pyarrow is imported with these; a command line that is asked for --help does without.
    from tasks.artifacts.lineage import Lineage, trace_file
    from tasks.artifacts.trees import render_json, render_text

    root = (root or Path.cwd()).resolve()
    graph = read_graph(root)
    path = _place(target, root)
    if row is None:
        fact = graph.find_file(path)
        if fact is None:
            raise BadInput(target, f"is not in {LOCK}", hint=_name_outs(graph, path))
        node = trace_file(fact, graph)
    else:
        if not (root / path).is_file() or not path.endswith(".parquet"):
            raise BadInput(target, "is no artifact whose rows can be named", hint=_name_outs(graph, path))
        place = root / path
        node = Lineage(place.parent, graph, root).trace(place.name.removesuffix(".parquet"), row)
    return render_json(node, graph) if as_json else render_text(node, graph)


def read_graph(root: Path) -> Graph:
    """Read what `dvc.lock` records, and the commit of the working tree where there is one.

    Raises BadInput where there is no `dvc.lock`, or it cannot be read.
    """
    path = root / LOCK
    try:
        recorded: dict[str, Any] = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
        stages = tuple(_read_stage(name, each) for name, each in (recorded or {}).get("stages", {}).items())
    except FileNotFoundError as error:
        raise BadInput(LOCK, "is not here: nothing has run", hint="benchloom run") from error
    except (yaml.YAMLError, AttributeError, TypeError, KeyError) as error:
        raise BadInput(
            LOCK, f"cannot be read: {str(error).splitlines()[0]}", hint="git checkout dvc.lock"
        ) from error
    commit = _ask_git(root, "rev-parse", "HEAD")
    dirty = bool(_ask_git(root, "status", "--porcelain", "--untracked-files=no")) if commit else False
    return Graph(stages, commit, dirty)


def _read_stage(name: str, record: dict[str, Any]) -> StageFact:
    params = {
        key: value for group in record.get("params", {}).values() for key, value in (group or {}).items()
    }
    return StageFact(
        name,
        str(record.get("cmd", "")),
        tuple(_read_file(each) for each in record.get("deps", ())),
        tuple(_read_file(each) for each in record.get("outs", ())),
        params,
    )


def _read_file(record: dict[str, Any]) -> FileFact:
    return FileFact(record["path"], record.get("md5"), record.get("size"))


def _place(target: str, root: Path) -> str:
    # Not resolved: an artifact may be a link into DVC's cache.
    path = Path(target)
    path = path if path.is_absolute() else Path.cwd() / path
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return Path(target).as_posix()


def _name_outs(graph: Graph, path: str) -> str:
    near = [out for out in graph.list_outs() if Path(out).name == Path(path).name] or graph.list_outs()
    return "there is " + (", ".join(near[:6]) + (", ..." if len(near) > 6 else "") if near else "nothing")


def _ask_git(root: Path, *words: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, "-C", str(root), *words], capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    return done.stdout.strip() if done.returncode == 0 else None
