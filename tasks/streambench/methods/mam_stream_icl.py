"""MAM-StreamICL: models alternate and share one memory of correct answers (StreamBench, section 4.1.2)."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.streambench.environment import Feedback
from tasks.streambench.memory import MemoryEntry
from tasks.streambench.method import MethodSetup, SeenStep, ShownExample, StepCaller, StepReply
from tasks.streambench.methods.parts import MemoryMethod, show_entry


class MamStreamIcl(MemoryMethod):
    """Self-StreamICL with several models that alternate. With the models [a, b, c], b answers first.

    `memory_of` (StreamBench, Table 7): only correct answers of the named agent are stored. `store_on_turn`:
    only answers in the named agent's turns are stored. `shadow`: the named agent answers every step, but in
    another agent's turn, the answer does not count.
    """

    name = "mam_stream_icl"
    shares_memory = True
    takes_memory_of = True

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        self._turn = 0

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask the next agent, with examples from the shared memory."""
        self._turn = (self._turn + 1) % len(seen.agents)
        return await caller.answer(seen.agents[self._turn], examples=self._find_examples(seen))

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, caller: StepCaller
    ) -> MemoryEntry | None:
        """Store a correct answer of the step's agent, or of the agent in `memory_of`."""
        choice = self.setup.choice
        if choice.memory_of is not None and choice.memory_of != reply.agent:
            if choice.memory_rule == "store_on_turn":
                return None
            reply, feedback = await caller.shadow(choice.memory_of, examples=self._find_examples(seen))
        return self.keep(seen, reply, feedback.bit) if feedback.bit else None

    def _find_examples(self, seen: SeenStep) -> Sequence[ShownExample]:
        found = self._memory.nearest(seen.vector, self.setup.k)
        return [show_entry(entry, judged=False) for entry in reversed(found)]
