"""Self-StreamICL: prompts with the model's k most similar correct answers (StreamBench, algorithm 2)."""

from __future__ import annotations

from tasks.streambench.environment import Feedback
from tasks.streambench.memory import MemoryEntry
from tasks.streambench.method import SeenStep, StepCaller, StepReply
from tasks.streambench.methods.parts import MemoryMethod, show_entry


class SelfStreamIcl(MemoryMethod):
    """Stores inputs with correct answers, and shows them as examples without feedback."""

    name = "self_stream_icl"

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask with the retrieved examples, the most similar last."""
        found = self._memory.nearest(seen.vector, self.setup.k)
        examples = [show_entry(entry, judged=False) for entry in reversed(found)]
        return await caller.answer(seen.agents[0], examples=examples)

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, caller: StepCaller
    ) -> MemoryEntry | None:
        """Store a correct answer."""
        return self.keep(seen, reply, feedback.bit) if feedback.bit else None
