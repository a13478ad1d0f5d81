"""What changed on the site since it was last another one: pages, their main figures and their warnings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.files import write_text
from tasks.reports.record import PageRecord


@dataclass(frozen=True)
class PageState:
    """A page as far as changes are told: figures by name, as they were counted."""

    title: str
    figures: Mapping[str, int | float]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SiteState:
    """The site at a time. made: the time, in words. pages: by their links."""

    made: str
    pages: Mapping[str, PageState]


@dataclass(frozen=True)
class Change:
    """One change. link: of the page, empty if it is gone. before, after: None for what is no figure."""

    title: str
    link: str
    what: str
    before: int | float | None = None
    after: int | float | None = None


@dataclass(frozen=True)
class SiteChanges:
    """The changes since the site was last another one. since: empty if there was none before."""

    since: str = ""
    changes: Sequence[Change] = ()


@dataclass(frozen=True)
class SiteHistory:
    """The last two states of the site that differ."""

    now: SiteState
    before: SiteState | None = None


def follow_site(path: Path, records: Mapping[str, PageRecord], made: str) -> SiteChanges:
    """Compare the site with what it was, and keep its state in the file `path`.

    records: by the pages' links. made: the time now, in words. A file that cannot be read counts as none.
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
    figures = {figure.label: figure.value for figure in record.figures}
    figures |= {system.label: system.value for system in record.systems}
    return PageState(record.title, figures, record.warnings)


def _compare(before: SiteState, now: SiteState) -> Iterator[Change]:
    for link, page in now.pages.items():
        old = before.pages.get(link)
        if old is None:
            yield Change(page.title, link, "is new")
            continue
        for name, value in page.figures.items():
            if old.figures.get(name) != value:
                yield Change(page.title, link, name, old.figures.get(name), value)
        for name in sorted(old.figures.keys() - page.figures.keys()):
            yield Change(page.title, link, name, old.figures[name], None)
        for warning in page.warnings:
            if warning not in old.warnings:
                yield Change(page.title, link, f"warns: {warning}")
        for warning in old.warnings:
            if warning not in page.warnings:
                yield Change(page.title, link, f"warns no more: {warning}")
    for link, page in before.pages.items():
        if link not in now.pages:
            yield Change(page.title, "", "is gone")


_HISTORY = TypeAdapter(SiteHistory)
