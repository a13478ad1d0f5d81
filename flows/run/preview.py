"""`benchloom run --limit N`: the first N items, written under data/.preview/ and recorded nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from flows.run.binding import Places, bind
from flows.run.lost_rows import require_rows
from flows.run.runner import Run
from tasks.errors import BadInput

FOLDER = "data/.preview"


def run_preview(run: Run, names: Sequence[str], limit: int) -> int:
    """Run stages on their first items; returns the exit code. dvc.lock and artifacts stay untouched.

    A fresh stage is left alone: its artifact is the next one's input, cut to the first N rows.
    """
    places = Places(run.root, run.root / FOLDER, limit)
    done: set[str] = set()
    try:
        for name in names:
            node = run.recorder.nodes[name]
            if not run.recorder.explain(name) and not done.intersection(node.upstream):
                continue
            if not node.stage:
                raise BadInput(name, "is a command of your own", hint="--limit is for our stages")
            work = bind(node, run.params, places, run.make_ask).call(run.run_coroutine)
            require_rows(run.recorder.nodes, node, work, run.root, places.find)
            done.add(name)
            run.say(f"{name}: {work.rows_out if work.rows_out is not None else 'written'} -> {FOLDER}/")
    finally:
        run.finish()
    if not done:
        run.say("nothing is stale, so there is nothing to preview; see `benchloom status`")
    return 0
