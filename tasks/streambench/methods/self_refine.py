"""Self-Refine: the model alternates between feedback on its answer and a refinement (section 4.1.1)."""

from __future__ import annotations

from tasks.streambench.method import SeenStep, StepReply, StepTalk
from tasks.streambench.methods.parts import PaperMethod


class SelfRefine(PaperMethod):
    """Refines an answer at most `refinements` times; stops if the critique contains the marker."""

    name = "self_refine"
    sequential = False
    searches = False

    async def step(self, seen: SeenStep, talk: StepTalk) -> StepReply:
        """Answer, then criticise and refine. A failed call makes the step fail."""
        agent = seen.agents[0]
        reply = await talk.answer(agent)
        history: list[tuple[str, str]] = []
        while reply.answer is not None and len(history) < self.setup.refinements:
            critique = await talk.critique(agent, reply.answer)
            if critique.answer is None:
                return critique
            if critique.stop:
                break
            history.append((reply.answer, critique.answer))
            reply = await talk.refine(agent, history)
        return reply
