"""Stage: compute the score and the cost of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.errors import StageFailed
from tasks.models.calls import Call
from tasks.scoring.outcome import Outcome
from tasks.streambench.solve.stream_step import StreamStep


@dataclass(frozen=True)
class StepScore:
    """Row of the stage `scores`: a step's score and cost. The row has the same id as the step."""

    id: str
    run: str
    method: str
    agents: tuple[str, ...]
    seed: int
    position: int
    item: str
    agent: str
    score: float
    """The primary metric (StreamBench, section 3.2), 0 or 1."""
    tokens_in: int
    """Input tokens of answering calls (`calls`) only. A call shared by two steps counts for both steps."""
    tokens_out: int
    estimated: bool
    """Whether any token count is an estimate rather than the provider's count."""
    memory_size: int
    failed: bool
    origin: tuple[Origin, ...]


def scores(steps: list[StreamStep], steps_calls: list[Call]) -> Drafts[StepScore]:
    """Return the score and token counts of each step. Raises StageFailed if a call is missing."""
    calls = {call.id: call for call in steps_calls}
    return Drafts([score_step(step, calls) for step in sorted(steps, key=lambda row: row.id)])


def score_step(step: StreamStep, calls: Mapping[str, Call]) -> StepScore:
    """Return a step's score (its feedback bit) and its cost (the tokens of its answering calls).

    calls: ledger key -> call. Raises StageFailed if one of the step's calls is missing.
    """
    missing = [key for key in step.calls if key not in calls]
    if missing:
        raise StageFailed(
            f"streambench.scores: step {step.id} names the call {missing[0]}, which is not in "
            "steps.calls.parquet; run streambench.steps again"
        )
    own = [calls[key] for key in step.calls]
    return StepScore(
        id=step.id,
        run=step.run,
        method=step.method,
        agents=step.agents,
        seed=step.seed,
        position=step.position,
        item=step.item,
        agent=step.agent,
        score=float(step.bit),
        tokens_in=sum(call.prompt_tokens for call in own),
        tokens_out=sum(call.completion_tokens for call in own),
        estimated=any(call.estimated for call in own),
        memory_size=step.memory_size,
        failed=step.outcome == Outcome.FAILED,
        origin=(Origin("row", f"steps#{step.id}"), *(Origin("call", key) for key in step.calls)),
    )
