"""The row of a step, written by the stages steps and system_steps."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.scoring.outcome import Outcome
from tasks.streambench.memory import MemoryEntry, RetrievedEntry

READ_AS = "reading."
"""Prefix of a reading's name in `values`: the bit under that reading, if two readings of a reply differ."""


@dataclass(frozen=True)
class StreamStep:
    """Stage steps: step t of one run, with the prompt's examples, the answer and the feedback.

    Failed steps have rows, too.
    """

    id: str
    """`make_id("step", run, position)`"""
    run: str
    """`<method label>|<agents joined by +>|<seed>`; the folder determines stream and evaluation."""
    method: str
    """The label of the method; see `MethodChoice.label`."""
    agents: tuple[str, ...]
    """All roles of the run, in order; exactly one, except for methods with a shared memory."""
    seed: int
    k: int
    position: int
    item: str
    agent: str
    """The role that answered this step."""
    shown: tuple[RetrievedEntry, ...]
    """The entries in the order of the prompt: the most similar last."""
    left_out: tuple[str, ...]
    """Descriptions of what did not fit into the prompt, one line each."""
    reply: str
    """The raw text of the last call; empty if there was no reply."""
    answer: str | None
    """The post-processed answer; None if there is none, and then the step is wrong."""
    bit: bool
    """The feedback: whether the answer is right. False also for a failed step."""
    outcome: Outcome
    """The metric's outcome, or FAILED or UNJUDGED."""
    words: str
    """The feedback in words."""
    values: str
    """JSON object: the metric's figures of this item, as `benchloom score --items` writes them."""
    failed: str
    """Why there is no answer or no verdict; empty if there are both."""
    stored: MemoryEntry | None
    """The entry that was added to the memory at this step."""
    memory_size: int
    """Number of entries in the memory after the step."""
    calls: tuple[str, ...]
    """Ledger keys of the answering calls, in order; `steps.calls.parquet` contains their prompts."""
    judge_calls: tuple[str, ...]
    """Ledger keys of the environment's calls, which do not count as the method's cost."""
    shadow_calls: tuple[str, ...]
    """Ledger keys of unscored answers (the rule `shadow` of Table 7)."""
    origin: tuple[Origin, ...]
