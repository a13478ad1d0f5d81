"""Classify a column from counts of its cells: numbers, dates in one format, names, or a mixture.

The kind depends on the cells, not only on the declared type. A string such as `N/A` in a column of numbers or
dates counts as an empty cell. Other cells that do not fit also count as empty, up to a maximum share of all
cells. Above that share, the column is compared as text, and no query ranks, bounds or averages it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import Field

from tasks.databases.columns import Column
from tasks.databases.profile.readings import CLOCK, DAY, MOMENT, NUMBER, is_format, split_clock
from tasks.settings import Settings

TYPES = ("text", "integer", "real", "date", "boolean", "other")
"""The generic types, which an override may name instead of a date format. `other` excludes the column from
questions."""
SHOWN = 40
"""Maximum number of characters of a cell that a profile stores."""


class ColumnRules(Settings):
    """`grammar.columns` in params.yaml: the thresholds of the column profile."""

    misfits: float = Field(default=0.05, ge=0, lt=1)
    """Maximum share of values that do not fit the column's kind. These values count as empty."""
    no_value: tuple[str, ...] = ("", "n/a", "na", "none", "null", "nil", "nan", "-", "--", "?", "unknown")
    """Lower-case strings that represent an empty value in columns of numbers and dates."""
    category: int = Field(default=50, ge=1)
    """Maximum number of distinct values of a category."""
    long_text: int = Field(default=120, ge=1)
    """Mean length in characters above which a column counts as free text."""
    sample: int = Field(default=200, ge=1)
    """Number of distinct strings per column that are used to propose date formats; the formats are tested on
    all cells."""
    look_alikes: int = Field(default=200_000, ge=0)
    """Maximum number of distinct values in a text column; above this limit, the search for look-alikes is
    skipped."""
    examples: int = Field(default=3, ge=0)
    """Maximum number of example cells that the page shows per column. The same maximum applies to the cells
    that do not fit the column's kind."""


@dataclass(frozen=True)
class CellCounts:
    """Counts of a column's cells by kind. `fits`: reading -> number of cells that fit."""

    rows: int
    nulls: int = 0
    no_value: int = 0
    """Number of cells without a value: strings such as `n/a` and, on PostgreSQL, non-finite numbers."""
    integers: int = 0
    reals: int = 0
    texts: int = 0
    """Number of strings that are not counted in `no_value`. On SQLite, non-finite numbers are included."""
    infinite: int = 0
    """Number of infinite numbers on SQLite, which has no literal for infinity."""
    blobs: int = 0
    no_dates: int = 0
    """Number of dates in the years 0, 1 and 9999, which are placeholders for a missing date."""
    outside: int = 0
    """Number of infinite dates, dates before the year 1, and times of 24:00."""
    distinct: int | None = None
    length: float = 0.0
    """Mean length of the strings in characters."""
    lengths: int = 0
    """Number of distinct lengths of the strings."""
    plain_days: int = 0
    """Number of ISO dates without a time."""
    with_t: int = 0
    """Number of strings with a T. In ISO format, a T may separate the date from the time."""
    fits: Mapping[str, int] = field(default_factory=dict)
    shape: str = ""
    """The common format of the sampled strings: uuid, json, geometry, time, boolean or digits.

    Empty if the strings have no common format.
    """
    least: str = ""
    greatest: str = ""
    look_alikes: int = 0
    undecodable: int = 0
    examples: tuple[str, ...] = ()
    unreadable: str = ""
    """Why the cells could not be read; empty if they could be read."""

    @property
    def filled(self) -> int:
        """Return the number of cells that are not NULL."""
        return self.rows - self.nulls


@dataclass(frozen=True)
class ColumnKind:
    """The kind of a column; `ColumnProfile` describes the fields."""

    kind: str
    type: str
    reading: str = ""
    form: str = ""
    misfits: int = 0
    asked: bool = True
    why: str = ""


@dataclass(frozen=True)
class ColumnProfile:
    """The profile of one column, with the column's id. Prompts must not contain the example cells."""

    id: str
    table: str
    column: str
    declared: str
    """The generic type in the catalogue."""
    kind: str
    """The kind as text for readers: numbers, dates, names and so on."""
    type: str
    """The generic type according to the cells."""
    reading: str
    """The conversion of cells in queries (readings.py); empty if queries use the cells unchanged."""
    form: str
    """The format of the values; see `Column.form`."""
    asked: bool
    """Whether the cells are suitable for questions."""
    why: str
    """The reason for the kind and the reading, or why some questions are excluded; may be empty."""
    rows: int
    nulls: int
    no_value: int
    """Number of cells such as `n/a` that count as NULL; 0 if queries use the cells unchanged."""
    misfits: int
    """Number of cells that do not fit the kind."""
    distinct: int | None
    look_alikes: int
    """Number of values that differ from another value only in case, spaces, punctuation or Unicode normal
    form."""
    undecodable: int
    """Number of distinct strings that are not valid UTF-8. No question or answer contains these strings."""
    least: str
    greatest: str
    examples: tuple[str, ...]
    odd: tuple[str, ...]
    """Some of the cells that do not fit the kind."""


