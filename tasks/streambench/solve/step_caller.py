"""Make a method's model calls within a step: build, send and parse prompts, and record the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from tasks.errors import ModelFailed, StageFailed
from tasks.judging.prompt_room import estimate_tokens
from tasks.judging.quoting import split_roles
from tasks.models.ask import Unparsed
from tasks.scoring.label import UnknownLabel
from tasks.scoring.outcome import Outcome
from tasks.streambench.build.items import StreamItem
from tasks.streambench.environment import Environment, Feedback, PromptParts, Style
from tasks.streambench.memory import RetrievedEntry
from tasks.streambench.method import ShownExample, StepReply
from tasks.streambench.solve.agents import PROMPTS, StreamAgents
from tasks.streambench.solve.stream_step import READ_AS

ZERO_SHOT, WITH_EXAMPLES = PROMPTS / "zero_shot.md", PROMPTS / "with_examples.md"
CRITIQUE, REFINE = PROMPTS / "critique.md", PROMPTS / "refine.md"
MARKER = "NO NEED TO REFINE"
"""The text with which a critique states that the answer needs no changes."""
NO_REPLY = "no reply: the endpoint gave none"
NO_VERDICT = "no verdict: the judge's endpoint gave none"
BETWEEN = "\n\n\n"
"""The separator between examples: two blank lines."""
FRAME = 160
"""Maximum number of tokens in the fixed text of a prompt."""
SLACK = 0.9
"""The usable fraction of a context window; below 1, since token counts are estimates."""


@dataclass
class Unanswered:
    """The steps with a call that no endpoint answered. problems: step id -> the last failure.

    counted: whether unanswered steps count as wrong. Otherwise, an unanswered step ends a sequential run,
    because all later steps depend on this step.
    """

    counted: bool
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CallerSetup:
    """The shared settings of a stage's calls. windows: returns an agent's context window in tokens."""

    environment: Environment
    agents: StreamAgents
    windows: Callable[[str], int]
    critique_tokens: int
    unanswered: Unanswered
    other: Environment | None = None
    """The environment with the other parsing rule, for `compare`; None if there is only one rule."""
    examples: dict[tuple[str, str, str | None], str] = field(default_factory=dict)
    """Cache of past steps as text: (key, answer, feedback text) -> text. A step appears in many prompts."""
    verdicts: dict[tuple[str, str], Feedback] = field(default_factory=dict)
    """Feedback, cached by item and answer, since runs often give the same answer."""

    def show_example(self, one: ShownExample) -> str:
        """Convert a past step to text for prompts."""
        known = one.key, one.answer, one.words
        if (text := self.examples.get(known)) is None:
            text = self.examples[known] = self.environment.show_example(*known)
        return text

    async def judge(self, item: StreamItem, answer: str, row: str) -> Feedback:
        """Return the environment's feedback on an answer; cached unless it made calls or is unjudged.

        Each row must record its own judge calls, and an unjudged answer may get a verdict on retry.
        """
        if (feedback := self.verdicts.get((item.id, answer))) is None:
            feedback = await self.environment.feedback(item, answer, row=row)
            if not feedback.calls and feedback.outcome != Outcome.UNJUDGED:
                self.verdicts[item.id, answer] = feedback
        return feedback


@dataclass
class Booked:
    """The calls and notes to record in a step's row."""

    calls: list[str] = field(default_factory=list)
    judge_calls: list[str] = field(default_factory=list)
    shadow_calls: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, float] = field(default_factory=dict)


