"""What the shipped methods share: which ablations they take, and entries as a prompt shows them."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.errors import BadInput
from tasks.streambench.entries import Use
from tasks.streambench.memory import FoundEntry, MemoryEntry, RetrievedEntry
from tasks.streambench.method import MethodSetup, SeenStep, ShownExample, StepReply


def refuse_ablations(setup: MethodSetup, *, takes_use: bool = False, takes_memory_of: bool = False) -> None:
    """Raise BadInput for an ablation that a method does not have."""
    choice = setup.choice
    where = f"streambench: method {choice.method}"
    if choice.use != "all" and not takes_use:
        raise BadInput(where, "does not take `use`", hint="grow_prompt and mem_prompt do")
    if choice.memory_of is None:
        if choice.memory_rule != "store_on_turn":
            raise BadInput(where, "names a memory_rule, and no memory_of that it is for")
    elif not takes_memory_of:
        raise BadInput(where, "does not take `memory_of`", hint="mam_stream_icl does")
    elif choice.memory_of not in setup.agents:
        raise BadInput(where, f"memory_of: {choice.memory_of} is none of {', '.join(setup.agents)}")


def filter_entries(found: Sequence[FoundEntry], use: Use) -> list[FoundEntry]:
    """Keep what an ablation shows of entries that were selected (section 5.1.1)."""
    return [one for one in found if use == "all" or one.entry.bit == (use == "correct")]


def show_entry(found: FoundEntry, *, judged: bool) -> ShownExample:
    """Show a past step. judged: with the feedback in words, else as an example of a right answer."""
    entry = found.entry
    source = RetrievedEntry(entry.item, entry.position, found.distance)
    return ShownExample(source, entry.key, entry.answer, entry.words if judged else None)


def make_entry(seen: SeenStep, reply: StepReply, bit: bool, words: str = "") -> MemoryEntry | None:
    """Make what a memory holds of a step; None where there was no answer."""
    if reply.answer is None:
        return None
    return MemoryEntry(seen.item, seen.position, reply.agent, seen.memory_key, reply.answer, bit, words)
