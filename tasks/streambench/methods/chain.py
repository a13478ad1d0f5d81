"""Chain of thought: the model reasons first (StreamBench, section 4.1.1).

The answer is extracted from the reply.
"""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepCaller, StepReply
from tasks.streambench.methods.parts import PaperMethod


class Chain(PaperMethod):
    """Chain of thought: asks for reasoning and an answer. The steps are independent of each other."""

    name = "chain"
    sequential = False
    searches = False

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask for reasoning, then the answer."""
        return await caller.answer(seen.agents[0], style="chain")
