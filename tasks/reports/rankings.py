"""Rank the systems for the front page: a chart for each dataset, and the most important result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.reports.charts import Scale
from tasks.reports.plurals import agree
from tasks.reports.record import PageRecord, RecordedSystem
from tasks.reports.tables import Cell

CHARTS = 4
"""Maximum number of charts on the front page; a table contains all figures."""
CHARTED = 8
"""Maximum number of systems in a chart; the best systems are shown."""


@dataclass(frozen=True)
class Card:
    """A page's entry on the front page. link: URL relative to the front page. record: path of the record."""

    page: PageRecord
    link: str
    record: str


@dataclass(frozen=True)
class SystemLine:
    """A system's figure. pointer: JSON pointer of the figure in its page's record."""

    card: Card
    system: RecordedSystem
    pointer: str


FindBeaten = Callable[[str, str, Sequence[str]], Mapping[str, bool]]
"""A function that tests whether an entry is significantly better than each of several other entries.

The arguments are the flow, the entry and the other entries. The result maps each other entry to whether the
first entry is significantly better. The result omits entries that cannot be compared with the first entry in
a paired test on the same items.
"""


@dataclass(frozen=True)
class DatasetRanking:
    """The systems of one flow, ranked by the flow's main measure on one dataset, best first."""

    lines: Sequence[SystemLine]

    @property
    def best(self) -> SystemLine:
        """The system with the highest value."""
        return self.lines[0]

    @property
    def is_share(self) -> bool:
        """Whether the measure ranges from 0 to 1 and is displayed as a percentage."""
        return (self.best.system.bottom, self.best.system.top) == (0, 1)

    @property
    def entries(self) -> set[tuple[str, str]]:
        """The pairs (flow, assessment name) of the lines."""
        return {(line.card.page.flow, line.card.page.name) for line in self.lines}

    def draw(self) -> Scale:
        """Return a chart of the values with their intervals."""
        system = self.best.system
        # Details of the items, such as a set or a mode, are only in the table.
        sizes = {
            f"{line.system.n:,} {agree(line.system.of.partition(',')[0], line.system.n)}"
            for line in self.lines
        }
        left_out = len(self.lines) - CHARTED
        notes = [self.best.card.page.flow, *([sizes.pop()] if len(sizes) == 1 else [])]
        if left_out > 0:
            notes.append(f"the best {CHARTED} of {len(self.lines)} systems")
        title = f"{system.measure[:1].upper()}{system.measure[1:]} on {system.dataset}"
        return Scale(
            f"{title} (%)" if self.is_share else title,
            [(line.system.system, _make_cell(line.system)) for line in self.lines[:CHARTED]],
            system.bottom,
            system.top,
            "; ".join(notes),
            "share" if self.is_share else "mean",
        )


@dataclass(frozen=True)
class MainResult:
    """The main result: the best system in a ranking, compared with all other systems.

    `beaten`: systems that the best system significantly outperforms in a paired test after Holm's correction.
    `alike`: systems that do not differ significantly. `untested`: systems without a test.
    """

    ranking: DatasetRanking
    beaten: Sequence[str]
    alike: Sequence[str]
    untested: Sequence[str]

    @property
    def warned(self) -> bool:
        """Whether one of the pages with the compared figures has warnings."""
        return any(line.card.page.warnings for line in self.ranking.lines)


def list_systems(cards: Iterable[Card]) -> list[SystemLine]:
    """Return the figures of all systems, grouped by flow, measure and dataset, best first."""
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


def list_rankings(lines: Iterable[SystemLine]) -> list[DatasetRanking]:
    """Group figures by flow and dataset; groups with the most assessments, then the most systems, come first.

    Only the main measure of each flow (the first measure on the flow's pages) is used.
    """
    groups: dict[tuple[str, str], list[SystemLine]] = {}
    for line in lines:
        main = line.card.page.systems[0]
        if (line.system.measure, line.system.symbol) == (main.measure, main.symbol):
            groups.setdefault((line.card.page.flow, line.system.dataset), []).append(line)
    rankings = [
        DatasetRanking(sorted(group, key=lambda line: (-line.system.value, line.system.system)))
        for group in groups.values()
    ]
    return sorted(rankings, key=lambda ranking: (-len(ranking.entries), -len(ranking.lines)))


def choose_result(
    rankings: Sequence[DatasetRanking], find_beaten: FindBeaten | None = None
) -> MainResult | None:
    """Compare the best system in the first ranking with the other systems; None if there are no rankings.

    `find_beaten`: compares assessments in a paired test; None disables tests. Tests are also disabled if an
    assessment has several systems in the ranking.
    """
    if not rankings:
        return None
    main = rankings[0]
    best, *others = main.lines
    names = {line.card.page.name: line.system.system for line in others}
    found: Mapping[str, bool] = {}
    if find_beaten and others and len(main.entries) == len(main.lines):
        found = find_beaten(best.card.page.flow, best.card.page.name, list(names))
    return MainResult(
        main,
        [names[entry] for entry in names if found.get(entry) is True],
        [names[entry] for entry in names if found.get(entry) is False],
        [line.system.system for line in others if line.card.page.name not in found],
    )


def list_charts(rankings: Iterable[DatasetRanking], most: int = CHARTS) -> list[Scale]:
    """Return a chart for each ranking with several systems, in order, up to `most` charts."""
    return [ranking.draw() for ranking in rankings if len(ranking.lines) > 1][:most]


def _make_cell(system: RecordedSystem) -> Cell:
    """Return the cell for a chart, without the number of items, which is in the chart's note."""
    return Cell(float(system.value), 0, 0, system.interval, "")
