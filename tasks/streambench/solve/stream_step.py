"""Define the row type of the stages `steps` and `system_steps`."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.scoring.outcome import Outcome
from tasks.streambench.memory import MemoryEntry, RetrievedEntry

READ_AS = "reading."
"""Prefix of the keys in `values` that hold the feedback bit under each parsing rule.

The bits are recorded only if the two rules parse different answers from the reply.
"""


@dataclass(frozen=True)
class StreamStep:
    """Row of the stage `steps`: step t of a run, with the prompt's examples, the answer and the feedback.

    Failed steps also have rows.
    """

    id: str
    """The row's id: `make_id("step", run, position)`."""
    run: str
    """The run's name: `<method label>|<agents joined by +>|<seed>`.

    The folder identifies the stream and the evaluation.
    """
    method: str
    """The label of the method; see `MethodChoice.label`."""
    agents: tuple[str, ...]
    """All roles of the run, in order; exactly one role unless the method has a shared memory."""
    seed: int
    k: int
    position: int
    item: str
    agent: str
    """The role that answered this step."""
    shown: tuple[RetrievedEntry, ...]
    """The memory entries or few-shot examples in the prompt, in prompt order."""
    left_out: tuple[str, ...]
    """One line for each text that did not fit into the prompt."""
    reply: str
    """The raw text of the last call; empty if there was no reply."""
    answer: str | None
    """The post-processed answer; None if the step failed and therefore counts as wrong."""
    bit: bool
    """The feedback: whether the answer is correct; False for a failed step."""
    outcome: Outcome
    """The metric's outcome, or FAILED or UNJUDGED."""
    words: str
    """The feedback as text."""
    values: str
    """JSON object with the values of `benchloom score --items`, `prompt.<name>` and `reading.<rule>`."""
    failed: str
    """Why the answer or the verdict is missing; empty if both exist."""
    stored: MemoryEntry | None
    """The entry that this step added to the memory, or None."""
    memory_size: int
    """Number of entries in the memory after the step."""
    calls: tuple[str, ...]
    """Ledger keys of the answering calls, in order; `steps.calls.parquet` contains their prompts."""
    judge_calls: tuple[str, ...]
    """Ledger keys of the environment's calls, which are not part of the method's cost."""
    shadow_calls: tuple[str, ...]
    """Ledger keys of the calls for answers that do not count (rule `shadow` in StreamBench, Table 7)."""
    origin: tuple[Origin, ...]