class StreamCaller:
    """Makes the calls of one step; see `StepCaller`. row: the step's id."""

    def __init__(self, setup: CallerSetup, item: StreamItem, row: str) -> None:
        self._setup, self._item, self._row = setup, item, row
        self._environment = setup.environment
        self.booked = Booked()

    async def answer(
        self, agent: str, *, style: Style = "direct", examples: Sequence[ShownExample] = ()
    ) -> StepReply:
        """Ask for an answer, with as many of the last examples as fit."""
        parts = await self._show(agent, style)
        return parts if isinstance(parts, StepReply) else await self._answer(agent, parts, style, examples)

    async def critique(self, agent: str, answer: str) -> StepReply:
        """Ask the agent for a critique of an answer."""
        parts = await self._show(agent, "refine")
        if isinstance(parts, StepReply):
            return parts
        # A model wrote the answer; a role marker in the answer could begin a new message in the prompt.
        shown = split_roles(answer)[0]
        tokens = self._setup.critique_tokens
        room = measure_room(parts, self._setup.windows(agent), tokens, [shown])
        fields = {**list_fields(parts), "answer": shown, "marker": MARKER}
        reply = await self._ask(agent, CRITIQUE, fields, room, tokens, read_critique)
        return replace(reply, stop=MARKER in reply.text)

    async def refine(self, agent: str, history: Sequence[tuple[str, str]]) -> StepReply:
        """Ask for a better answer with Self-Refine's refinement prompt.

        history: (answer, critique) pairs, the oldest first. The oldest pairs are omitted if the history does
        not fit. If no pair fits, the model is not called.
        """
        parts = await self._show(agent, "refine")
        if isinstance(parts, StepReply):
            return parts
        rounds = [
            f"Answer {number}:\n{split_roles(answer)[0]}\nRemarks {number}:\n{split_roles(remarks)[0]}"
            for number, (answer, remarks) in enumerate(history, 1)
        ]
        tokens = self._environment.max_tokens["refine"]
        room = measure_room(parts, self._setup.windows(agent), tokens)
        cut = count_cut(rounds, room)
        if cut == len(rounds):
            # Without any round, there is no answer to refine; a negative room prevents the call.
            room = -1
        self.booked.left_out += [f"round {number} of the history" for number in range(1, cut + 1)]
        fields = {**list_fields(parts), "history": "\n\n".join(rounds[cut:])}
        reply = await self._ask(agent, REFINE, fields, room, tokens, self._read("refine"))
        return replace(reply, style="refine")

    async def ask(self, agent: str, prompt: Path, fields: Mapping[str, object]) -> StepReply:
        """Ask with a custom prompt file, which may use the fields of `list_fields` and the given `fields`."""
        parts = await self._show(agent, "direct")
        if isinstance(parts, StepReply):
            return parts
        tokens = self._environment.max_tokens["direct"]
        texts = [value for value in fields.values() if isinstance(value, str)]
        room = measure_room(parts, self._setup.windows(agent), tokens, texts)
        given = {**list_fields(parts), **fields}
        return await self._ask(agent, prompt, given, room, tokens, self._read("direct"))

    async def shadow(
        self, agent: str, *, examples: Sequence[ShownExample] = ()
    ) -> tuple[StepReply, Feedback]:
        """Return another agent's answer to the item, with feedback; the step's result does not change."""
        caller = StreamCaller(self._setup, self._item, self._row)
        reply = await caller.answer(agent, examples=examples)
        feedback = await caller.judge(reply)
        self.booked.shadow_calls += caller.booked.calls
        self.booked.judge_calls += caller.booked.judge_calls
        return reply, feedback

    async def judge(self, reply: StepReply) -> Feedback:
        """Return the feedback on a reply; a reply without an answer is wrong, and no judge is called."""
        if reply.answer is None:
            return Feedback(False, Outcome.FAILED, self._environment.say(False), problem=reply.problem)
        try:
            feedback = await self._setup.judge(self._item, reply.answer, self._row)
        except ModelFailed as error:
            self._setup.unanswered.problems[self._row] = f"the judge: {error}"
            return Feedback(False, Outcome.UNJUDGED, self._environment.say(False), problem=NO_VERDICT)
        except UnknownLabel as error:
            raise StageFailed(f"step {self._row}: its answer cannot be evaluated: {error}") from error
        self.booked.judge_calls += feedback.calls
        return feedback

    async def compare(self, reply: StepReply, feedback: Feedback) -> Mapping[str, float | None]:
        """Return the feedback bit under each parsing rule; empty unless the rules parse different answers.

        The keys are `reading.<rule>`. No judge is called. If only a judge can decide, the bit under the other
        parsing rule is None.
        """
        own, other = self._environment, self._setup.other
        if reply.answer is None or other is None:
            return {}
        answer = other.read_answer(self._item, reply.text, reply.style)
        # Answers that differ only in line breaks at the start or end of code count as equal.
        lines = [
            {name: value.strip("\n") if isinstance(value, str) else value for name, value in record.items()}
            for record in (
                own.make_record(self._item, reply.answer, None),
                other.make_record(self._item, answer, None),
            )
        ]
        if lines[0] == lines[1]:
            return {}
        second = await other.feedback(self._item, answer, row=self._row)
        unjudged = second.outcome == Outcome.UNJUDGED
        return {
            f"{READ_AS}{own.setup.reading}": float(feedback.bit),
            f"{READ_AS}{other.setup.reading}": None if unjudged else float(second.bit),
        }

    async def _show(self, agent: str, style: Style) -> PromptParts | StepReply:
        try:
            parts = await self._environment.show(self._item, style, row=self._row)
        except ModelFailed as error:
            return self._note_unanswered(agent, error)
        self.booked.left_out += parts.left_out
        self.booked.notes |= parts.notes
        return parts

    async def _answer(
        self, agent: str, parts: PromptParts, style: Style, examples: Sequence[ShownExample]
    ) -> StepReply:
        texts = [self._setup.show_example(example) for example in examples]
        tokens = self._environment.max_tokens[style]
        room = measure_room(parts, self._setup.windows(agent), tokens)
        cut = count_cut(texts, room)
        shown = examples[cut:]
        self.booked.left_out += [name_source(example.source) for example in examples[:cut]]
        fields, prompt = list_fields(parts), ZERO_SHOT
        if shown:
            judged = any(example.words is not None for example in shown)
            fields |= {"examples": BETWEEN.join(texts[cut:]), "judged": judged}
            prompt = WITH_EXAMPLES
        sources = tuple([example.source for example in shown])
        reply = await self._ask(agent, prompt, fields, room, tokens, self._read(style), sources)
        return replace(reply, style=style)

    async def _ask(
        self,
        agent: str,
        prompt: Path,
        fields: Mapping[str, object],
        room: float,
        max_tokens: int,
        parse: Callable[[str], str],
        shown: tuple[RetrievedEntry, ...] = (),
    ) -> StepReply:
        if room < 0:
            window = self._setup.windows(agent)
            problem = f"not asked: the window of {window:,} tokens has no room for the item and the reply"
            return StepReply(agent, "", None, problem, shown)
        try:
            reply = await self._setup.agents.ask(
                agent,
                prompt,
                fields,
                row=self._row,
                parse=parse,
                max_tokens=max_tokens,
                item=self._item.key,
            )
        except ModelFailed as error:
            return self._note_unanswered(agent, error, shown)
        self.booked.calls += reply.calls
        problem = "" if reply.value is not None else reply.problem or "no answer"
        return StepReply(agent, reply.text, reply.value, problem, shown)

    def _read(self, style: Style) -> Callable[[str], str]:
        return lambda text: self._environment.read_answer(self._item, text, style)

    def _note_unanswered(
        self, agent: str, error: ModelFailed, shown: tuple[RetrievedEntry, ...] = ()
    ) -> StepReply:
        self._setup.unanswered.problems[self._row] = str(error)
        return StepReply(agent, "", None, NO_REPLY, shown)


