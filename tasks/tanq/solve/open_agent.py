"""Run the open agent: a main agent that gives sub-tasks to sub-agents with search tools (TANQ, section 4)."""

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
    SUB_TASK,
    WIKI_SEARCH,
    AgentMove,
    make_found_grammar,
    make_main_grammar,
    make_sub_grammar,
    offer_found,
    offer_main,
    offer_sub,
    parse_found,
    parse_main_move,
    parse_sub_move,
)
from tasks.tanq.solve.prediction import MAIN, UNREAD, OpenStep
from tasks.tanq.solve.reading import measure_table_room, parse_reply
from tasks.tanq.solve.table_options import OpenLimits
from tasks.tanq.solve.table_text import make_table_grammar

SHOWN_NAME = 80
"""Maximum number of displayed characters of an unknown article's name or an unparsed reply."""


@dataclass(frozen=True)
class AgentNote:
    """The result of a step, as shown in the agent's next prompt."""

    head: str
    result: str


class OpenSession:
    """The state of the agent's work on an item. articles: titles of the articles that were read."""

    def __init__(
        self, row: str, role: str, question: str, shelf: ArticleShelf, params: OpenLimits, ask: Ask
    ) -> None:
        """Start a session. row: the id of the prediction. role: the role of the agent's model."""
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
        """Ask the model for the next step, and return it.

        Returns None if no reply could be parsed; the failure is recorded as a step.
        """
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
        """Ask the model for the table, and return its text.

        If there is no reply, the text is empty, and `failed` contains the reason. thought: the agent's last
        thought in the search.
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
        """Run a tool, and record the step with its result."""
        found = run_tool(self._shelf, move, self.params.evidence)
        if found.article is not None:
            self.articles.append(found.article)
        result = "\n".join(self._truncate(found.lines))
        self.note(agent, move, result)
        return AgentNote(clean(f"{move.tool}: {move.argument}"), quote_data(result))

    def note(self, agent: str, move: AgentMove, result: str) -> None:
        """Record a step. agent: `main`, or the task of a sub-agent."""
        self.steps.append(OpenStep(agent, move.thought, move.tool, move.argument, result))

    def _truncate(self, lines: Sequence[str]) -> list[str]:
        """Return the first lines that fit into `result_tokens` tokens.

        If the first line does not fit, only its first `result_tokens` characters are returned.
        """
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
    """The result of a tool. article: the title of the source article, or None."""

    lines: list[str]
    article: str | None = None


def run_tool(shelf: ArticleShelf, move: AgentMove, evidence: int) -> ShelfResult:
    """Run one of the agent's tools. If the tool fails, the result is a line with the reason."""
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


async def search_table(session: OpenSession, window: int, table_tokens: int) -> str:
    """Run sub-tasks and calculations for a question in sequence, and return a reply with the table.

    A reply that cannot be parsed counts as a step. window: the context window of the model in tokens. The
    result is empty if there is no reply.
    """
    params = session.params
    notes: list[AgentNote] = []
    evidence: list[AgentNote] = []
    thought = ""
    for number in range(params.steps):
        room = measure_table_room(session.question, window, params.step_tokens)
        move = await session.move(
            MAIN,
            "open_main",
            {
                "question": session.question,
                "notes": fit_notes(session, notes, room),
                "left": params.steps - number,
            },
            parse=parse_main_move,
            grammar=make_main_grammar(params, noted=bool(notes)),
            tools=offer_main(noted=bool(notes)),
            max_tokens=params.step_tokens,
        )
        if move is None:
            continue
        if not move.tool:
            thought = move.thought
            break
        if move.tool != SUB_TASK:
            notes.append(session.use(MAIN, move))
            continue
        found = await work_on_task(session, move.argument, window, evidence)
        session.note(MAIN, move, found)
        notes.append(AgentNote(clean(f"{SUB_TASK}: {move.argument}"), quote_data(found)))
    room = measure_table_room(session.question, window, table_tokens)
    return await session.write(
        "open_table",
        # The findings come first, followed by the supporting tool results as far as these fit.
        {"question": session.question, "notes": fit_notes(session, [*notes, *evidence], room)},
        parse_reply,
        make_table_grammar(),
        table_tokens,
        thought,
    )


async def work_on_task(session: OpenSession, task: str, window: int, evidence: list[AgentNote]) -> str:
    """Run a sub-agent on a task, and return its findings. Tool results are added to `evidence`."""
    params = session.params
    notes: list[AgentNote] = []
    for number in range(params.sub_steps):
        last, noted = number == params.sub_steps - 1, bool(notes)
        tokens = params.found_tokens if last else params.step_tokens + params.found_tokens * noted
        room = measure_table_room(task, window, tokens)
        fields = {"task": clean(task), "notes": fit_notes(session, notes, room), "last": last}
        move = await session.move(
            task,
            "open_sub",
            fields,
            parse=parse_found if last else parse_sub_move,
            grammar=make_found_grammar(params) if last else make_sub_grammar(params, noted=noted),
            tools=offer_found() if last else offer_sub(noted=noted),
            max_tokens=tokens,
        )
        if move is None:
            continue
        if not move.tool:
            session.note(task, AgentMove(move.thought, "", ""), move.argument)
            return move.argument
        notes.append(session.use(task, move))
        evidence.append(notes[-1])
    return "Nothing was found."


def fit_notes(session: OpenSession, notes: Sequence[AgentNote], room: float) -> list[AgentNote]:
    """Return the notes that fit into `room` tokens, without duplicates and in order.

    Notes that do not fit are listed in the session's `left_out`.
    """
    kept: list[AgentNote] = []
    for note in dict.fromkeys(notes):
        size = estimate_tokens(note.head) + estimate_tokens(note.result)
        if size <= room:
            kept.append(note)
            room -= size
        else:
            session.left_out.append(f"result of {note.head}")
    return kept
