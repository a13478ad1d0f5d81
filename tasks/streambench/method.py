"""The base class of methods: a plug-in is one class that answers each step and learns from the feedback.

A method is a subclass with a `name`, in the file of that name in tasks/streambench/methods/, or an entry
point of the group `benchloom.methods`. A minimal method:

    class Plain(StreamMethod):
        name = "plain"

        async def step(self, seen, talk):
            return await talk.answer(seen.agents[0])
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
    """The data of a step that a method sees, which exclude the gold answer and the item's published key."""

    position: int
    """The step number t, starting at 1."""
    item: str
    text: str
    memory_key: str
    vector: Vector
    """The embedded `memory_key`; its width is 0 for a method with `searches = False`."""
    agents: tuple[str, ...]


@dataclass(frozen=True)
class ShownExample:
    """A past step or a few-shot example for a prompt. words: the feedback; None for a right answer."""

    source: RetrievedEntry
    key: str
    answer: str
    words: str | None = None


@dataclass(frozen=True)
class StepReply:
    """The result of a call. answer: the post-processed answer; if None, `problem` has the reason."""

    agent: str
    text: str
    answer: str | None
    problem: str = ""
    shown: tuple[RetrievedEntry, ...] = ()
    """The memory entries that the prompt contained."""
    stop: bool = False
    """For a critique: whether it contains the marker that the answer needs no refinement."""
    style: Style = "direct"
    """The style in which the prompt asked for the answer."""


class StepCaller(Protocol):
    """Makes a method's calls within a step; the ledger records them under the step's id.

    A model's failure does not raise an error: the reply has no answer, and the step is wrong. BudgetSpent and
    CallMissing are raised, and a method must not catch them.
    """

    async def answer(
        self, agent: str, *, style: Style = "direct", examples: Sequence[ShownExample] = ()
    ) -> StepReply:
        """Ask for an answer with the shipped prompts: zero-shot without examples, otherwise with examples.

        examples: in the order of the prompt, the most useful last. If the context window is too small, the
        first examples are left out and listed. If the item alone does not fit, no call is made, and `problem`
        reports this.
        """
        ...

    async def critique(self, agent: str, answer: str) -> StepReply:
        """Send Self-Refine's feedback prompt; `stop` is set if the critique has the marker."""
        ...

    async def refine(self, agent: str, history: Sequence[tuple[str, str]]) -> StepReply:
        """Send Self-Refine's refinement prompt with the numbered history of (answer, critique) pairs."""
        ...

    async def ask(self, agent: str, prompt: Path, fields: Mapping[str, object]) -> StepReply:
        """Ask with your own prompt file, which may use the fields of PromptParts and `fields`."""
        ...

    async def shadow(
        self, agent: str, *, examples: Sequence[ShownExample] = ()
    ) -> tuple[StepReply, Feedback]:
        """Have another agent answer, and score it without counting it (Table 7, `shadow`; `shadow_calls`)."""
        ...


@dataclass(frozen=True)
class MethodSetup:
    """The arguments that a method is created with, once per run."""

    choice: MethodChoice
    agents: tuple[str, ...]
    """The roles of the run; exactly one role, unless the method has `shares_memory`."""
    k: int
    shots: tuple[StreamShot, ...]
    make_memory: Callable[[], StreamMemory]
    say: Callable[[bool], str]
    """Function that returns the environment's text for a bit."""
    refinements: int = 4
    """Maximum number of refinements of Self-Refine."""


class StreamMethod(ABC):
    """A run of a method over a sequence: `step`, then `learn`, for t = 1, 2, ..., T.

    All state is in memory and depends only on the arguments of the steps (no clock, no files, only seeded
    random numbers). After a crash, the run restarts at t = 1, and the ledger returns the recorded replies.
    """

    name: ClassVar[str]
    sequential: ClassVar[bool] = True
    """Whether step t depends on step t - 1. If False, `step` is called concurrently, and `learn` never."""
    shares_memory: ClassVar[bool] = False
    """Whether one run uses all models of the evaluation, instead of one run per model."""
    searches: ClassVar[bool] = True
    """Whether the method needs embedded keys."""

    def __init__(self, setup: MethodSetup) -> None:
        self.setup = setup

    @abstractmethod
    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Answer one item. The reply is scored, and its `agent` is recorded as the agent that answered."""

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, caller: StepCaller
    ) -> MemoryEntry | None:
        """Learn from the feedback, even on a failed step; return the stored entry, for the record."""
        return None

    def measure_memory(self) -> int:
        """Return the number of stored entries, for the record."""
        return 0
