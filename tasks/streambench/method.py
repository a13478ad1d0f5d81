"""The interface of methods, the plug of your own: one class, what it sees at a step, what it is told after.

A method is a subclass with a `name`, in the file of that name in tasks/streambench/methods/, or an entry
point of the group `benchloom.methods`. The least one:

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
    """The part of a step that a method sees: never the gold answer, nor the item's id in its dataset."""

    position: int
    """t, from 1."""
    item: str
    text: str
    memory_key: str
    vector: Vector
    """The embedded `memory_key`; of width 0 for a method with `searches = False`."""
    agents: tuple[str, ...]


@dataclass(frozen=True)
class ShownExample:
    """A past step, or a shot, as a prompt is to show it. words: the feedback, None for a right answer."""

    source: RetrievedEntry
    key: str
    answer: str
    words: str | None = None


@dataclass(frozen=True)
class StepReply:
    """The result of a call. answer: post-processed, None if there is none; then `problem` says why."""

    agent: str
    text: str
    answer: str | None
    problem: str = ""
    shown: tuple[RetrievedEntry, ...] = ()
    """What the prompt really showed."""
    stop: bool = False
    """Of a feedback prompt: whether the agreed marker stood in it."""
    style: Style = "direct"
    """How the answer was asked for."""


class StepTalk(Protocol):
    """Makes the calls of a method within a step, through the ledger and under the step's id.

    Nothing here raises for a model's failure: it is a reply without answer, and the step is wrong.
    BudgetSpent and CallMissing pass through, and a method must not catch them.
    """

    async def answer(
        self, agent: str, *, style: Style = "direct", examples: Sequence[ShownExample] = ()
    ) -> StepReply:
        """Ask for an answer by the shipped prompts: zero-shot without examples, else with them.

        examples: in the order of the prompt, the most useful last. Where the window is too small the first
        are left out and listed; where the item alone does not fit, nothing is asked (`problem`).
        """
        ...

    async def critique(self, agent: str, answer: str) -> StepReply:
        """Self-Refine's feedback prompt on the current answer; `text` is the critique, `stop` the marker."""
        ...

    async def refine(self, agent: str, history: Sequence[tuple[str, str]]) -> StepReply:
        """Self-Refine's refinement prompt over the whole numbered history of (answer, critique)."""
        ...

    async def ask(self, agent: str, prompt: Path, fields: Mapping[str, object]) -> StepReply:
        """Ask by a prompt file of your own; its fields are those of PromptParts and `fields`."""
        ...

    async def shadow(
        self, agent: str, *, examples: Sequence[ShownExample] = ()
    ) -> tuple[StepReply, Feedback]:
        """Have another agent answer unscored, and judge it (Table 7, `shadow`); booked as `shadow_calls`."""
        ...


@dataclass(frozen=True)
class MethodSetup:
    """The arguments with which a method is created for each run."""

    choice: MethodChoice
    agents: tuple[str, ...]
    """Roles; one, unless the method's `shares_memory`."""
    k: int
    shots: tuple[StreamShot, ...]
    make_memory: Callable[[], StreamMemory]
    say: Callable[[bool], str]
    """The environment's words for a bit."""
    refinements: int = 4
    """Maximum number of refinements of Self-Refine."""


class StreamMethod(ABC):
    """A run of a method over a sequence: `step` then `learn`, for t = 1, 2, ..., T.

    All state is in memory and follows from the steps' arguments alone (no clock, file or chance but a seeded
    one): after a kill the run begins at t = 1 again, and the ledger answers what was asked.
    """

    name: ClassVar[str]
    sequential: ClassVar[bool] = True
    """False: step t does not depend on t - 1; the runner calls `step` for all at once and never `learn`."""
    shares_memory: ClassVar[bool] = False
    """True: one run with all models of the evaluation, instead of one for each."""
    searches: ClassVar[bool] = True
    """False: keys are not embedded for it."""

    def __init__(self, setup: MethodSetup) -> None:
        self.setup = setup

    @abstractmethod
    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Answer one item. What is returned is scored, with its `agent` as the one that answered."""

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, talk: StepTalk
    ) -> MemoryEntry | None:
        """Take the feedback; return what entered the memory, for the record. Called for failed steps, too."""
        return None

    def measure_memory(self) -> int:
        """Return the number of entries held, for the record."""
        return 0
