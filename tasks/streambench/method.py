"""Define the base class of methods, which answer each step of a stream and learn from the feedback.

A new method is one subclass with a `name`, in tasks/streambench/methods/<name>.py, or an entry point in the
group `benchloom.methods`. A minimal method:

    class Plain(StreamMethod):
        name = "plain"

        async def step(self, seen, caller):
            return await caller.answer(seen.agents[0])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import MethodChoice
from tasks.streambench.environment import Feedback, Style
from tasks.streambench.memory import MemoryEntry, RetrievedEntry, StreamMemory, Vector


@dataclass(frozen=True)
class SeenStep:
    """The step data that a method can read, without the gold answer or the item's published key."""

    position: int
    """The step number t, starting at 1."""
    item: str
    text: str
    memory_key: str
    vector: Vector
    """The embedding of `memory_key`; its width is 0 for a method with `searches = False`."""
    agents: tuple[str, ...]


@dataclass(frozen=True)
class ShownExample:
    """A past step or a few-shot example for a prompt. words: the feedback; None for a correct answer."""

    source: RetrievedEntry
    key: str
    answer: str
    words: str | None = None


@dataclass(frozen=True)
class StepReply:
    """The result of a model call. answer: the post-processed answer; if None, `problem` has the reason."""

    agent: str
    text: str
    answer: str | None
    problem: str = ""
    shown: tuple[RetrievedEntry, ...] = ()
    """The memory entries or few-shot examples in the prompt."""
    stop: bool = False
    """Whether a critique contains the stop marker, which means that no refinement is needed."""
    style: Style = "direct"
    """The prompt's style."""


class StepCaller(Protocol):
    """Makes a method's model calls within a step; the ledger records the calls under the step's id.

    A model's failure raises no error: the reply has no answer, and the step is wrong. BudgetSpent and
    CallMissing are raised; methods must not catch these errors.
    """

    async def answer(
        self, agent: str, *, style: Style = "direct", examples: Sequence[ShownExample] = ()
    ) -> StepReply:
        """Ask for an answer with the shipped prompts: zero-shot, or with examples if given.

        examples: in the order of the prompt, the most useful last. If the context window is too small, the
        first examples are omitted and listed in the step's `left_out`. If the item alone does not fit, no
        call is made, and `problem` has the reason.
        """
        ...

    async def critique(self, agent: str, answer: str) -> StepReply:
        """Ask for a critique with Self-Refine's prompt; `stop` is True if the critique has the marker."""
        ...

    async def refine(self, agent: str, history: Sequence[tuple[str, str]]) -> StepReply:
        """Send Self-Refine's refinement prompt with the numbered history of (answer, critique) pairs."""
        ...

    async def ask(self, agent: str, prompt: Path, fields: Mapping[str, object]) -> StepReply:
        """Ask with a custom prompt file, which may use PromptParts' text fields and the given `fields`."""
        ...

    async def shadow(
        self, agent: str, *, examples: Sequence[ShownExample] = ()
    ) -> tuple[StepReply, Feedback]:
        """Return another agent's answer to the item, with feedback; the step's result does not change.

        The agent's calls are recorded in `shadow_calls`; see the rule `shadow` in StreamBench, Table 7.
        """
        ...


@dataclass(frozen=True)
class MethodSetup:
    """The arguments for creating a method; one instance is created per run."""

    choice: MethodChoice
    agents: tuple[str, ...]
    """The roles of the run; exactly one role, unless the method has `shares_memory`."""
    k: int
    shots: tuple[StreamShot, ...]
    make_memory: Callable[[], StreamMemory]
    say: Callable[[bool], str]
    """Returns the environment's text for a feedback bit."""
    refinements: int = 4
    """Maximum number of refinements in Self-Refine."""


class StreamMethod(ABC):
    """A method in one run, which calls `step`, then `learn`, for t = 1, 2, ..., T.

    All state is in memory and depends only on the arguments of the steps (no clock, no files, only seeded
    random numbers). After a crash, the run restarts at t = 1, and the ledger returns the recorded replies.
    """

    name: ClassVar[str]
    sequential: ClassVar[bool] = True
    """Whether step t depends on step t - 1. If False, `step` runs concurrently, and `learn` is not called."""
    shares_memory: ClassVar[bool] = False
    """Whether one run uses all models of the evaluation, instead of one run per model."""
    searches: ClassVar[bool] = True
    """Whether the method needs embedded keys."""

    def __init__(self, setup: MethodSetup) -> None:
        self.setup = setup

    @abstractmethod
    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Answer one item. The reply is scored, and its `agent` is recorded."""

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, caller: StepCaller
    ) -> MemoryEntry | None:
        """Update the method's state with the feedback; also called after a failed step.

        Returns the stored entry, which the stage records; None if no entry was stored.
        """
        return None

    def measure_memory(self) -> int:
        """Return the number of stored entries, which the step's row records."""
        return 0