def apply_profiles(columns: Sequence[Column], profiles: Sequence[ColumnProfile]) -> list[Column]:
    """Replace the types and readings of columns by those of their profiles; others do not change."""
    known = {profile.id: profile for profile in profiles}
    return [
        column
        if (found := known.get(column.id)) is None
        else replace(
            column,
            type=found.type,
            reading=found.reading,
            form=found.form,
            descriptive=column.descriptive and found.asked,
        )
        for column in columns
    ]


def decide_kind(declared: str, counts: CellCounts, rules: ColumnRules, override: str = "") -> ColumnKind:
    """Return the kind of a column.

    `override`: a type or date format from params.yaml; if set, the thresholds do not apply.
    """
    decided = _decide(declared, counts, rules, override)
    if counts.infinite and decided.reading != NUMBER:
        why = f"{counts.infinite:,} of {counts.filled:,} cells are infinite: no question can say them"
        return ColumnKind("numbers", "other", misfits=counts.infinite, asked=False, why=why)
    return decided


def _decide(declared: str, counts: CellCounts, rules: ColumnRules, override: str) -> ColumnKind:
    if counts.unreadable:
        return ColumnKind("unreadable", "other", asked=False, why=counts.unreadable)
    if override:
        return _override(counts, override)
    if counts.filled - counts.no_value <= 0:
        return ColumnKind("empty", declared, asked=False, why="no cell has a value")
    if counts.blobs:
        asked = 2 * counts.blobs <= counts.filled
        why = f"{counts.blobs:,} of {counts.filled:,} cells are bytes"
        return ColumnKind("bytes", "text" if asked else "other", asked=asked, why=why)
    if counts.outside:
        why = (
            f"{counts.outside:,} of {counts.filled:,} dates or times are infinite, before the year 1, "
            "or 24:00: not ranked, not bounded"
        )
        return ColumnKind("dates", "text", misfits=counts.outside, why=why)
    if declared in ("integer", "real"):
        return _decide_numbers(declared, counts, rules)
    if declared in ("other", "date") and counts.infinite == counts.texts > 0:
        return _decide_numbers("integer", counts, rules)
    if declared == "date":
        return _decide_dates(counts, rules)
    if declared == "boolean":
        texts = counts.texts > 0
        return ColumnKind("yes or no", "text" if texts else "boolean")
    if declared == "other" and not counts.texts and counts.integers + counts.reals == counts.filled > 0:
        return ColumnKind("numbers", "real" if counts.reals else "integer")
    if declared == "other" and not counts.texts:
        return ColumnKind("other", "other", asked=False, why="not numbers, dates or names")
    return _decide_texts(declared, counts, rules)


def _override(counts: CellCounts, override: str) -> ColumnKind:
    said = f"set to {override} in params.yaml"
    values = counts.filled - counts.no_value
    if is_format(override):
        misfits = values - counts.fits.get(override, 0)
        timed = override.endswith(CLOCK)
        kind, form = ("dates with times", "moment") if timed else ("dates", "")
        return ColumnKind(kind, "date", override, form, misfits, True, said)
    if override in ("integer", "real"):
        misfits = counts.texts + counts.blobs
        reading = NUMBER if misfits or counts.no_value else ""
        return ColumnKind("numbers", override, reading, "", misfits, True, said)
    if override == "date":
        best = max(counts.fits.get(DAY, 0), counts.fits.get(MOMENT, 0))
        misfits = values - counts.no_dates - best
        return ColumnKind("dates", "date", *_read_iso(counts), misfits, True, said)
    return ColumnKind(override, override, asked=override != "other", why=said)


def _decide_numbers(declared: str, counts: CellCounts, rules: ColumnRules) -> ColumnKind:
    values, numbers = counts.filled - counts.no_value, counts.filled - counts.no_value - counts.texts
    reading = NUMBER if counts.texts or counts.no_value else ""
    if counts.texts <= rules.misfits * values:
        why = _say_misfits(counts.texts, counts.no_value, "number")
        kind = "real" if counts.reals else declared
        return ColumnKind("numbers", kind, reading, "", counts.texts, True, why)
    if not numbers:
        return _decide_texts("other", counts, rules)
    why = f"{counts.texts:,} of {values:,} values are not numbers: not ranked, bounded or averaged"
    return ColumnKind("numbers and texts", "text", misfits=counts.texts, why=why)


