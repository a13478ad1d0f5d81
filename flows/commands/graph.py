"""Implement `benchloom graph`: write dvc.yaml, prefect.yaml and params.schema.json, or check them."""

from __future__ import annotations

import sys
from pathlib import Path

from flows.graph_file import DVC_YAML, compare_graph, describe_difference
from flows.prefect_file import PREFECT_YAML, compare_deployments
from flows.schema import compare_schema
from flows.sections import SCHEMA
from flows.settings import find_project, load_params
from tasks.files import write_text


def graph_command(*, check: bool) -> int:
    """Run `benchloom graph`; return the exit code, 1 if `check` finds an outdated file.

    The schema is written last, because it requires an import of the stages' modules. If the import fails, the
    other files are already written.
    """
    root = find_project()
    params = load_params(root)
    stale = bring_up(root, DVC_YAML, compare_graph(root, params), check=check)
    stale |= bring_up(root, PREFECT_YAML, compare_deployments(root, params), check=check)
    stale |= bring_up(root, SCHEMA, compare_schema(root), check=check)
    return int(stale and check)


def bring_up(root: Path, name: str, texts: tuple[str, str], *, check: bool) -> bool:
    """Return whether a file is outdated; rewrite it or, with `check`, only print the difference."""
    before, after = texts
    if before == after:
        print(f"{name} matches the flows' declarations", file=sys.stderr)
    elif check:
        sys.stdout.write(describe_difference(before, after, name))
        print(f"{name} differs from the flows' declarations; `benchloom graph` writes it", file=sys.stderr)
    else:
        write_text(root / name, after)
        print(f"{name} was written", file=sys.stderr)
    return before != after
