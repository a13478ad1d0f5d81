"""A prediction: the row of what a baseline, a user's system or a person made of an item (section 4).

The runs of an evaluation: which baseline, model and prompt makes one.
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
"""The open agent that writes the table."""
UNREAD = "unread"
"""In the place of a tool: a step that could not be read; argument is how it begins, result why."""


@dataclass(frozen=True)
class OpenStep:
    """A step of the open agent. agent: `main` or the sub-agent's task; tool: empty for a final answer."""

    agent: str
    thought: str
    tool: str
    argument: str
    result: str


@dataclass(frozen=True)
class Prediction:
    """Stages predictions, system_predictions and human_tables: a table that was predicted for an item.

    system: setting, model, shots and instruction as one name; shots: how many, shot_choice: `random`,
    `chosen` or empty; reply: the whole text; table: rows of cells, the header first, None if the reply has no
    table; left_out: ids of proofs that the window had no room for; failed: why there is no reply, else empty.
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
    """The settings of a prediction. shots, choice, instruction: of closed and oracle alone."""

    setting: str
    model: str
    shots: int = 0
    choice: str = ""
    instruction: str = ""

    @property
    def system(self) -> str:
        """The system and its settings as one name."""
        if not self.instruction:
            return f"{self.setting}/{self.model}"
        shots = f"{self.shots}-{self.choice}" if self.choice else str(self.shots)
        return f"{self.setting}/{self.model}/{shots}/{self.instruction}"


def list_runs(entry: TableEvaluation) -> Iterator[TableRun]:
    """List the runs of an evaluation; the open agent has one a model, examples are for the others."""
    for model in entry.models:
        for setting in entry.settings:
            if setting == OPEN:
                yield TableRun(OPEN, model)
                continue
            for shots in entry.shots:
                # One example is drawn: there is nothing to choose between.
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
    """Make the row of a reply, which may hold a table or not.

    articles: what an agent read, as `<artifact of articles>#<title>`.
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
