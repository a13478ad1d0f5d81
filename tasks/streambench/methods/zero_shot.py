"""Zero-shot: the instruction and the input (section 4.1.1)."""

from __future__ import annotations

from tasks.streambench.method import MethodSetup, SeenStep, StepReply, StepTalk, StreamMethod
from tasks.streambench.methods.parts import refuse_ablations


class ZeroShot(StreamMethod):
    """Asks for each answer at once; no step depends on another."""

    name = "zero_shot"
    sequential = False
    searches = False

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        refuse_ablations(setup)

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Ask without examples."""
        return await talk.answer(seen.agents[0])
