"""Write the front page, which links all reports; a single file, since the folders belong to other stages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.files import write_text
from tasks.reports.frame import render_alone
from tasks.reports.page import FRAME_SECTIONS, Section
from tasks.reports.record import RECORD, PageRecord, read_record


@dataclass(frozen=True)
class Card:
    """A page's entry on the front page. link: relative to the front page."""

    page: PageRecord
    link: str


@dataclass(frozen=True)
class FrontPageSection:
    """A section of the front page with its cards, sorted by flow and title."""

    section: Section
    cards: Sequence[Card]


@dataclass(frozen=True)
class FrontPage:
    """The content of the front page."""

    sections: Sequence[FrontPageSection]


def write_index(reports: Sequence[Path], out: Path) -> None:
    """Write the front page to the file `out`. reports: folders of pages; their records name the sections.

    Raises BadInput if a folder has no record, or its page cannot be placed in a section.
    """
    cards: dict[Section, list[Card]] = {}
    for folder in reports:
        page = read_record(folder / RECORD)
        link = Path(os.path.relpath(folder / "index.html", out.parent)).as_posix()
        section = _find_section(page, cards, folder / RECORD)
        cards.setdefault(section, []).append(Card(page, link))
    shown = [
        FrontPageSection(section, sorted(own, key=lambda card: (card.page.flow, card.page.title, card.link)))
        for section, own in sorted(cards.items(), key=lambda item: (item[0].order, item[0].title))
    ]
    write_text(out, render_alone("front.html", FrontPage(shown)))


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
