"""Stage: build a synthetic database for every question ("construct" in section 2.2 of the paper).

A model writes the rows of the databases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, split_outcomes
from tasks.databases.columns import Column, split_column_id
from tasks.databases.scratch.scratch import Built, ScratchLimits, build_scratch, write_create
from tasks.errors import SqlError
from tasks.longform.build.analyses.outcomes import UNKNOWN, is_analysis
from tasks.longform.build.answers import list_heads
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.build.conjecture import Conjecture
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import FoundFigure, find_missing, read_script
from tasks.longform.build.findings.rows import (
    describe_invented,
    find_unfit,
    list_needed,
    say_expected,
    say_rule,
)
from tasks.longform.build.row_plan import RowPlanner, TablePlan, write_grammar
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.build.words import join_words
from tasks.models.ask import Ask
from tasks.settings import Settings


@dataclass(frozen=True)
class SyntheticDatabase:
    """Row of the stage `construct`: a database for one question. The row has its question's id."""

    id: str
    script: str
    """The CREATE statements, then one INSERT statement per row, rewritten in canonical form."""
    tables: int
    columns: int
    rows: int
    rounds: int
    """Number of requests to the model for rows."""
    borne_out: tuple[bool, ...]
    """For each figure of the question, whether the rows support the conjecture."""
    origin: tuple[Origin, ...]


class Construct(Settings):
    """The settings in params.yaml under `longform.construct`."""

    rows: int = Field(default=4, ge=1)
    """Number of rows per group of the compared table; the first group gets one more row, and the second group
    one fewer."""
    rounds: int = Field(default=3, ge=1)
    """Maximum number of attempts to get suitable rows; each prompt names the previous errors."""
    borne_out: bool = False
    """Whether the rows must support the conjecture.

    If true, rows that contradict the conjecture are requested again; the question is dropped if every round
    fails. If false, rows that contradict the conjecture are kept, and the answer follows from the rows.
    """
    tables: int | None = Field(default=0, ge=0)
    """Minimum number of tables in the synthetic database, if the source has that many.

    The tables nearest by foreign keys are added without rows. 0 adds no tables; null adds all tables.
    """
    limits: ScratchLimits = ScratchLimits()


async def construct(
    confirm: list[ConfirmedQuestion],
    control: list[ControlledQuestion],
    conjecture: list[Conjecture],
    sources: Path,
    params: Construct,
    ask: Ask,
) -> Drafts[SyntheticDatabase]:
    """Have a model write rows for every question with a conjecture, and check the rows.

    Drop reasons:
    - `no_rows`: the source has too few rows
    - `refused`: the statements did not run
    - `nothing_to_compare`: a group has no value of a measure, or too few values
    - `not_borne_out`: the rows do not support the conjecture
    - `told`: the rows answer the question although the answer must be unknown
    """
    known = SourceArtifacts(sources)
    asked = {question.id: question for question in control}
    guessed = {guess.id: guess for guess in conjecture}

    async def write_rows(question: ConfirmedQuestion, guess: Conjecture) -> SyntheticDatabase | Dropped:
        try:
            construction = _Construction(question, asked[question.id], guess, known, params)
        except SqlError as error:
            return Dropped(question.id, "no_rows", str(error), (Origin("row", f"conjecture#{guess.id}"),))
        return await construction.run(ask)

    pairs = [(question, guessed[question.id]) for question in confirm if question.id in guessed]
    return split_outcomes(await asyncio.gather(*(write_rows(*pair) for pair in pairs)))


def add_tables(needed: Sequence[str], columns: Sequence[Column], least: int | None) -> list[str]:
    """Return the needed tables, then the other tables of the source, the nearest by foreign keys first.

    columns: all columns of the source. least: the minimum number of tables, if the source has that many; None
    returns all tables.
    """
    others = [table for table in dict.fromkeys(column.table for column in columns) if table not in needed]
    pairs = {(column.table, split_column_id(column.references)[0]) for column in columns if column.references}
    tables = list(needed)
    while others and (least is None or len(tables) < least):
        joined = [
            other for other in others if any({(other, table), (table, other)} & pairs for table in tables)
        ]
        tables.append((joined or others)[0])
        others.remove(tables[-1])
    return tables


