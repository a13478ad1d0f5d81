"""MAM-StreamICL: several models take turns and share one memory of right answers (section 4.1.2)."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.streambench.environment import Feedback
from tasks.streambench.memory import MemoryEntry
from tasks.streambench.method import (
    MethodSetup,
    SeenStep,
    ShownExample,
    StepReply,
    StepTalk,
    StreamMethod,
)
from tasks.streambench.methods.parts import make_entry, refuse_ablations, show_entry


class MamStreamIcl(StreamMethod):
    """Self-StreamICL by turns; the turn moves before it is used, so with [a, b, c] b answers first.

    `memory_of` (Table 7): only that agent's right answers are kept. `store_on_turn`: those of its own turns;
    `shadow`: it answers every step, unscored where it is another's turn.
    """

    name = "mam_stream_icl"
    shares_memory = True

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        refuse_ablations(setup, takes_memory_of=True)
        self._memory = setup.make_memory()
        self._turn = 0

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Have the next agent answer, with what was found in the shared memory."""
        self._turn = (self._turn + 1) % len(seen.agents)
        return await talk.answer(seen.agents[self._turn], examples=self._find_examples(seen))

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, talk: StepTalk
    ) -> MemoryEntry | None:
        """Keep a right answer: of whose turn it was, or of the chosen agent."""
        choice = self.setup.choice
        if choice.memory_of is not None and choice.memory_of != reply.agent:
            if choice.memory_rule == "store_on_turn":
                return None
            reply, feedback = await talk.shadow(choice.memory_of, examples=self._find_examples(seen))
        entry = make_entry(seen, reply, feedback.bit) if feedback.bit else None
        if entry is not None:
            self._memory.add(entry, seen.vector)
        return entry

    def measure_memory(self) -> int:
        """Return the number of right answers kept."""
        return len(self._memory)

    def _find_examples(self, seen: SeenStep) -> Sequence[ShownExample]:
        found = self._memory.nearest(seen.vector, self.setup.k)
        return [show_entry(one, judged=False) for one in reversed(found)]
