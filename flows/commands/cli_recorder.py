"""Open a project's graph for a command."""

from __future__ import annotations

from pathlib import Path

from flows.run.record.recorder import Recorder
from flows.settings import load_params
from tasks.errors import BadInput


def open_recorder(root: Path) -> Recorder:
    """Open a project's graph.

    Raises BadInput if the graph is invalid; the message names the invalid parameter if possible. DVC only
    reports that dvc.yaml and params.yaml disagree; our own check names the key and its line.
    """
    try:
        return Recorder(root)
    except BadInput:
        from flows.graph import DeclaredGraph, is_declaring

        if is_declaring(root):
            from flows.sections import check_params, find_sections

            check_params(load_params(root), find_sections(DeclaredGraph(root)))
        raise
