"""Stage: a synthetic database for every question, of rows that the model writes (section 2.2)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.databases.columns import split_column_id
from tasks.databases.execution import SafeDatabase
from tasks.databases.scratch import Built, ScratchLimits, build_scratch, write_create, write_database
from tasks.errors import SqlError
from tasks.longform.build.evidence import GroupMeans, read_figures
from tasks.longform.build.row_plan import TablePlan, plan_rows, write_grammar
from tasks.longform.build.schemas import Sources
from tasks.longform.build.words import say_amount, say_mean
from tasks.longform.rows import ConfirmedQuestion, Conjecture, ControlledQuestion, SyntheticDatabase
from tasks.models.ask import Ask


class Construct(BaseModel):
    """`longform.construct` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int = Field(default=4, ge=1)
    """Rows of the compared table for each of the two groups."""
    rounds: int = Field(default=3, ge=1)
    """How often the model is asked for rows, each time with what was wrong with the last ones."""
    borne_out: bool = False
    """Whether rows that do not bear the conjecture out are asked for again, and dropped after the last round;
    otherwise the answer says what the rows do say."""
    limits: ScratchLimits = ScratchLimits()


async def construct(
    confirm: list[ConfirmedQuestion],
    control: list[ControlledQuestion],
    conjecture: list[Conjecture],
    sources: Path,
    params: Construct,
    ask: Ask,
) -> Drafts[SyntheticDatabase]:
    """Have rows written for every question that has a conjecture, and check them.

    Drop reasons: `refused` (the statements did not run), `not_borne_out`.
    """
    known = Sources(sources)
    asked = {question.id: question for question in control}
    guessed = {guess.id: guess for guess in conjecture}
    outcomes = await asyncio.gather(
        *(
            _Construction(question, asked[question.id], guessed[question.id], known, params).run(ask)
            for question in confirm
            if question.id in guessed
        )
    )
    return Drafts(
        [outcome for outcome in outcomes if isinstance(outcome, SyntheticDatabase)],
        [outcome for outcome in outcomes if isinstance(outcome, Dropped)],
    )


class _Construction:
    """The rounds of one question."""

    def __init__(
        self,
        question: ConfirmedQuestion,
        controlled: ControlledQuestion,
        guess: Conjecture,
        known: Sources,
        params: Construct,
    ) -> None:
        source = known.read(controlled.database)
        self.question, self.controlled, self.guess, self.params = question, controlled, guess, params
        self.plan = plan_rows(controlled, guess, source, params.rows)
        tables = [table.table for table in self.plan]
        self.columns = [row.column for row in source.values() if row.column.table in tables]
        self.create = write_create(self.columns, tables)

    async def run(self, ask: Ask) -> SyntheticDatabase | Dropped:
        problem, reason, calls = "", "refused", []
        for number in range(self.params.rounds):
            answer = await ask(
                "construct",
                {**self._make_fields(), "problem": problem},
                role="generator",
                row=self.question.id,
                parse=str,
                grammar=write_grammar(self.plan),
                sample=number,
            )
            calls.append(Origin("call", answer.call))
            try:
                built = build_scratch(self.create, answer.text, self.params.limits)
                figures = self._read(built)
            except SqlError as error:
                problem, reason = " ".join(str(error).split()), "refused"
                continue
            pairs = zip(figures, self.guess.expected, strict=True)
            borne_out = tuple(figure.ahead == expected for figure, expected in pairs)
            if all(borne_out) or not self.params.borne_out:
                return self._make_row(built, borne_out, len(calls), calls)
            problem, reason = self._say_missed(figures), "not_borne_out"
        return Dropped(self.question.id, reason, problem, (self._origin(), *calls))

    def _make_fields(self) -> dict[str, object]:
        focus = self.controlled.focus
        first, second = self.controlled.groups
        return {
            "create": "\n".join(self.create),
            "question": self.question.text,
            "conjecture": self.guess.text,
            "expected": [
                {"words": say_amount(measure)[0], "high": high, "low": second if high == first else first}
                for measure, high in zip(focus.measures, self.guess.expected, strict=True)
            ],
            "plan": [self._describe(table) for table in self.plan],
        }

    def _describe(self, table: TablePlan) -> dict[str, object]:
        group_table, group = split_column_id(self.controlled.focus.group)
        names = " and ".join(self.controlled.groups)
        note = f"{group} is {names}" if table.table == group_table else ""
        if table.table == self.controlled.focus.table:
            note = f"half of them for {names} each"
        return {"count": len(table.rows), "name": table.table, "columns": table.columns, "note": note}

    def _read(self, built: Built) -> list[GroupMeans]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "synthetic.sqlite"
            write_database(built.script, path)
            with SafeDatabase(path) as database:
                return read_figures(self.controlled, database)

    def _say_missed(self, figures: Sequence[GroupMeans]) -> str:
        missed = [
            f"the average {say_amount(figure.measure)[0]} must be higher for {expected}, and is "
            + " and ".join(
                f"{say_mean(mean, figure.measure)} for {name}" for name, mean in figure.means.items()
            )
            for figure, expected in zip(figures, self.guess.expected, strict=True)
            if figure.ahead != expected
        ]
        return "; ".join(missed)

    def _origin(self) -> Origin:
        return Origin("row", f"conjecture#{self.question.id}")

    def _make_row(
        self, built: Built, borne_out: tuple[bool, ...], rounds: int, calls: Sequence[Origin]
    ) -> SyntheticDatabase:
        return SyntheticDatabase(
            id=self.question.id,
            script=built.script,
            tables=len(self.plan),
            columns=len(self.columns),
            rows=sum(built.rows.values()),
            rounds=rounds,
            borne_out=borne_out,
            origin=(self._origin(), Origin("row", f"confirm#{self.question.id}"), *calls),
        )