def read_critique(text: str) -> str:
    """Return a critique without surrounding white space. Raises Unparsed if the critique is empty."""
    if not (critique := text.strip()):
        raise Unparsed("empty: the critique has no text")
    return critique


def count_cut(texts: Sequence[str], room: float) -> int:
    """Return how many texts to omit at the start so that the remaining texts fit. room: number of tokens."""
    cut = len(texts)
    while cut and (room := room - measure(texts[cut - 1]) - 1) >= 0:
        cut -= 1
    return cut


def measure_room(parts: PromptParts, window: int, reply_tokens: int, more: Iterable[str] = ()) -> float:
    """Return how many tokens of a window remain for optional texts, such as examples.

    The parts, the texts in `more`, the fixed text and the reply are subtracted; if these do not fit, the
    result is negative.
    """
    shown = (parts.task, parts.common, parts.context, parts.question, parts.instruction, *more)
    return window * SLACK - reply_tokens - FRAME - sum(map(measure, shown))


def list_fields(parts: PromptParts) -> dict[str, object]:
    """Return the fields that every prompt has: task, common, context, question and instruction."""
    return {
        "task": parts.task,
        "common": parts.common,
        "context": parts.context,
        "question": parts.question,
        "instruction": parts.instruction,
    }


def name_source(source: RetrievedEntry) -> str:
    """Return the `left_out` line of an example: `example of step <t>`, or `shot <item>` if few-shot."""
    return f"example of step {source.position}" if source.position else f"shot {source.item}"


@lru_cache(maxsize=16_384)
def measure(text: str) -> float:
    """Estimate the number of tokens in a text; cached, since the same texts are in many prompts."""
    return estimate_tokens(text)
