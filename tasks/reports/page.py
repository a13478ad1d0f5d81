"""The parts that all pages share: section on the front page, title, figures, warnings and samples."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation


@dataclass(frozen=True)
class Section:
    """A section of the front page. part: the kind of its pages, in one word. order: lowest first."""

    part: str
    title: str
    order: int


DATASETS = Section("dataset", "Datasets", 1)
ASSESSMENTS = Section("assessment", "Assessments", 2)
FRAME_SECTIONS = (DATASETS, ASSESSMENTS)
"""Sections that a record names only by their part; for any other it also has title and order."""
ASKING = frozenset(
    [
        *("what", "which", "who", "whom", "whose", "when", "where", "why", "how"),
        *("is", "are", "was", "were", "do", "does", "did", "can", "could", "has", "have"),
    ]
)
"""First words of a question in English that ends without a question mark."""
SENTENCE_END = re.compile(r"[.!?]\s+[^a-z\s]")
GLANCE = 140
"""Characters of a question that is read at a glance."""


@dataclass(frozen=True)
class Headline:
    """A figure at the head of a page. value: a count, a rate or a word; None if undefined.

    derivation: the rows that it was computed from, for lineage. interval: 95%, of a rate. symbol: the
    paper's, by which DVC names the figure.
    """

    label: str
    value: int | float | str | None
    note: str = ""
    derivation: Derivation | None = None
    interval: Sequence[float] | None = None
    symbol: str = ""


@dataclass(frozen=True)
class SystemFigure:
    """How one system did by one measure, for the front page's table of all systems.

    dataset: what it was asked. measure: in words; symbol: the paper's. n, of: how many the value is over, and
    of what; failed: how many more have no value. bottom, top: the ends of the measure's scale.
    """

    system: str
    dataset: str
    measure: str
    symbol: str
    value: int | float
    interval: Sequence[float] | None
    n: int
    of: str
    failed: int
    derivation: Derivation | None
    bottom: float = 0
    top: float = 1


@dataclass(frozen=True)
class SampleQuestion:
    """A row that is shown at the head of its page. link: its place in the page's address, `question=<id>`."""

    link: str
    text: str
    answer: str


def order_naturally(question: str) -> tuple[bool, bool, bool]:
    """Return a sort key: first the questions that a reader understands at a glance.

    A canned opener ("I am checking a report.") is a sentence of its own before the question, so questions of
    one sentence come before others, whatever the dataset. Then whole questions come before keywords, and
    short ones before long ones.
    """
    text = question.strip()
    asks = text.endswith("?") or text.split(" ")[0].casefold() in ASKING
    return (SENTENCE_END.search(text) is not None, not asks, len(text) > GLANCE)


def choose_samples(samples: Sequence[SampleQuestion], most: int = 4) -> list[SampleQuestion]:
    """Choose samples that read naturally (`order_naturally`), spread evenly over those of one rank."""
    ranks = defaultdict[tuple[bool, ...], list[SampleQuestion]](list)
    for sample in samples:
        ranks[order_naturally(sample.text)].append(sample)
    chosen: list[SampleQuestion] = []
    for _, alike in sorted(ranks.items()):
        wanted = most - len(chosen)
        chosen += alike[:: max(1, len(alike) // wanted)][:wanted] if wanted else []
    return chosen


def count_of(n: int, noun: str) -> str:
    """Count things in words: `1 item`, `2 items`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Page:
    """The head of a page; its record and the front page show it too. Texts are escaped by the templates.

    name: the flow's entry that the page is about. finding: its result in words, empty if there is none.
    systems: how each system did, by the main measures, the most important one first. counts: the label of the
    headline that counts a dataset's questions; empty for a page about another thing. A warning's first
    sentence says what is wrong: the front page shows it alone.
    """

    section: Section
    flow: str
    name: str
    title: str
    subtitle: str
    headlines: Sequence[Headline] = ()
    warnings: Sequence[str] = ()
    finding: str = ""
    systems: Sequence[SystemFigure] = ()
    samples: Sequence[SampleQuestion] = ()
    counts: str = ""
