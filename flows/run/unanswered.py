"""Report the calls without an answer in a run's artifacts; the rows of these calls failed."""

from __future__ import annotations

from flows.run.progress import tell_first
from flows.run.runner import Run

CALLS = ".calls.parquet"


def tell_unanswered(run: Run) -> bool:
    """Print the calls without an answer in this run's artifacts; return whether there are any."""
    told = False
    for name, outcome in sorted(run.outcomes.items()):
        # Skip fresh stages: their calls were reported when they ran, and skipping them avoids the import of
        # pyarrow.
        rows = list_unanswered(run, name) if outcome.state in ("ran", "restored") else []
        if rows:
            told = True
            again = f"`dvc repro --force --single-item {name}` repeats them"
            counted = "1 call has" if len(rows) == 1 else f"{len(rows)} calls have"
            tell_first(f"{name}: ", [f"{counted} no answer ({again})", *rows])
    return told


def list_unanswered(run: Run, name: str) -> list[str]:
    """List the rows of a stage whose calls have no answer, with the reasons."""
    paths = [run.root / out for out in run.recorder.nodes[name].outs if out.endswith(CALLS)]
    found: list[str] = []
    for path in filter(lambda path: path.is_file(), paths):
        import pyarrow.parquet as pq

        from tasks.models.recording.entries import UNANSWERED

        chosen = [("finish_reason", "=", UNANSWERED)]
        table = pq.read_table(path, columns=["row", "text"], filters=chosen)
        found += [f"row {call['row']}: {call['text']}" for call in table.to_pylist()]
    return found
