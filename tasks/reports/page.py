"""Define data types for the head of a page: section, title, figures, warnings and samples."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation


@dataclass(frozen=True)
class Section:
    """A section of the front page.

    part: one word for the kind of pages in the section. order: sections are sorted by this number.
    """

    part: str
    title: str
    order: int


DATASETS = Section("dataset", "Datasets", 1)
ASSESSMENTS = Section("assessment", "Assessments", 2)
FRAME_SECTIONS = (DATASETS, ASSESSMENTS)
"""Sections that a record names only by `part`. For other sections, the record also has title and order."""
ASKING = frozenset(
    [
        *("what", "which", "who", "whom", "whose", "when", "where", "why", "how"),
        *("is", "are", "was", "were", "do", "does", "did", "can", "could", "has", "have"),
    ]
)
"""Words at the start of English questions, to detect questions without a question mark."""
SENTENCE_END = re.compile(r"[.!?]\s+[^a-z\s]")
GLANCE = 140
"""Maximum number of characters of a question that can be read at a glance."""


@dataclass(frozen=True)
class Headline:
    """A figure at the top of a page. value: a count, a rate or a word; None if undefined.

    `derivation`: the figure's source rows, for lineage. `interval`: 95% interval of a rate. `symbol`: the
    paper's symbol, used as the name of the figure's file for DVC.
    """

    label: str
    value: int | float | str | None
    note: str = ""
    derivation: Derivation | None = None
    interval: Sequence[float] | None = None
    symbol: str = ""


@dataclass(frozen=True)
class SystemFigure:
    """One system's result on one measure, for the front page's table of all systems.

    `dataset`: name of the evaluation dataset. `measure`: the measure's display name. `symbol`: the paper's
    symbol. `n`: number of items from which the value is computed. `of`: noun for these items. `failed`:
    number of items without a value. `bottom`, `top`: bounds of the measure's scale.
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
    """A sample question at the top of a page. link: the URL fragment of the question, `question=<id>`."""

    link: str
    text: str
    answer: str


def order_naturally(question: str) -> tuple[bool, bool, bool]:
    """Return a sort key that ranks questions by readability.

    Single sentences come first, because some questions start with a fixed introduction ("I am checking a
    report."). Then complete questions precede lists of keywords, and short questions precede long questions.
    """
    text = question.strip()
    asks = text.endswith("?") or text.split(" ")[0].casefold() in ASKING
    return (SENTENCE_END.search(text) is not None, not asks, len(text) > GLANCE)


def choose_samples(samples: Sequence[SampleQuestion], most: int = 4) -> list[SampleQuestion]:
    """Return at most `most` samples, sorted by `order_naturally`.

    If there are too many samples of equal rank, the chosen samples are evenly spaced.
    """
    ranks = defaultdict[tuple[bool, ...], list[SampleQuestion]](list)
    for sample in samples:
        ranks[order_naturally(sample.text)].append(sample)
    chosen: list[SampleQuestion] = []
    for _, alike in sorted(ranks.items()):
        wanted = most - len(chosen)
        chosen += alike[:: max(1, len(alike) // wanted)][:wanted] if wanted else []
    return chosen


@dataclass(frozen=True)
class Page:
    """The head of a page, also used for its record and the front page. Templates escape all texts.

    `name`: the page's entry in params.yaml. `finding`: the result as a sentence, or empty. `systems`: the
    results of each system, the most important measure first. `counts`: the label of the headline that
    states the dataset's number of questions; empty if no headline states it. The first sentence of a warning
    must state the problem, since the front page shows only this sentence.
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
