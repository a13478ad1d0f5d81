"""Write the front page, a single file that links to all reports.

The page also lists changes to pages, main figures and warnings since the previous state of the site. A
rebuild without such changes is not a new state.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.files import write_text
from tasks.reports.charts import Scale
from tasks.reports.frame import render_alone
from tasks.reports.page import FRAME_SECTIONS, SampleQuestion, Section
from tasks.reports.rankings import (
    Card,
    FindBeaten,
    MainResult,
    SystemLine,
    choose_result,
    list_charts,
    list_rankings,
    list_systems,
)
from tasks.reports.record import RECORD, PageRecord, read_record


@dataclass(frozen=True)
class PageState:
    """A page's data for comparing two states of the site. figures: name -> recorded value."""

    title: str
    figures: Mapping[str, int | float]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SiteState:
    """The state of the site at a point in time. made: the time, as text. pages: link -> the page's state."""

    made: str
    pages: Mapping[str, PageState]


@dataclass(frozen=True)
class Change:
    """A change to a figure, warning or page.

    `link`: the link to the page; empty if the page was removed. `what`: the figure's name, or a description
    of the change. `before`, `after`: the figure's values; None if there is no value.
    """

    title: str
    link: str
    what: str
    before: int | float | None = None
    after: int | float | None = None


@dataclass(frozen=True)
class SiteChanges:
    """The changes since the previous state of the site.

    `since`: the time of the previous state; empty if there is none.
    """

    since: str = ""
    changes: Sequence[Change] = ()


@dataclass(frozen=True)
class SiteHistory:
    """The current state of the site, and the previous state; None if there is no previous state."""

    now: SiteState
    before: SiteState | None = None


def follow_site(path: Path, records: Mapping[str, PageRecord], made: str) -> SiteChanges:
    """Return the changes since the site's previous state, and store both states in the file `path`.

    `records`: link of a page -> record. `made`: the current time, as text. An unreadable file is treated as
    missing.
    """
    now = SiteState(made, {link: _describe(record) for link, record in sorted(records.items())})
    history = _read_history(path)
    if history is None:
        history = SiteHistory(now)
    elif history.now.pages != now.pages:
        history = SiteHistory(now, history.now)
    write_text(path, _HISTORY.dump_json(history, indent=1).decode() + "\n")
    if history.before is None:
        return SiteChanges()
    return SiteChanges(history.before.made, list(_compare(history.before, now)))


def _read_history(path: Path) -> SiteHistory | None:
    try:
        return _HISTORY.validate_python(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None


def _describe(record: PageRecord) -> PageState:
    # A page also shows the systems' measure as a headline, whose change must not be listed twice.
    measures = {system.measure for system in record.systems}
    figures = {figure.label: figure.value for figure in record.figures if figure.label not in measures}
    figures |= {system.label: system.value for system in record.systems}
    return PageState(record.title, figures, record.warnings)


def _compare(before: SiteState, now: SiteState) -> Iterator[Change]:
    for link, page in now.pages.items():
        old = before.pages.get(link)
        if old is None:
            yield Change(page.title, link, "new page")
            continue
        for name, value in page.figures.items():
            if old.figures.get(name) != value:
                yield Change(page.title, link, name, old.figures.get(name), value)
        for name in sorted(old.figures.keys() - page.figures.keys()):
            yield Change(page.title, link, name, old.figures[name], None)
        for warning in page.warnings:
            if warning not in old.warnings:
                yield Change(page.title, link, f"new warning: {warning}")
        for warning in old.warnings:
            if warning not in page.warnings:
                yield Change(page.title, link, f"warning removed: {warning}")
    for link, page in before.pages.items():
        if link not in now.pages:
            yield Change(page.title, "", "page removed")


_HISTORY = TypeAdapter(SiteHistory)


SAMPLES = 8
"""Maximum number of sample questions on the front page."""
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


@dataclass(frozen=True)
class FrontPageSection:
    """A section of the front page with its cards, sorted by flow and title."""

    section: Section
    cards: Sequence[Card]


@dataclass(frozen=True)
class FrontPageSample:
    """A sample question and the card of its page."""

    card: Card
    sample: SampleQuestion


@dataclass(frozen=True)
class SiteLink:
    """A page of the site that is not a report. about: a short description of the page."""

    title: str
    link: str
    about: str


@dataclass(frozen=True)
class FrontPage:
    """The content of the front page.

    `questions`: total number of questions. `datasets`: number of datasets with questions. `result`: the main
    result; None if there are no systems. `systems`: sorted so that results by one measure on one dataset are
    adjacent. `warnings`: first sentence of each warning, with the affected pages.
    """

    questions: int
    datasets: int
    result: MainResult | None
    charts: Sequence[Scale]
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
    find_beaten: FindBeaten | None = None,
) -> None:
    """Write the front page to the file `out`.

    `reports`: the folders of the pages. `history`: a file with earlier states of the site, to list changes.
    `made`: the current time, as text. `links`: other pages to link to. `find_beaten`: tests the best system
    against other systems, for the main result. Raises BadInput if a folder has no record, or if a page cannot
    be assigned to a section.
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
    systems = list_systems(every)
    rankings = list_rankings(systems)
    counts = [card.page.questions for card in every if card.page.questions]
    content = FrontPage(
        sum(counts),
        len(counts),
        choose_result(rankings, find_beaten),
        list_charts(rankings),
        shown,
        choose_front_samples(every),
        systems,
        group_warnings(every),
        changes,
        links,
    )
    write_text(out, render_alone("front.html", content, home=""))


def choose_front_samples(cards: Sequence[Card], most: int = SAMPLES) -> list[FrontPageSample]:
    """Return at most `most` samples: the first sample of each page, then the second, and so on."""
    ranked = [
        (rank, number, FrontPageSample(card, sample))
        for number, card in enumerate(cards)
        for rank, sample in enumerate(card.page.samples)
    ]
    return [sample for _, _, sample in sorted(ranked, key=lambda one: one[:2])[:most]]


def group_warnings(cards: Iterable[Card]) -> list[tuple[str, list[Card]]]:
    """Group the pages' warnings by first sentence; warnings on the most pages come first."""
    pages = defaultdict[str, list[Card]](list)
    for card in cards:
        for short in dict.fromkeys(SENTENCE.split(warning, maxsplit=1)[0] for warning in card.page.warnings):
            pages[short].append(card)
    return sorted(pages.items(), key=lambda item: -len(item[1]))


def _find_section(page: PageRecord, others: Iterable[Section], path: Path) -> Section:
    section = page.section or next((framed for framed in FRAME_SECTIONS if framed.part == page.part), None)
    if section is None:
        known = ", ".join(framed.part for framed in FRAME_SECTIONS)
        raise BadInput(
            path,
            f"cannot be placed on the front page: the part {page.part!r} is not one of {known}, "
            "and the page has no section",
            hint="see docs/reports.md",
        )
    for other in (*FRAME_SECTIONS, *others):
        if other.part == section.part and other != section:
            raise BadInput(
                path,
                f"puts the part {page.part!r} under {section}, but another page puts this part under {other}",
            )
    return section
