"""Define the schema of predictions: tables by a baseline, a user's system or a person (TANQ, section 4).

This module also lists the runs of an evaluation: combinations of setting, model and prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Origin, make_id
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.solve.examples import RANDOM
from tasks.tanq.solve.table_text import read_table

CLOSED, ORACLE, OPEN = "closed", "oracle", "open"
SETTINGS = (CLOSED, ORACLE, OPEN)
MAIN = "main"
"""The value of `agent` for the main agent, which writes the table."""
UNREAD = "unread"
"""The value of `tool` for a reply that could not be parsed.

The step's `argument` is then the beginning of the reply, and `result` is the reason.
"""


@dataclass(frozen=True)
class OpenStep:
    """A step of the open agent.

    agent: `main`, or the sub-agent's task. tool: the tool's name; empty for a final answer.
    """

    agent: str
    thought: str
    tool: str
    argument: str
    result: str


@dataclass(frozen=True)
class Prediction:
    """A row of stages `predictions`, `system_predictions` and `human_tables`: a predicted table for an item.

    - system: a name composed of setting, model, shots and instruction.
    - shots: number of examples. shot_choice: `random`, `chosen` or empty.
    - reply: the whole reply. table: the rows of cells, the header first; None if the reply has no table.
    - left_out: omitted or truncated data: ids of proofs, or descriptions of the agent's results.
    - failed: the reason why there is no reply; otherwise empty.
    """

    id: str
    item: str
    system: str
    setting: str
    model: str
    shots: int
    shot_choice: str
    instruction: str
    reply: str
    table: tuple[tuple[str, ...], ...] | None
    left_out: tuple[str, ...]
    steps: tuple[OpenStep, ...]
    failed: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class TableRun:
    """The settings of a run. shots, choice, instruction: used only in the settings `closed` and `oracle`."""

    setting: str
    model: str
    shots: int = 0
    choice: str = ""
    instruction: str = ""

    @property
    def system(self) -> str:
        """The system's name, composed of setting, model and prompt."""
        if not self.instruction:
            return f"{self.setting}/{self.model}"
        shots = f"{self.shots}-{self.choice}" if self.choice else str(self.shots)
        return f"{self.setting}/{self.model}/{shots}/{self.instruction}"


def list_runs(entry: TableEvaluation) -> Iterator[TableRun]:
    """List the runs of an evaluation.

    The open agent has one run per model, because its prompt has no examples.
    """
    for model in entry.models:
        for setting in entry.settings:
            if setting == OPEN:
                yield TableRun(OPEN, model)
                continue
            for shots in entry.shots:
                # A single example is always sampled at random.
                choices = entry.choices if shots > 1 else (RANDOM,) if shots else ("",)
                for choice in choices:
                    for instruction in entry.instructions:
                        yield TableRun(setting, model, shots, choice, instruction)


def make_prediction(
    item: TanqItem,
    run: TableRun,
    reply: str,
    failed: str,
    calls: Iterable[str],
    *,
    examples: Sequence[TanqItem] = (),
    left_out: Iterable[str] = (),
    steps: Iterable[OpenStep] = (),
    articles: Iterable[str] = (),
) -> Prediction:
    """Return the prediction for a reply, with or without a table.

    articles: the articles that an agent read, as `<artifact of articles>#<title>`.
    """
    return Prediction(
        id=make_id(item.id, run.system),
        item=item.id,
        system=run.system,
        setting=run.setting,
        model=run.model,
        shots=run.shots,
        shot_choice=run.choice,
        instruction=run.instruction,
        reply=reply,
        table=None if failed else read_table(reply),
        left_out=tuple(dict.fromkeys(left_out)),
        steps=tuple(steps),
        failed=failed,
        origin=(
            Origin("row", f"items#{item.id}"),
            *(Origin("row", f"items#{example.id}") for example in examples),
            *(Origin("evidence", article) for article in dict.fromkeys(articles)),
            *(Origin("call", call) for call in dict.fromkeys(calls)),
        ),
    )
