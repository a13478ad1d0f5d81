"""Few-shot: every prompt has the same pairs of inputs and true answers (StreamBench, section 4.1.1)."""

from __future__ import annotations

from tasks.errors import BadInput
from tasks.streambench.memory import RetrievedEntry
from tasks.streambench.method import MethodSetup, SeenStep, ShownExample, StepCaller, StepReply
from tasks.streambench.methods.parts import PaperMethod


class FewShot(PaperMethod):
    """Few-shot prompts with the first k of the stream's examples, in order."""

    name = "few_shot"
    sequential = False
    searches = False

    def __init__(self, setup: MethodSetup) -> None:
        super().__init__(setup)
        if not setup.shots:
            raise BadInput(
                "streambench: method few_shot",
                "the stream has no shots",
                hint="see shots.dropped.parquet",
            )
        self._examples = tuple(
            ShownExample(RetrievedEntry(shot.id, 0, 0.0), shot.memory_key, shot.answer)
            for shot in sorted(setup.shots, key=lambda shot: shot.place)[: setup.k]
        )

    async def step(self, seen: SeenStep, caller: StepCaller) -> StepReply:
        """Ask with the few-shot examples."""
        return await caller.answer(seen.agents[0], examples=self._examples)
