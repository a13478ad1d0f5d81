"""Chain of thought: reasoning before the answer, which is taken out of it (section 4.1.1)."""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepReply, StepTalk
from tasks.streambench.methods.parts import PaperMethod


class Chain(PaperMethod):
    """Asks for reasoning and an answer; no step depends on another."""

    name = "chain"
    sequential = False
    searches = False

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Ask in the style that reasons first."""
        return await talk.answer(seen.agents[0], style="chain")
