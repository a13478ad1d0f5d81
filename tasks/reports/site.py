"""Write the front page, which links all reports; a single file, since the folders belong to other stages."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.files import write_text
from tasks.reports.changes import SiteChanges, follow_site
from tasks.reports.frame import render_alone
from tasks.reports.page import FRAME_SECTIONS, SampleQuestion, Section
from tasks.reports.record import RECORD, PageRecord, RecordedSystem, read_record

SAMPLES = 8
"""Maximum number of sample rows on the front page."""


@dataclass(frozen=True)
class Card:
    """A page's entry on the front page. link: relative to the front page. record: as lineage names it."""

    page: PageRecord
    link: str
    record: str


@dataclass(frozen=True)
class FrontPageSection:
    """A section of the front page with its cards, sorted by flow and title."""

    section: Section
    cards: Sequence[Card]


@dataclass(frozen=True)
class FrontPageSample:
    """A sample and the page that it is of."""

    card: Card
    sample: SampleQuestion


@dataclass(frozen=True)
class SystemLine:
    """A system's figure. pointer: of it in its page's record."""

    card: Card
    system: RecordedSystem
    pointer: str


@dataclass(frozen=True)
class SiteLink:
    """A page of the site that is no report. about: what it shows, in a few words."""

    title: str
    link: str
    about: str


@dataclass(frozen=True)
class FrontPage:
    """The content of the front page.

    systems: of one measure and dataset side by side. warnings: each once, with the pages that it stands on.
    """

    sections: Sequence[FrontPageSection]
    samples: Sequence[FrontPageSample]
    systems: Sequence[SystemLine]
    warnings: Sequence[tuple[str, Sequence[Card]]]
    changes: SiteChanges | None
    links: Sequence[SiteLink]


def write_index(
    reports: Sequence[Path],
    out: Path,
    *,
    history: Path | None = None,
    made: str = "",
    links: Sequence[SiteLink] = (),
) -> None:
    """Write the front page to the file `out`. reports: folders of pages; their records name the sections.

    history: where the site's state is kept, so that the page can say what changed; made: the time now, in
    words. links: further pages. Raises BadInput if a folder has no record, or its page cannot be placed in a
    section.
    """
    cards: dict[Section, list[Card]] = {}
    for folder in reports:
        page = read_record(folder / RECORD)
        link = Path(os.path.relpath(folder / "index.html", out.parent)).as_posix()
        section = _find_section(page, cards, folder / RECORD)
        record = Path("data/reports", os.path.relpath(folder / RECORD, out.parent)).as_posix()
        cards.setdefault(section, []).append(Card(page, link, record))
    shown = [
        FrontPageSection(section, sorted(own, key=lambda card: (card.page.flow, card.page.title, card.link)))
        for section, own in sorted(cards.items(), key=lambda item: (item[0].order, item[0].title))
    ]
    every = [card for section in shown for card in section.cards]
    changes = follow_site(history, {card.link: card.page for card in every}, made) if history else None
    content = FrontPage(
        shown, choose_front_samples(every), list_systems(every), group_warnings(every), changes, links
    )
    write_text(out, render_alone("front.html", content, home=""))


def choose_front_samples(cards: Sequence[Card], most: int = SAMPLES) -> list[FrontPageSample]:
    """Choose samples for the front page: the first of every page, then the second, and so on."""
    ranked = [
        (rank, number, FrontPageSample(card, sample))
        for number, card in enumerate(cards)
        for rank, sample in enumerate(card.page.samples)
    ]
    return [sample for _, _, sample in sorted(ranked, key=lambda one: one[:2])[:most]]


def list_systems(cards: Iterable[Card]) -> list[SystemLine]:
    """List all systems' figures: those of one measure and dataset stand together, best first."""
    lines = [
        SystemLine(card, system, f"/systems/{place}")
        for card in cards
        for place, system in enumerate(card.page.systems)
    ]
    order: dict[tuple[str, str], int] = {}
    for place, line in enumerate(lines):
        order.setdefault((line.card.page.flow, line.system.measure), place)
    return sorted(
        lines,
        key=lambda line: (
            line.card.page.flow,
            order[line.card.page.flow, line.system.measure],
            line.system.dataset,
            -line.system.value,
            line.system.system,
        ),
    )


def group_warnings(cards: Iterable[Card]) -> list[tuple[str, list[Card]]]:
    """Group the pages' warnings by their words; those of most pages first."""
    pages = defaultdict[str, list[Card]](list)
    for card in cards:
        for warning in card.page.warnings:
            pages[warning].append(card)
    return sorted(pages.items(), key=lambda item: -len(item[1]))


def _find_section(page: PageRecord, others: Iterable[Section], path: Path) -> Section:
    section = page.section or next((own for own in FRAME_SECTIONS if own.part == page.part), None)
    if section is None:
        known = ", ".join(own.part for own in FRAME_SECTIONS)
        raise BadInput(
            path,
            f"cannot be placed on the front page: its part {page.part!r} is none of {known}, "
            "and it names no section",
            hint="docs/reports.md",
        )
    for other in (*FRAME_SECTIONS, *others):
        if other.part == section.part and other != section:
            raise BadInput(path, f"places its part {page.part!r} in {section}, and another page in {other}")
    return section
