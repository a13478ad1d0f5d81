"""Define base classes for the shipped methods, and functions that prepare memory entries for prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tasks.errors import BadInput
from tasks.streambench.entries import Use
from tasks.streambench.environment import Feedback
from tasks.streambench.memory import FoundEntry, MemoryEntry, RetrievedEntry
from tasks.streambench.method import MethodSetup, SeenStep, ShownExample, StepCaller, StepReply, StreamMethod


class PaperMethod(StreamMethod):
    """A method of the StreamBench paper. Raises BadInput for an ablation that the method does not support."""

    takes_use: ClassVar[bool] = False
    takes_memory_of: ClassVar[bool] = False

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        choice = setup.choice
        where = f"streambench: method {choice.method}"
        if choice.use != "all" and not self.takes_use:
            raise BadInput(where, "does not support `use`", hint="grow_prompt and mem_prompt do")
        if choice.memory_of is None:
            if choice.memory_rule != "store_on_turn":
                raise BadInput(where, "has a memory_rule but no memory_of")
        elif not self.takes_memory_of:
            raise BadInput(where, "does not support `memory_of`", hint="mam_stream_icl does")
        elif choice.memory_of not in setup.agents:
            raise BadInput(where, f"memory_of: {choice.memory_of} is not one of {', '.join(setup.agents)}")


class MemoryMethod(PaperMethod):
    """A method of the StreamBench paper with a memory, which stores every step by default."""

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        self._memory = setup.make_memory()

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, caller: StepCaller
    ) -> MemoryEntry | None:
        """Store the step, whether correct or wrong, unless it has no answer."""
        return self.keep(seen, reply, feedback.bit, feedback.words)

    def keep(self, seen: SeenStep, reply: StepReply, bit: bool, words: str = "") -> MemoryEntry | None:
        """Add a step to the memory, and return the entry; None if the step has no answer."""
        if reply.answer is None:
            return None
        entry = MemoryEntry(seen.item, seen.position, reply.agent, seen.memory_key, reply.answer, bit, words)
        self._memory.add(entry, seen.vector)
        return entry

    def measure_memory(self) -> int:
        """Return the number of stored steps."""
        return len(self._memory)


def filter_entries(found: Sequence[FoundEntry], use: Use) -> list[FoundEntry]:
    """Return the entries that `use` selects: all, correct or wrong entries (StreamBench, section 5.1.1)."""
    return [entry for entry in found if use == "all" or entry.entry.bit == (use == "correct")]


def show_entry(found: FoundEntry, *, judged: bool) -> ShownExample:
    """Return a past step for a prompt.

    judged: True adds the feedback; False shows the step as a correct example.
    """
    entry = found.entry
    source = RetrievedEntry(entry.item, entry.position, found.distance)
    return ShownExample(source, entry.key, entry.answer, entry.words if judged else None)
