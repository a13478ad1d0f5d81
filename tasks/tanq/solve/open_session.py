"""The work of the open agent on one item: what it may do, and the record of what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.judging.quoting import clean
from tasks.models.ask import Ask, Tool
from tasks.tanq.solve.article_shelf import ArticleShelf
from tasks.tanq.solve.calculator import NoArithmetic, calculate
from tasks.tanq.solve.open_replies import (
    BETWEEN,
    CALCULATE,
    FIND_EVIDENCE,
    GET_INTRO,
    WIKI_SEARCH,
    AgentMove,
)
from tasks.tanq.solve.rows import MAIN, UNREAD, OpenStep
from tasks.tanq.solve.table_options import OpenLimits

SHOWN_NAME = 80
"""Characters of a name that is not there."""


@dataclass(frozen=True)
class AgentNote:
    """What a step had as its result, as the agent's next prompt shows it."""

    head: str
    result: str


class OpenSession:
    """One item's work in progress, for the prediction's row. articles: titles of what was read."""

    def __init__(
        self, row: str, role: str, question: str, shelf: ArticleShelf, params: OpenLimits, ask: Ask
    ) -> None:
        """row: the prediction's id. role: the model that is asked."""
        self.question, self.params = clean(question), params
        self.steps: list[OpenStep] = []
        self.calls: list[str] = []
        self.left_out: list[str] = []
        self.articles: list[str] = []
        self.failed = ""
        self._row, self._role, self._shelf, self._ask = row, role, shelf, ask

    async def move(
        self,
        agent: str,
        prompt: str,
        fields: Mapping[str, object],
        *,
        parse: Callable[[str], AgentMove],
        grammar: str,
        tools: Sequence[Tool],
        max_tokens: int,
    ) -> AgentMove | None:
        """Ask for a step; None if no attempt could be read, which is a step of the chain too."""
        answer = await self._ask(
            prompt, fields, role=self._role, row=self._row, parse=parse, grammar=grammar, tools=tools,
            max_tokens=max_tokens,
        )  # fmt: skip
        self.calls.append(answer.call)
        if answer.value is None:
            self.steps.append(OpenStep(agent, "", UNREAD, clean(answer.text)[:SHOWN_NAME], answer.problem))
        return answer.value

    async def write(
        self,
        prompt: str,
        fields: Mapping[str, object],
        parse: Callable[[str], str],
        grammar: str,
        tokens: int,
        thought: str,
    ) -> str:
        """Ask for the table's text; empty if there is no reply, and `failed` says why.

        thought: the agent's last, by which it ended its search.
        """
        answer = await self._ask(
            prompt, fields, role=self._role, row=self._row, parse=parse, grammar=grammar, max_tokens=tokens
        )
        self.calls.append(answer.call)
        if answer.value is None:
            self.failed = answer.problem or "no reply"
            return ""
        self.steps.append(OpenStep(MAIN, thought, "", "", answer.value))
        return answer.value

    def use(self, agent: str, move: AgentMove) -> AgentNote:
        """Use a tool, and record the step with its result."""
        found = run_tool(self._shelf, move, self.params.evidence)
        if found.article is not None:
            self.articles.append(found.article)
        result = "\n".join(self._truncate(found.lines))
        self.note(agent, move, result)
        return AgentNote(clean(f"{move.tool}: {move.argument}"), quote_data(result))

    def note(self, agent: str, move: AgentMove, result: str) -> None:
        """Record a step; `agent` is `main`, or the task of a sub-agent."""
        self.steps.append(OpenStep(agent, move.thought, move.tool, move.argument, result))

    def _truncate(self, lines: Sequence[str]) -> list[str]:
        """Keep the first lines that fit a result; one that is longer than all is cut."""
        kept: list[str] = []
        left = float(self.params.result_tokens)
        for line in lines:
            size = estimate_tokens(line)
            if size > left:
                self.left_out.append(f"step {len(self.steps) + 1}: a part of its result")
                return kept or [line[: self.params.result_tokens]]
            kept.append(line)
            left -= size
        return kept


@dataclass(frozen=True)
class ShelfResult:
    """What a tool found. article: the title of the one whose text it is; None if it is of none."""

    lines: list[str]
    article: str | None = None


def run_tool(shelf: ArticleShelf, move: AgentMove, evidence: int) -> ShelfResult:
    """Run a tool of the agent; what it cannot do comes back as a line that says why."""
    name, _, words = move.argument.partition(BETWEEN)
    if move.tool == CALCULATE:
        try:
            return ShelfResult([calculate(move.argument)])
        except NoArithmetic as error:
            return ShelfResult([f"Not computed: {error}."])
    if move.tool == WIKI_SEARCH:
        title = shelf.search(move.argument)
        if title is None:
            return ShelfResult(["No article has these words."])
        return ShelfResult([f"Article: {title}", *shelf.read_intro(title)[:1]], title)
    title = shelf.find(name)
    if title is None:
        near = shelf.search(name)
        hint = f" There is {near!r}." if near is not None else ""
        return ShelfResult([f"There is no article {name[:SHOWN_NAME]!r}.{hint}"])
    if move.tool == GET_INTRO:
        return ShelfResult(shelf.read_intro(title) or [f"{title} has no introduction."], title)
    assert move.tool == FIND_EVIDENCE  # noqa: S101 - the agents have no other tool
    found = shelf.find_evidence(title, words or name, evidence)
    return ShelfResult(found or [f"{title} says nothing with these words."], title)
