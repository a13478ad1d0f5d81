"""Self-Refine: the model alternately criticises and refines its answer (StreamBench, section 4.1.1)."""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepCaller, StepReply
from tasks.streambench.methods.parts import PaperMethod


class SelfRefine(PaperMethod):
    """Refines an answer at most `refinements` times; stops if the critique has the stop marker."""

    name = "self_refine"
    sequential = False
    searches = False

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Answer, then criticise and refine the answer. If a call fails, the step fails."""
        agent = seen.agents[0]
        reply = await caller.answer(agent)
        history: list[tuple[str, str]] = []
        while reply.answer is not None and len(history) < self.setup.refinements:
            critique = await caller.critique(agent, reply.answer)
            if critique.answer is None:
                return critique
            if critique.stop:
                break
            history.append((reply.answer, critique.answer))
            reply = await caller.refine(agent, history)
        return reply
