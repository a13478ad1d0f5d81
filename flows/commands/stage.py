"""`benchloom stage`: what dvc.yaml calls."""

from __future__ import annotations

import os

from flows.commands.cli_recorder import open_recorder
from flows.commands.run import make_run
from flows.run.binding import Places, bind
from flows.run.lost_rows import require_rows
from flows.run.runner import require_same_params
from flows.settings import find_project, load_params
from tasks.errors import BadInput
from tasks.lines import say_line


def stage_command(stage: str, key: str, *, replay: bool) -> int:
    """Carry out `benchloom stage`; returns the exit code."""
    root = find_project()
    os.chdir(root)
    recorder = open_recorder(root)
    node = next((node for node in recorder.nodes.values() if (node.stage, node.key) == (stage, key)), None)
    if node is None:
        known = sorted(f"{node.stage} {node.key}".strip() for node in recorder.nodes.values())
        raise BadInput(f"{stage} {key}".strip(), "is no stage of dvc.yaml", hint="; ".join(known))
    params = load_params(root)
    run = make_run(root, recorder, params, replay=replay)

    # DVC hashes what the stage stands on once this has ended well.
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
