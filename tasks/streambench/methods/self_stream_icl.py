"""Self-StreamICL: the k most similar of one's own right answers (section 4.1.2, algorithm 2)."""

from __future__ import annotations

from tasks.streambench.environment import Feedback
from tasks.streambench.memory import MemoryEntry
from tasks.streambench.method import MethodSetup, SeenStep, StepReply, StepTalk, StreamMethod
from tasks.streambench.methods.parts import make_entry, refuse_ablations, show_entry


class SelfStreamIcl(StreamMethod):
    """Keeps inputs with right answers, and shows them as examples without feedback."""

    name = "self_stream_icl"

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        refuse_ablations(setup)
        self._memory = setup.make_memory()

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Ask with what was found, the most similar last."""
        found = self._memory.nearest(seen.vector, self.setup.k)
        examples = [show_entry(one, judged=False) for one in reversed(found)]
        return await talk.answer(seen.agents[0], examples=examples)

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, talk: StepTalk
    ) -> MemoryEntry | None:
        """Keep a right answer."""
        entry = make_entry(seen, reply, feedback.bit) if feedback.bit else None
        if entry is not None:
            self._memory.add(entry, seen.vector)
        return entry

    def measure_memory(self) -> int:
        """Return the number of right answers kept."""
        return len(self._memory)
