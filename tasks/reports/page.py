"""The parts that all pages share: section on the front page, title, headline figures and warnings."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Headline:
    """A figure at the head of a page. value: a count, a rate or a word; None if undefined.

    derivation: the rows that it was computed from, for lineage.
    """

    label: str
    value: int | float | str | None
    note: str = ""
    derivation: Derivation | None = None


@dataclass(frozen=True)
class Page:
    """The head of a page; its record and the front page show it too. Texts are escaped by the templates.

    name: the flow's entry that the page is about. finding: its result in words, empty if there is none.
    """

    section: Section
    flow: str
    name: str
    title: str
    subtitle: str
    headlines: Sequence[Headline] = ()
    warnings: Sequence[str] = ()
    finding: str = ""
