"""The row of a step, which the stages steps and system_steps write."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.scoring.outcome import Outcome
from tasks.streambench.memory import MemoryEntry, RetrievedEntry

READ_AS = "reading."
"""Before a reading's name in `values`: the bit under it, of a reply that the two readings read otherwise."""


@dataclass(frozen=True)
class StreamStep:
    """Stage steps: step t of one run: what was asked, answered and fed back. One row for each, failed too."""

    id: str
    """`make_id("step", run, position)`"""
    run: str
    """`<method label>|<agents joined by +>|<seed>`; stream and evaluation are the folder's."""
    method: str
    """The label of its MethodChoice."""
    agents: tuple[str, ...]
    """All roles of the run, in order; one except for methods that share a memory."""
    seed: int
    k: int
    position: int
    item: str
    agent: str
    """The role that answered this step."""
    shown: tuple[RetrievedEntry, ...]
    """In the order of the prompt: the most similar last."""
    left_out: tuple[str, ...]
    """What the prompt had no room for, a line each."""
    reply: str
    """The raw text of the last call; empty where nothing came."""
    answer: str | None
    """Post-processed; None where there is none, which is a wrong step."""
    bit: bool
    """The feedback: whether the answer is right. False also for a failed step."""
    outcome: Outcome
    """The metric's, or FAILED, UNJUDGED."""
    words: str
    """The feedback in words."""
    values: str
    """JSON object: the metric's own figures of this item, as `benchloom score --items` writes them."""
    failed: str
    """Why there is no answer or no verdict; empty where there are both."""
    stored: MemoryEntry | None
    """What entered the memory at this step."""
    memory_size: int
    """Entries in the memory after the step."""
    calls: tuple[str, ...]
    """Ledger keys of the answering calls, in order: the prompt of each is in `steps.calls.parquet`."""
    judge_calls: tuple[str, ...]
    """Ledger keys of the environment's calls: no cost of the method's."""
    shadow_calls: tuple[str, ...]
    """Ledger keys of unscored answers (the rule `shadow` of Table 7)."""
    origin: tuple[Origin, ...]
