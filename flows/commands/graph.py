"""`benchloom graph`: write dvc.yaml from the flows' declarations, or say what it lacks."""

from __future__ import annotations

import sys

from flows.graph_file import DVC_YAML, compare_graph, describe_difference
from flows.settings import find_project, load_params
from tasks.files import write_text


def graph_command(*, check: bool) -> int:
    """Carry out `benchloom graph`; returns the exit code: 1 where `check` finds dvc.yaml out of date."""
    root = find_project()
    before, after = compare_graph(root, load_params(root))
    if before == after:
        print(f"{DVC_YAML} is what the flows declare", file=sys.stderr)
        return 0
    if check:
        sys.stdout.write(describe_difference(before, after))
        print(f"{DVC_YAML} is not what the flows declare; `benchloom graph` writes it", file=sys.stderr)
        return 1
    write_text(root / DVC_YAML, after)
    print(f"{DVC_YAML} is written", file=sys.stderr)
    return 0