def _decide_dates(counts: CellCounts, rules: ColumnRules) -> ColumnKind:
    if found := _find_dates(counts, rules):
        return found
    values, numbers = counts.filled - counts.no_value, counts.integers + counts.reals
    if counts.shape == "time":
        return ColumnKind("times of day", "date")
    if numbers == values:
        why = "the dates are stored as numbers, and are compared as numbers"
        return ColumnKind("numbers", "real" if counts.reals else "integer", NUMBER, why=why)
    best = max(counts.fits.values(), default=0)
    why = f"only {best:,} of {values:,} values are dates in one format: not ranked, not bounded"
    return ColumnKind("dates and texts", "text", misfits=values - best, why=why)


def _find_dates(counts: CellCounts, rules: ColumnRules) -> ColumnKind | None:
    """Return the kind of a column with dates; None if too many cells do not fit the most common format."""
    none = counts.no_value + counts.no_dates
    values = counts.filled - none
    fits = {reading: count for reading, count in counts.fits.items() if reading != NUMBER}
    best = max(fits.values(), default=0)
    if not best or values - best > rules.misfits * values:
        return None
    if best in (fits.get(DAY), fits.get(MOMENT)):
        reading, form = _read_iso(counts)
    else:
        # For each date format, keep its first reading: without a time, or with midnight.
        days: dict[str, str] = {}
        for reading in (reading for reading, count in fits.items() if count == best):
            days.setdefault(split_clock(reading)[0], reading)
        several = list(days.values())
        if len(several) > 1:
            why = f"dates by {' and by '.join(sorted(several))} alike: not ranked, not bounded"
            return ColumnKind("dates, day or month first", "text", why=why)
        reading = several[0]
        form = "moment" if reading.endswith(CLOCK) else ""
    misfits = values - best
    why = _say_misfits(misfits, none, "date")
    if is_format(reading):
        why = f"read as {reading}" + (f"; {why}" if why else "")
    return ColumnKind("dates with times" if form else "dates", "date", reading, form, misfits, True, why)


def _read_iso(counts: CellCounts) -> tuple[str, str]:
    """Return the reading and the form (see `Column.form`) of a column with ISO dates.

    The reading is "" if queries can use the cells unchanged.
    """
    days, moments = counts.fits.get(DAY, 0), counts.fits.get(MOMENT, 0)
    if days >= moments:
        return ("" if counts.plain_days == days == counts.filled else DAY), ""
    plain = moments == counts.filled and counts.lengths == 1 and not counts.with_t
    return ("" if plain else MOMENT), "moment"


def _decide_texts(declared: str, counts: CellCounts, rules: ColumnRules) -> ColumnKind:
    if found := _find_dates(counts, rules):
        return found
    if counts.integers + counts.reals and declared == "other":
        why = f"{counts.texts:,} of {counts.filled:,} values are not numbers: not ranked, bounded or averaged"
        return ColumnKind("numbers and texts", "text", misfits=counts.texts, why=why)
    if counts.shape in ("uuid", "json", "geometry"):
        kind = {"uuid": "identifiers", "json": "JSON", "geometry": "geometry"}[counts.shape]
        return ColumnKind(kind, "text", asked=False, why=f"{kind}: not what people ask about")
    if counts.shape:
        kind = {"time": "times of day", "boolean": "yes or no", "digits": "digits"}[counts.shape]
        return ColumnKind(kind, "text", why="digits stay as they are" if kind == "digits" else "")
    if counts.length > rules.long_text:
        return ColumnKind("free text", "text")
    few = counts.distinct is not None and counts.distinct <= rules.category
    repeated = counts.distinct is not None and 2 * counts.distinct <= counts.filled
    return ColumnKind("categories" if few and repeated else "names", "text")


def _say_misfits(misfits: int, no_value: int, what: str) -> str:
    parts = []
    if no_value:
        parts.append(
            "1 cell that stands for none" if no_value == 1 else f"{no_value:,} cells that stand for none"
        )
    if misfits:
        parts.append(
            f"1 cell that is not a {what}" if misfits == 1 else f"{misfits:,} cells that are not {what}s"
        )
    verb = "counts" if no_value + misfits == 1 else "count"
    return f"{' and '.join(parts)} {verb} as no value" if parts else ""
