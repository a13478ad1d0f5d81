"""What every page has: its place on the front page, its title, the figures and warnings at its head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation


@dataclass(frozen=True)
class Section:
    """A section of the front page. part: the kind of its pages, in one word; order: lowest first."""

    part: str
    title: str
    order: int


DATASETS = Section("dataset", "Datasets", 1)
ASSESSMENTS = Section("assessment", "Assessments", 2)
FRAME_SECTIONS = (DATASETS, ASSESSMENTS)
"""Sections that a record names by their part alone; of any other it holds title and order too."""


@dataclass(frozen=True)
class Headline:
    """A figure at the head of a page: a count, a rate or a word; None where it has no value.

    derivation: the rows that it was computed from, for lineage.
    """

    label: str
    value: int | float | str | None
    note: str = ""
    derivation: Derivation | None = None


@dataclass(frozen=True)
class Page:
    """The head of a page, which its record and the front page show too. Texts are escaped by the templates.

    name: of the flow's entry that it is about. finding: its result in words, where there is one.
    """

    section: Section
    flow: str
    name: str
    title: str
    subtitle: str
    headlines: Sequence[Headline] = ()
    warnings: Sequence[str] = ()
    finding: str = ""
