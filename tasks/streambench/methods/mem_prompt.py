"""MemPrompt: prompts with the k most similar past steps and their feedback (StreamBench, section 4.1.2)."""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepCaller, StepReply
from tasks.streambench.methods.parts import MemoryMethod, filter_entries, show_entry


class MemPrompt(MemoryMethod):
    """Retrieves the k most similar past steps, correct or wrong; `use` filters the retrieved steps."""

    name = "mem_prompt"
    takes_use = True

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask with the retrieved steps, the most similar last."""
        found = filter_entries(self._memory.nearest(seen.vector, self.setup.k), self.setup.choice.use)
        examples = [show_entry(entry, judged=True) for entry in reversed(found)]
        return await caller.answer(seen.agents[0], examples=examples)
