"""MemPrompt: the k most similar past steps with their feedback (section 4.1.2)."""

from __future__ import annotations

from tasks.streambench.environment import Feedback
from tasks.streambench.memory import MemoryEntry
from tasks.streambench.method import MethodSetup, SeenStep, StepReply, StepTalk, StreamMethod
from tasks.streambench.methods.parts import filter_entries, make_entry, refuse_ablations, show_entry


class MemPrompt(StreamMethod):
    """Finds k steps of all past ones, right or wrong; `use` filters what was found."""

    name = "mem_prompt"

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        refuse_ablations(setup, takes_use=True)
        self._memory = setup.make_memory()

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Ask with what was found, the most similar last."""
        found = filter_entries(self._memory.nearest(seen.vector, self.setup.k), self.setup.choice.use)
        examples = [show_entry(one, judged=True) for one in reversed(found)]
        return await talk.answer(seen.agents[0], examples=examples)

    async def learn(
        self, seen: SeenStep, reply: StepReply, feedback: Feedback, talk: StepTalk
    ) -> MemoryEntry | None:
        """Keep the step, right or wrong; one without an answer has nothing to show."""
        entry = make_entry(seen, reply, feedback.bit, feedback.words)
        if entry is not None:
            self._memory.add(entry, seen.vector)
        return entry

    def measure_memory(self) -> int:
        """Return the number of steps kept."""
        return len(self._memory)