class _Construction:
    """The rounds of requests for one question's rows. Raises SqlError if the source has too few rows."""

    def __init__(
        self,
        question: ConfirmedQuestion,
        controlled: ControlledQuestion,
        guess: Conjecture,
        known: SourceArtifacts,
        params: Construct,
    ) -> None:
        self.question, self.controlled, self.guess, self.params = question, controlled, guess, params
        columns = [row.column for row in known.read(controlled.database).values()]
        self.invented = is_analysis(controlled.design)
        self.plan: list[TablePlan] = []
        if self.invented:
            needed = list_needed(controlled.focus, columns)
        else:
            rows = known.read_rows(controlled.database)
            self.plan = RowPlanner(controlled, guess, columns, rows, params.rows).plan()
            needed = [table.table for table in self.plan]
        self.needed = needed
        self.tables = tables = add_tables(needed, columns, params.tables)
        self.columns = [column for column in columns if column.table in tables]
        self.create = write_create(self.columns, tables)

    async def run(self, ask: Ask) -> SyntheticDatabase | Dropped:
        problem, reason, calls = "", "refused", []
        for number in range(self.params.rounds):
            answer = await ask(
                "construct_invented" if self.invented else "construct",
                {**self._make_fields(), "problem": problem},
                role="generator",
                row=self.question.id,
                parse=str,
                grammar=None if self.invented else write_grammar(self.plan),
                # With a new sample number, a repeated prompt is a new request, not a reply from the ledger.
                sample=number,
            )
            calls.append(Origin("call", answer.call))
            try:
                built, figures = await asyncio.to_thread(self._build, answer.text)
            except SqlError as error:
                problem, reason = " ".join(str(error).split()), "refused"
                continue
            if unfit := self._find_unfit(figures):
                reason, problem = unfit
                continue
            pairs = zip(figures, self.guess.expected, strict=True)
            borne_out = tuple(expected == UNKNOWN or figure.is_ahead(expected) for figure, expected in pairs)
            if all(borne_out) or not self.params.borne_out:
                return self._make_row(built, borne_out, calls)
            problem, reason = self._say_missed(figures), "not_borne_out"
        return Dropped(self.question.id, reason, problem, (self._origin(), *calls))

    def _build(self, reply: str) -> tuple[Built, list[FoundFigure]]:
        """Build a database and read its figures in separate processes, while other requests continue."""
        built = build_scratch(self.create, reply, self.params.limits)
        return built, read_script(built.script, self.controlled)

    def _find_unfit(self, figures: Sequence[FoundFigure]) -> tuple[str, str] | None:
        """Return (drop reason, problem) if rows do not fit the question; otherwise None.

        Rows do not fit if they do not answer the question, or if they answer a question that must remain
        unanswered.
        """
        if self.invented:
            return find_unfit(figures, self.controlled, self.guess.expected)
        missing = find_missing(figures, self.controlled)
        return ("nothing_to_compare", missing) if missing else None

    def _make_fields(self) -> dict[str, object]:
        if self.invented:
            return {
                "create": "\n".join(self.create),
                "question": self.question.text,
                "conjecture": self.guess.text,
                "expected": say_expected(self.controlled, self.guess.expected),
                "plan": describe_invented(self.controlled, self.columns, self.needed, self.params.rows),
                "rule": say_rule(self.controlled, self.guess.expected),
            }
        return {
            "create": "\n".join(self.create),
            "question": self.question.text,
            "conjecture": self.guess.text,
            "expected": [
                f"{head}: {expected}"
                for head, expected in zip(list_heads(self.controlled), self.guess.expected, strict=True)
            ],
            "plan": [self._describe(table) for table in self.plan],
        }

    def _describe(self, table: TablePlan) -> dict[str, object]:
        focus = self.controlled.focus
        group_table, group = split_column_id(focus.group)
        named = [*self.controlled.groups, *filter(None, [self.controlled.decoy])]
        note = f"{group} is {join_words(named, 'or')}" if table.table == group_table else ""
        if table.table == focus.table:
            note = f"most of them for {join_words(self.controlled.groups)}, not equally many" + (
                f", and two for {self.controlled.decoy}" if self.controlled.decoy else ""
            )
        example = ", ".join(table.rows[0][0]) if table.rows else ""
        return {
            "count": len(table.rows), "name": table.table, "columns": table.columns, "note": note,
            "example": example,
        }  # fmt: skip

    def _say_missed(self, figures: Sequence[FoundFigure]) -> str:
        pairs = zip(list_heads(self.controlled), figures, self.guess.expected, strict=True)
        return "; ".join(
            f"{head} must be {expected}, but the rows show {figure.ahead or 'neither'}"
            for head, figure, expected in pairs
            if not figure.is_ahead(expected)
        )

    def _origin(self) -> Origin:
        return Origin("row", f"conjecture#{self.question.id}")

    def _make_row(
        self, built: Built, borne_out: tuple[bool, ...], calls: Sequence[Origin]
    ) -> SyntheticDatabase:
        return SyntheticDatabase(
            id=self.question.id,
            script=built.script,
            tables=len(self.tables),
            columns=len(self.columns),
            rows=sum(built.rows.values()),
            rounds=len(calls),
            borne_out=borne_out,
            origin=(self._origin(), Origin("row", f"confirm#{self.question.id}"), *calls),
        )
