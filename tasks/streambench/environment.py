"""The interface of environments: what a prompt shows of an item, what a reply answers, and the feedback.

A new environment is one subclass, named like its file in tasks/streambench/environments/, or an entry point
of the group `benchloom.environments`.
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
"""How an answer is asked for: at once; after reasoning (CoT); as a refinement (Self-Refine)."""


@dataclass(frozen=True)
class PromptParts:
    """The parts of a prompt that depend on the environment and the item; plain text, quoted where untrusted.

    Prompts show them in this order: task, common, the examples of past steps, context, question, instruction.
    """

    task: str
    """What is to be done, one or two sentences; the same for all items of a stream."""
    common: str
    """What all items share: the 49 diagnoses, the API descriptions. Empty where there is nothing."""
    context: str
    """What this item alone has: its schema, its paragraphs. Empty where there is nothing."""
    question: str
    """With its label: `Question: ...`."""
    instruction: str
    """What to reply, in which form, by the style that was asked for."""
    left_out: tuple[str, ...] = ()
    """What had no room or was not retrieved, a line each."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """Figures of the prompt, such as `recall` of the retrieved descriptions (0 or 1)."""


@dataclass(frozen=True)
class Feedback:
    """The feedback on an answer (section 3.1): one bit; the rest is only for reports."""

    bit: bool
    outcome: Outcome
    """The metric's, or WRONG, CORRECT; UNJUDGED if there is no verdict: the bit is False."""
    words: str
    """The bit in words, as prompts of GrowPrompt and MemPrompt have it; depends on the bit alone."""
    values: Mapping[str, float | None] = field(default_factory=dict)
    """The item's figures under the metric's names; equal to `benchloom score --items`."""
    problem: str = ""
    """Why there is no verdict, or how the judge's reply was unreadable; empty else."""
    calls: tuple[str, ...] = ()
    """Ledger keys of the judge's calls."""

    def __post_init__(self) -> None:
        """Read the outcome, which an environment of a user's may give as a word. Raises UnknownLabel."""
        object.__setattr__(self, "outcome", Outcome.read(self.outcome))


@dataclass(frozen=True)
class EnvironmentSetup:
    """The arguments of an environment. Its paths belong to the machine and enter no row."""

    files: Path
    """data/raw/streambench; `item.file` is relative to it."""
    items: Sequence[StreamItem]
    """All items of the stream, for what they share."""
    rule: str
    options: Mapping[str, object]
    """`streambench.streams.<stream>.options`. Raises BadInput in `__init__` for one that is not known."""
    ask: Ask
    judge: str
    """The judge's role; empty where the judge must not be asked."""
    embedder: str
    reading: str = LENIENT
    """How replies are read: a name of the environment's `readings`."""


class Environment(ABC):
    """The environment of one run of the stage `steps`, shared by all its streams.

    It has no state that an answer could change, so `feedback` may be awaited for many items at once, and
    gives the same for the same arguments. It is used as an asynchronous context manager: worker processes and
    sandboxes open on entry and end on exit. Blocking work (SQL, programs) runs in threads or processes of its
    own and never holds the loop; sandboxes are opened when they are first needed.
    """

    name: ClassVar[str]
    """`sql`; the `kind` of its items."""
    metric: ClassVar[str]
    """The metric of `benchloom score` whose verdict the bit is."""
    primary: ClassVar[str]
    """The figure of it that tables show: `accuracy`, `em`."""
    max_tokens: ClassVar[Mapping[Style, int]]
    """Of a reply: 512 for SQL, code and every chain, 256 ToolBench, 64 DDXPlus and HotpotQA."""
    words: ClassVar[Mapping[bool, str]]
    """A bit -> the bit in words."""
    readings: ClassVar[tuple[str, ...]] = (LENIENT,)
    """The ways to read replies, the default first."""

    def __init__(self, setup: EnvironmentSetup) -> None:
        """Keep the setup. Raises BadInput for a reading that the environment does not have."""
        if setup.reading not in self.readings:
            problem = f"{self.name} does not read replies as {setup.reading!r}"
            hint = f"there are {', '.join(self.readings)}"
            raise BadInput("streambench.streams: reading", problem, hint=hint)
        self.setup = setup

    async def __aenter__(self) -> Environment:
        """Open what feedback needs."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """End every process that was opened."""
        return

    @abstractmethod
    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Give the parts of a prompt. May embed (row: the step's id), so it raises as `Ask.embed` does."""

    @abstractmethod
    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Write a past step as prompts have it: the input, the answer, and the feedback if `words` is given.

        key: a `memory_key`. No blank line at either end and never two of them inside: the prompt joins them
        by two blank lines. words None: a right answer, shown as an example (Self-StreamICL, few-shot).
        """

    @abstractmethod
    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Post-process a reply to the answer that is scored, stored and shown.

        Raises Unparsed only where there is no answer at all (an empty reply); what is malformed is an answer,
        and wrong.
        """

    @abstractmethod
    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Judge a post-processed answer. row: the step's id.

        A gold answer that does not run, a program that cannot be shown, a judge that fails: `unjudged` with
        the problem, never an exception. Raises BudgetSpent and CallMissing as `Ask` does, BadInput where the
        machine lacks what it needs (a sandbox).
        """

    def say(self, bit: bool) -> str:
        """Say a bit in words; also used for steps that failed, without asking anybody."""
        return self.words[bit]

    @abstractmethod
    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Make the line that `benchloom score <metric>` reads for this answer (None: failed)."""
