"""GrowPrompt: a window of the last k steps with their feedback (section 4.1.2)."""

from __future__ import annotations

from tasks.streambench.environment import Feedback
from tasks.streambench.memory import FoundEntry, MemoryEntry
from tasks.streambench.method import MethodSetup, SeenStep, StepReply, StepTalk, StreamMethod
from tasks.streambench.methods.parts import filter_entries, make_entry, refuse_ablations, show_entry


class GrowPrompt(StreamMethod):
    """Shows the last k steps, the oldest first; `use` filters the window, which is not filled up again."""

    name = "grow_prompt"
    searches = False

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        refuse_ablations(setup, takes_use=True)
        self._memory = setup.make_memory()

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Ask with the window."""
        window = [FoundEntry(entry, 0.0) for entry in self._memory.latest(self.setup.k)]
        shown = filter_entries(window, self.setup.choice.use)
        return await talk.answer(seen.agents[0], examples=[show_entry(one, judged=True) for one in shown])

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
