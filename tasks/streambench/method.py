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
    """The part of a step that a method sees, without the gold answer and the item's published key."""

    position: int
    """The step number t, starting at 1."""
    item: str
    text: str
    memory_key: str
    vector: Vector
    """The embedded `memory_key`; it has width 0 for a method with `searches = False`."""
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
    """The result of a call. answer: post-processed; None if there is none, and then `problem` says why."""

    agent: str
    text: str
    answer: str | None
    problem: str = ""
    shown: tuple[RetrievedEntry, ...] = ()
    """The entries that the prompt actually contained."""
    stop: bool = False
    """For a critique: whether it contains the marker that nothing needs to be refined."""
    style: Style = "direct"
    """The style in which the prompt asked for the answer."""


class StepTalk(Protocol):
    """Makes the calls of a method within a step, recorded in the ledger under the step's id.

    A model's failure does not raise an error: the reply has no answer, and the step is wrong. BudgetSpent and
    CallMissing are raised, and a method must not catch them.
    """

    async def answer(
        self, agent: str, *, style: Style = "direct", examples: Sequence[ShownExample] = ()
    ) -> StepReply:
        """Ask for an answer with the shipped prompts: zero-shot without examples, otherwise with examples.

        examples: in the order of the prompt, the most useful last. If the context window is too small, the
        first examples are left out and listed. If even the item does not fit, nothing is sent, and `problem`
        says so.
        """
        ...

    async def critique(self, agent: str, answer: str) -> StepReply:
        """Send Self-Refine's feedback prompt; `stop` is set if the critique has the marker."""
        ...

    async def refine(self, agent: str, history: Sequence[tuple[str, str]]) -> StepReply:
        """Send Self-Refine's refinement prompt with the whole numbered history of (answer, critique)."""
        ...

    async def ask(self, agent: str, prompt: Path, fields: Mapping[str, object]) -> StepReply:
        """Ask with your own prompt file, which may use the fields of PromptParts and `fields`."""
        ...

    async def shadow(
        self, agent: str, *, examples: Sequence[ShownExample] = ()
    ) -> tuple[StepReply, Feedback]:
        """Let another agent answer unscored, and score it (Table 7, `shadow`); recorded as `shadow_calls`."""
        ...


@dataclass(frozen=True)
class MethodSetup:
    """The arguments with which a method is created for each run."""

    choice: MethodChoice
    agents: tuple[str, ...]
    """The roles of the run; exactly one, unless the method has `shares_memory`."""
    k: int
    shots: tuple[StreamShot, ...]
    make_memory: Callable[[], StreamMemory]
    say: Callable[[bool], str]
    """Returns the environment's words for a bit."""
    refinements: int = 4
    """Maximum number of refinements of Self-Refine."""


class StreamMethod(ABC):
    """A run of a method over a sequence: `step`, then `learn`, for t = 1, 2, ..., T.

    All state is in memory and depends only on the arguments of the steps (no clock, no files, only seeded
    random numbers). After a crash, the run starts again at t = 1, and the ledger returns the recorded
    replies.
    """

    name: ClassVar[str]
    sequential: ClassVar[bool] = True
    """False: step t does not depend on t - 1; the runner calls `step` concurrently and never `learn`."""
    shares_memory: ClassVar[bool] = False
    """True: one run with all models of the evaluation, instead of one run per model."""
    searches: ClassVar[bool] = True
    """False: the method needs no embedded keys."""

    def __init__(self, setup: MethodSetup) -> None:
        self.setup = setup

    @abstractmethod
    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Answer one item. The reply is scored, and its `agent` is recorded as the one that answered."""

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, talk: StepTalk
    ) -> MemoryEntry | None:
        """Learn from the feedback, also of failed steps; return the stored entry, for the record."""
        return None

    def measure_memory(self) -> int:
        """Return the number of stored entries, for the record."""
        return 0
