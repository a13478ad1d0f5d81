"""Write and read a page's record (report.json), which the front page and lineage use.

The record contains the page's metadata, figures and tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.lineage.figures import encode_figure
from tasks.reports.embed import encode_dataclass
from tasks.reports.page import FRAME_SECTIONS, Headline, Page, SampleQuestion, Section, SystemFigure

RECORD = "report.json"
"""The name of the record's file in a page's folder."""
DIGITS = 10
"""Significant digits of floats in the record: headlines, systems' values and interval bounds.

The front page rounds to fewer digits.
"""


@dataclass(frozen=True)
class RecordedHeadline:
    """A headline read from a record."""

    label: str
    value: int | float
    note: str


@dataclass(frozen=True)
class RecordedSystem:
    """A system's result read from a record; see `SystemFigure`.

    `low`, `high`: the bounds of the interval; None if there is no interval.
    """

    label: str
    system: str
    dataset: str
    measure: str
    symbol: str
    value: int | float
    low: float | None
    high: float | None
    n: int
    of: str
    failed: int
    bottom: float
    top: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """The pair (low, high), or None if there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class PageRecord:
    """The metadata of a page, its headlines, systems and samples, read from the page's record.

    `section`: None if a section in `FRAME_SECTIONS` has this `part`. `counts`: the label of the headline that
    states the dataset's number of questions; empty if no headline states it.
    """

    part: str
    flow: str
    name: str
    title: str
    subtitle: str
    finding: str
    warnings: tuple[str, ...]
    figures: tuple[RecordedHeadline, ...]
    systems: tuple[RecordedSystem, ...]
    samples: tuple[SampleQuestion, ...]
    section: Section | None = None
    counts: str = ""

    @property
    def questions(self) -> int | None:
        """The number of questions in the dataset; None if unknown."""
        values = (figure.value for figure in self.figures if self.counts and figure.label == self.counts)
        return next((int(value) for value in values if value is not None), None)


def write_record(path: Path, page: Page, figures: Mapping[str, object]) -> None:
    """Write a page's record: its metadata, numeric headlines, systems and samples, and other `figures`.

    `figures`: key -> value; values are JSON types and dataclasses. Raises ValueError for NaN and infinities.
    """
    numbers = [
        (headline, headline.value) for headline in page.headlines if isinstance(headline.value, int | float)
    ]
    record = {
        "part": page.section.part,
        **({} if page.section in FRAME_SECTIONS else {"section": page.section}),
        "flow": page.flow,
        "name": page.name,
        "title": page.title,
        "subtitle": page.subtitle,
        "finding": page.finding,
        "warnings": list(page.warnings),
        "figures": [_encode_headline(headline, value) for headline, value in numbers],
        **figures,
        "systems": [_encode_system(system) for system in page.systems],
        "samples": list(page.samples),
        "counts": page.counts,
    }
    text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False, default=encode_dataclass)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def read_record(path: Path) -> PageRecord:
    """Read a page's record.

    Raises BadInput if the file is missing, is not valid JSON, or lacks a required field of `PageRecord`.
    """
    hint = "run the report's stage"
    try:
        return _RECORD.validate_python(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "all of it"
        raise BadInput(
            path, f"is a report record in an older format ({key}: {first['msg']})", hint=hint
        ) from error
    except (OSError, ValueError) as error:
        raise BadInput(path, "is not a report record", hint=hint) from error


def _encode_headline(headline: Headline, value: int | float) -> dict[str, object]:
    value = _round(value)
    if headline.derivation is None:
        return {"label": headline.label, "value": value, "note": headline.note}
    return {"label": headline.label, "note": headline.note, **encode_figure(value, headline.derivation)}


def _encode_system(system: SystemFigure) -> dict[str, object]:
    low, high = system.interval or (None, None)
    return {
        "label": f"{system.system} on {system.dataset}: {system.measure}",
        "system": system.system,
        "dataset": system.dataset,
        "measure": system.measure,
        "symbol": system.symbol,
        **encode_figure(_round(system.value), system.derivation),
        "low": None if low is None else _round(low),
        "high": None if high is None else _round(high),
        "n": system.n,
        "of": system.of,
        "failed": system.failed,
        "bottom": system.bottom,
        "top": system.top,
    }


def _round(value: int | float) -> int | float:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


_RECORD = TypeAdapter(PageRecord)
