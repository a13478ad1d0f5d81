"""The runs of an evaluation: which baseline, model and prompt, and the row of what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Origin, make_id
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.solve.examples import RANDOM
from tasks.tanq.solve.prediction import OPEN, OpenStep, Prediction
from tasks.tanq.solve.table_text import read_table


@dataclass(frozen=True)
class TableRun:
    """How one prediction is made. shots, choice, instruction: of closed and oracle alone."""

    setting: str
    model: str
    shots: int = 0
    choice: str = ""
    instruction: str = ""

    @property
    def system(self) -> str:
        """All of it as one name."""
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
