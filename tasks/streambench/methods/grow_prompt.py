"""GrowPrompt: prompts with the last k steps and their feedback (StreamBench, section 4.1.2)."""

from __future__ import annotations

from tasks.streambench.memory import FoundEntry
from tasks.streambench.method import SeenStep, StepCaller, StepReply
from tasks.streambench.methods.parts import MemoryMethod, filter_entries, show_entry


class GrowPrompt(MemoryMethod):
    """Shows the last k steps, the oldest first; steps that `use` removes are not replaced."""

    name = "grow_prompt"
    takes_use = True
    searches = False

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask with the last k steps."""
        window = [FoundEntry(entry, 0.0) for entry in self._memory.latest(self.setup.k)]
        shown = filter_entries(window, self.setup.choice.use)
        return await caller.answer(
            seen.agents[0], examples=[show_entry(entry, judged=True) for entry in shown]
        )
