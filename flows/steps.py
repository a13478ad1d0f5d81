"""How a paper's flow is declared: its stages by name, in order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One stage of a flow, as Prefect runs it. What it reads and writes stands in dvc.yaml."""

    stage: str
    """`grammar.schema`: tasks/grammar/construct/schema.py, and the section of that name in params.yaml."""
    retries: int = 0
    """How often the whole stage is tried again when an endpoint gave no reply; what it had been
    told by then is in the ledger and is not paid for again."""
    retry_delay_s: float = 30.0
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """One paper's flow: a name to run it by, and its steps in order."""

    name: str
    title: str
    steps: tuple[Step, ...]

    def find(self, stage: str) -> Step | None:
        """Find the step of a stage; None where it is not of this flow."""
        return next((step for step in self.steps if step.stage == stage), None)
