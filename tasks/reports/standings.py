"""How systems stand on the front page: a chart for each dataset, and the one result that matters most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.reports.charts import Scale
from tasks.reports.record import PageRecord, RecordedSystem
from tasks.reports.tables import Cell

CHARTS = 4
"""Maximum number of charts on the front page; its table has all figures."""
CHARTED = 8
"""Maximum number of systems in a chart: the best ones."""


@dataclass(frozen=True)
class Card:
    """A page's entry on the front page. link: relative to the front page. record: as lineage names it."""

    page: PageRecord
    link: str
    record: str


@dataclass(frozen=True)
class SystemLine:
    """A system's figure. pointer: of it in its page's record."""

    card: Card
    system: RecordedSystem
    pointer: str


FindBeaten = Callable[[str, str, Sequence[str]], Mapping[str, bool]]
"""(flow, entry, other entries) -> other entry -> whether `entry` is shown to be better than that one.

Whatever cannot be tested in pairs over the same items is left out.
"""


@dataclass(frozen=True)
class DatasetStanding:
    """The systems of one flow by its main measure on one dataset, best first."""

    lines: Sequence[SystemLine]

    @property
    def best(self) -> SystemLine:
        """The line with the highest value."""
        return self.lines[0]

    @property
    def is_share(self) -> bool:
        """Whether the measure runs from 0 to 1, and is shown in percent."""
        return (self.best.system.bottom, self.best.system.top) == (0, 1)

    @property
    def entries(self) -> set[tuple[str, str]]:
        """The flows and names of the assessments that the lines are of."""
        return {(line.card.page.flow, line.card.page.name) for line in self.lines}

    def draw(self) -> Scale:
        """Draw the values with their intervals."""
        system = self.best.system
        # What else a figure is over, such as a set or a mode, stands in the table.
        sizes = {f"{line.system.n:,} {line.system.of.partition(',')[0]}" for line in self.lines}
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
    """The one result of the headline: the best system of a standing, and which others it is compared with.

    beaten: systems that the best one is shown to be better than, by a test in pairs after Holm's correction;
    alike: those that it is not shown to differ from; untested: those that nothing was tested of.
    """

    standing: DatasetStanding
    beaten: Sequence[str]
    alike: Sequence[str]
    untested: Sequence[str]

    @property
    def warned(self) -> bool:
        """Whether a page that the result is from has warnings."""
        return any(line.card.page.warnings for line in self.standing.lines)


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


def list_standings(lines: Iterable[SystemLine]) -> list[DatasetStanding]:
    """Group figures by flow and dataset, those of most assessments first, then those of most systems.

    Of each flow only the main measure is taken, which is the first that its pages name.
    """
    groups: dict[tuple[str, str], list[SystemLine]] = {}
    for line in lines:
        main = line.card.page.systems[0]
        if (line.system.measure, line.system.symbol) == (main.measure, main.symbol):
            groups.setdefault((line.card.page.flow, line.system.dataset), []).append(line)
    standings = [
        DatasetStanding(sorted(group, key=lambda line: (-line.system.value, line.system.system)))
        for group in groups.values()
    ]
    return sorted(standings, key=lambda standing: (-len(standing.entries), -len(standing.lines)))


def choose_result(
    standings: Sequence[DatasetStanding], find_beaten: FindBeaten | None = None
) -> MainResult | None:
    """Test the best system of the first standing against its others; None without standings.

    find_beaten: tests two assessments in pairs; nothing is tested without it, nor within one assessment.
    """
    if not standings:
        return None
    main = standings[0]
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


def list_charts(standings: Iterable[DatasetStanding], most: int = CHARTS) -> list[Scale]:
    """Draw the standings of several systems, in their order."""
    return [standing.draw() for standing in standings if len(standing.lines) > 1][:most]


def _make_cell(system: RecordedSystem) -> Cell:
    """Make the cell of a chart; the chart's note says what all are over."""
    return Cell(float(system.value), 0, 0, system.interval, "")
