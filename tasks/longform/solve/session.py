"""Run the session of one agent on one item: send requests, run queries, and record both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tasks.judging.prompt_room import estimate_tokens
from tasks.judging.quoting import clean
from tasks.longform.solve.describe_database import SAMPLES, Database
from tasks.longform.solve.interaction import STATISTIC, AgentQuery, AgentStep
from tasks.longform.solve.querying import run_queries
from tasks.longform.solve.replies import AgentLimits, WrittenQuery, make_answer_grammar, parse_answer
from tasks.longform.solve.room import INSTRUCTIONS, STATISTICS, fit_description, fit_results, show_statistic
from tasks.longform.solve.statistic import MOST
from tasks.models.ask import Ask, Tool

Value = TypeVar("Value")


@dataclass(frozen=True)
class FoundResult:
    """An information need, with its query and the query's result. query: None if the reply had no query."""

    need: str
    query: AgentQuery | None


class AgentSession:
    """A session of an agent that works on one item.

    The fields plan, findings, steps, left_out, problems and calls become the interaction's row.
    """

    def __init__(
        self, row: str, role: str, question: str, database: Database, params: AgentLimits, ask: Ask
    ) -> None:
        """Start a session. row: the interaction's id. role: the role of the agent's model."""
        self.question, self.database, self.params = clean(question), database, params
        self.plan = ""
        self.findings: list[FoundResult] = []
        self.steps: list[AgentStep] = []
        self.left_out: dict[str, None] = {}
        self.problems: list[str] = []
        self.calls: list[str] = []
        self._row, self._role, self._ask = row, role, ask

    @property
    def queries(self) -> tuple[AgentQuery, ...]:
        """The queries that the session has run so far, in order."""
        return tuple(finding.query for finding in self.findings if finding.query is not None)

    async def ask(
        self,
        prompt: str,
        fields: Mapping[str, object],
        *,
        parse: Callable[[str], Value],
        grammar: str,
        max_tokens: int | None,
        tools: Sequence[Tool] = (),
    ) -> Value | None:
        """Send a prompt with the question to the model; return the parsed reply.

        If no reply can be parsed, returns None and records a problem. max_tokens: the reply's maximum number
        of tokens; None uses the role's limit.
        """
        answer = await self._ask(
            prompt,
            {"question": self.question, **fields},
            role=self._role,
            row=self._row,
            parse=parse,
            grammar=grammar,
            max_tokens=max_tokens,
            tools=tools,
        )
        self.calls.append(answer.call)
        if answer.value is None:
            self.problems.append(f"{prompt}: {answer.problem}")
        return answer.value

    async def answer(self, prompt: str, fields: Mapping[str, object]) -> str | None:
        """Request the answer (one paragraph) and record it as a step; None if no reply can be parsed."""
        answer = await self.ask(
            prompt,
            {**fields, "words": self.params.answer_words},
            parse=parse_answer,
            grammar=make_answer_grammar(self.params),
            max_tokens=self.params.answer_tokens,
        )
        if answer is not None:
            self.note("answer", answer)
        return answer

    def note(self, kind: str, text: str) -> None:
        """Record a step; `kind` is one of the values that `AgentStep.kind` lists."""
        self.steps.append(AgentStep(kind, text))

    def leave_out(self, names: Iterable[str]) -> None:
        """Record the names of parts that did not fit into a prompt, or that exceed a limit."""
        self.left_out.update(dict.fromkeys(names))

    async def run(self, queries: Sequence[WrittenQuery], need: str = "") -> None:
        """Run queries, and add each query with its result and statistics to `findings`, even if it fails."""
        params = self.params
        fewer = [replace(query, statistics=query.statistics[:MOST]) for query in queries]
        # In a thread, so that a slow query does not block the other sessions.
        ran = await asyncio.to_thread(
            run_queries, self.database.file, fewer, params.limits, params.shown_rows
        )
        for written, query in zip(queries, ran, strict=True):
            self.findings.append(FoundResult(need, query))
            number = len(self.queries)
            self.note("query", query.sql)
            for statistic in query.statistics:
                self.note(STATISTIC, f"Of query {number}: {show_statistic(statistic)}")
            if query.n_rows > params.shown_rows:
                more = query.n_rows - params.shown_rows
                self.leave_out([f"{more} of {query.n_rows} rows of query {number}"])
            if over := len(written.statistics) - len(query.statistics):
                self.leave_out(
                    [f"{over} of {len(written.statistics)} statistics of query {number}, over the limit"]
                )

    def measure_room(self, *texts: str) -> float:
        """Return the number of tokens that remain for data in a prompt with the question and `texts`."""
        said = sum(map(estimate_tokens, (self.question, *texts)))
        instructions = INSTRUCTIONS + STATISTICS * self.params.statistics
        return max(0.0, self.params.prompt_tokens - instructions - said)

    def describe(self, tokens: float, samples: int = SAMPLES) -> str:
        """Describe the database within a token limit, quoted for a prompt."""
        fitted = fit_description(self.database, tokens, samples)
        self.leave_out(fitted.left_out)
        return fitted.text

    def show_findings(self, tokens: float) -> list[dict[str, str]]:
        """Show the findings within a token limit: their needs, SQL and results, quoted for a prompt."""
        needs = [
            (clean(found.need), clean(found.query.sql) if found.query else "") for found in self.findings
        ]
        said = sum(estimate_tokens(need) + estimate_tokens(sql) for need, sql in needs)
        results = fit_results([found.query for found in self.findings], tokens - said)
        for fitted in results:
            self.leave_out(fitted.left_out)
        return [
            {"need": need, "sql": sql, "result": fitted.text}
            for (need, sql), fitted in zip(needs, results, strict=True)
        ]
