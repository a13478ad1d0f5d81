"""What a run paid for model calls, and what the artifacts that it leaves stand on cost in all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.models.sending.budget import NOTHING, Amount

if TYPE_CHECKING:
    from flows.run.runner import Run
    from flows.run.session import Session

COLUMNS = ["id", "model", "prompt_tokens", "completion_tokens"]
DONE = frozenset({"ran", "restored", "fresh"})


def describe_bill(run: Run) -> str:
    """Write the bill as one line; nothing where no stage of the run asked."""
    if run.session is None:
        return ""
    budget = run.session.dispatcher.budget
    parts = [f"paid by this run {describe_amount(budget.spent)}"]
    if budget.possibly_paid.tokens:
        parts.append(f"of it {describe_amount(budget.possibly_paid)} possibly, for replies that were lost")
    if artifacts := find_calls(run):
        total = sum((price_calls(path, run.session) for path in artifacts), NOTHING)
        stages = "1 stage" if len(artifacts) == 1 else f"{len(artifacts)} stages"
        parts.append(f"the artifacts of {stages} stand on calls of {describe_amount(total)} in all")
    return f"model calls: {'; '.join(parts)}"


def find_calls(run: Run) -> list[Path]:
    """List the calls artifacts of the stages that are up to date now."""
    done = [name for name, outcome in run.outcomes.items() if outcome.state in DONE]
    outs = [run.root / out for name in sorted(done) for out in run.recorder.nodes[name].outs]
    return [path for path in outs if path.name.endswith(".calls.parquet") and path.is_file()]


def price_calls(path: Path, session: Session) -> Amount:
    """Price the calls of an artifact: at list price, and those known to have come by batch at its share."""
    import pyarrow.parquet as pq

    dispatcher, total = session.dispatcher, NOTHING
    for batch in pq.ParquetFile(path).iter_batches(columns=COLUMNS):
        for call in batch.to_pylist():
            counts = call["model"], call["prompt_tokens"], call["completion_tokens"]
            cost = dispatcher.budget.price(*counts)
            if cost.usd and (entry := dispatcher.find_recorded(call["id"])) is not None and entry.batch:
                cost = dispatcher.budget.price(*counts, batch=True)
            total += cost
    return total


def describe_amount(amount: Amount) -> str:
    """Write tokens and dollars for people."""
    return f"{amount.tokens:,} tokens (${amount.usd:.4f})"
