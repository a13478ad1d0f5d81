"""Zero-shot: prompts with the instruction and the input, without examples (StreamBench, section 4.1.1)."""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepCaller, StepReply
from tasks.streambench.methods.parts import PaperMethod


class ZeroShot(PaperMethod):
    """Asks for each answer directly; the steps are independent of each other."""

    name = "zero_shot"
    sequential = False
    searches = False

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask without examples."""
        return await caller.answer(seen.agents[0])
