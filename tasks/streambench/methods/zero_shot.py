"""Zero-shot: the instruction and the input (section 4.1.1)."""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepReply, StepTalk
from tasks.streambench.methods.parts import PaperMethod


class ZeroShot(PaperMethod):
    """Asks for each answer at once; no step depends on another."""

    name = "zero_shot"
    sequential = False
    searches = False

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Ask without examples."""
        return await talk.answer(seen.agents[0])
