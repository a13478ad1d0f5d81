"""Define the base class of environments, which build prompts, parse replies and give feedback.

A new environment is one subclass with the same name as its file in tasks/streambench/environments/, or an
entry point in the group `benchloom.environments`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from tasks.errors import BadInput
from tasks.models.ask import Ask
from tasks.scoring.outcome import Outcome
from tasks.scoring.reply_readings import LENIENT
from tasks.streambench.build.items import StreamItem

Style = Literal["direct", "chain", "refine"]
"""Style in which a prompt asks for an answer: directly, after reasoning (CoT), or as a refinement."""


@dataclass(frozen=True)
class PromptParts:
    """The parts of a prompt that depend on the environment and the item, as plain text.

    Untrusted text is quoted. The order in prompts is: task, common, examples of past steps, context,
    question, instruction.
    """

    task: str
    """The task in one or two sentences; the same for all items of a stream."""
    common: str
    """Text that is the same for all items, such as 49 diagnoses or API descriptions; may be empty."""
    context: str
    """Text that belongs only to this item, such as its schema or its paragraphs; may be empty."""
    question: str
    """The question with its label: `Question: ...`."""
    instruction: str
    """The required format of the reply, which depends on the style."""
    left_out: tuple[str, ...] = ()
    """One line for each text that did not fit into the prompt or was not retrieved."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """Metrics of the prompt, such as `recall` of the retrieved descriptions (0 or 1)."""


@dataclass(frozen=True)
class Feedback:
    """The feedback bit on an answer (StreamBench, section 3.1), its text for prompts, and report data."""

    bit: bool
    outcome: Outcome
    """The metric's outcome; if the metric has no outcomes, CORRECT or WRONG.

    Without a verdict, the outcome is UNJUDGED and the feedback bit is False.
    """
    words: str
    """The feedback bit as text for prompts of GrowPrompt and MemPrompt; only the bit determines the text."""
    values: Mapping[str, float | None] = field(default_factory=dict)
    """The item's scores by name; the same as in `benchloom score --items`."""
    problem: str = ""
    """Why there is no verdict, or why the judge's reply could not be parsed; otherwise empty."""
    calls: tuple[str, ...] = ()
    """Ledger keys of the judge's calls."""

    def __post_init__(self) -> None:
        """Convert a text outcome to an `Outcome`, because user-defined environments may return text.

        Raises UnknownLabel if the text is not an outcome.
        """
        object.__setattr__(self, "outcome", Outcome.read(self.outcome))


@dataclass(frozen=True)
class EnvironmentSetup:
    """The arguments of an environment.

    Rows never contain the paths in these arguments, because the paths depend on the machine.
    """

    files: Path
    """The folder data/raw/streambench, which `item.file` is relative to."""
    items: Sequence[StreamItem]
    """All items of the stream, used to derive the shared parts of prompts."""
    rule: str
    options: Mapping[str, object]
    """The options of the stream in params.yaml; `__init__` raises BadInput for an unknown option."""
    ask: Ask
    judge: str
    """The judge's role; empty if judge calls are not allowed."""
    embedder: str
    reading: str = LENIENT
    """The rule for parsing replies: one of the environment's `readings`."""


class Environment(ABC):
    """Builds prompts, parses replies and gives feedback; all runs of a stage share one instance.

    Answers do not change the state of an environment. `feedback` may therefore run for many items at once,
    and returns the same result for the same arguments. The class is an asynchronous context manager: worker
    processes and sandboxes end on exit. Blocking work (SQL, programs) runs in separate threads or processes
    and never blocks the event loop. Sandboxes are opened on first use.
    """

    name: ClassVar[str]
    """The environment's name, such as `sql`; the same as the `kind` of its items."""
    metric: ClassVar[str]
    """The metric of `benchloom score` whose verdict determines the feedback bit."""
    primary: ClassVar[str]
    """The metric's score to show in tables: `accuracy` or `em`."""
    max_tokens: ClassVar[Mapping[Style, int]]
    """Style -> maximum number of tokens in a reply.

    The maximum is 512 for SQL, code and the style `chain`, 256 for ToolBench, and 64 for DDXPlus and
    HotpotQA.
    """
    words: ClassVar[Mapping[bool, str]]
    """The feedback bit -> its text in prompts."""
    readings: ClassVar[tuple[str, ...]] = (LENIENT,)
    """The supported values of `reading`, with the default first."""

    def __init__(self, setup: EnvironmentSetup) -> None:
        """Store the setup. Raises BadInput if the environment does not support the setup's parsing rule."""
        if setup.reading not in self.readings:
            problem = f"{self.name} does not read replies as {setup.reading!r}"
            hint = f"known: {', '.join(self.readings)}"
            raise BadInput("streambench.streams: reading", problem, hint=hint)
        self.setup = setup

    async def __aenter__(self) -> Environment:
        """Open the resources for feedback."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop all worker processes."""
        return

    @abstractmethod
    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Return the parts of a prompt for an item.

        row: the step's id. Raises the same errors as `Ask.embed` if texts are embedded.
        """

    @abstractmethod
    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Convert a past step to text for prompts: the input, the answer, and the feedback if given.

        - key: a `memory_key`.
        - words: the feedback; None for an example with a correct answer (Self-StreamICL, few-shot).

        The text neither starts nor ends with a blank line, and never has two consecutive blank lines, because
        two blank lines separate examples in the prompt.
        """

    @abstractmethod
    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Extract the answer from a reply, for scoring, memory and reports.

        Raises Unparsed only for an empty reply; a malformed answer counts as wrong.
        """

    @abstractmethod
    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Score an answer returned by `read_answer`, and return the feedback. row: the step's id.

        Raises no error if a gold answer does not run, if a program cannot be tested, or if the judge's reply
        has no verdict. The outcome is then `unjudged`, and `problem` states why. An environment with a judge
        raises the errors of `Ask`: BudgetSpent, CallMissing, and ModelFailed if the judge's endpoint gives no
        reply. Raises BadInput if the machine lacks a requirement such as a sandbox.
        """

    def say(self, bit: bool) -> str:
        """Return the text for a feedback bit, without a model call; also used for failed steps."""
        return self.words[bit]

    @abstractmethod
    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Return the record for `benchloom score <metric>`. answer: None if the step failed."""
