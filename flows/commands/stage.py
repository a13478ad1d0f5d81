"""Implement `benchloom stage`, the command with which dvc.yaml runs a stage."""

from __future__ import annotations

import os
from difflib import get_close_matches

from flows.commands.cli_recorder import open_recorder
from flows.commands.run import make_run
from flows.run.binding import Places, bind
from flows.run.lost_rows import require_rows
from flows.run.record.recorder import Recorder
from flows.run.runner import require_same_params
from flows.settings import find_project, load_params
from tasks.errors import BadInput
from tasks.lines import say_line


def _name_near(stage: str, key: str, recorder: Recorder) -> str:
    """Return a hint: the keys of a stage, or stages with similar names if the stage is unknown."""
    nodes = recorder.nodes.values()
    named = sorted(node.key for node in nodes if node.stage == stage)
    if named:
        return f"its entries: {', '.join(named)}"
    near = get_close_matches(stage, sorted({node.stage for node in nodes}), cutoff=0.5)
    return f"similar names: {', '.join(near) or 'none'}"


def stage_command(stage: str, key: str, *, replay: bool) -> int:
    """Run `benchloom stage`; return the exit code."""
    root = find_project()
    os.chdir(root)
    recorder = open_recorder(root)
    node = next((node for node in recorder.nodes.values() if (node.stage, node.key) == (stage, key)), None)
    if node is None:
        raise BadInput(
            f"{stage} {key}".strip(), "is not a stage in dvc.yaml", hint=_name_near(stage, key, recorder)
        )
    params = load_params(root)
    run = make_run(root, recorder, params, replay=replay)

    # DVC hashes the inputs itself after the stage has ended successfully.
    hashes = recorder.hash_inputs(node.name)
    require_same_params(root, params, node)
    bound = bind(node, params, Places(root, root), run.make_noted_ask)
    for out in node.outs:
        (root / out).parent.mkdir(parents=True, exist_ok=True)
    try:
        work = bound.call(run.run_coroutine)
        require_rows(recorder.nodes, node, work, root)
        recorder.require_unchanged(node.name, hashes)
        if bound.ask is not None:
            bound.ask.finish()
    finally:
        if run.session is not None:
            run.session.close()
    say_line(f"{node.name}: {work.rows_out if work.rows_out is not None else 'done'}")
    return 0
