"""The parts of a page between its head and its foot, declared; pages/page.html draws them in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tasks.reports.charts import Chart
from tasks.reports.contracts import ContractResults
from tasks.reports.tables import FigureTable
from tasks.reports.viewer import Viewer
from tasks.reports.yields import StageYield


@dataclass(frozen=True)
class TextBlock:
    """A paragraph. style: `dim` for a remark, else empty. tag: (text, tone) of a box before it."""

    text: str
    style: str = "dim"
    tag: tuple[str, str] = ("", "")

    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Head:
    """A heading within a part."""

    text: str

    kind: ClassVar[str] = "head"


@dataclass(frozen=True)
class TableBlock:
    """Tables by key. The key is the table's place in the address (`#table-KEY`) and in the page's record.

    folded: whether each stands in a box that can be closed, with its number and title; closed: keys of boxes
    that are closed at first. pointers: key -> JSON pointer of each cell by line and column, for figures that
    the record has elsewhere. narrows: key -> filters of the viewer that each cell leads to, by line and
    column, as `name=value&...`, empty for no link; for tables that are not in the record.
    """

    tables: Mapping[str, FigureTable]
    folded: bool = True
    closed: Sequence[str] = ()
    pointers: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    narrows: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    kind: ClassVar[str] = "tables"


@dataclass(frozen=True)
class Charts:
    """Charts side by side."""

    charts: Sequence[Chart]

    kind: ClassVar[str] = "charts"


@dataclass(frozen=True)
class FormLink:
    """A link to a CSV form beside the page, and what to do with it."""

    file: str
    text: str
    note: str

    kind: ClassVar[str] = "form"


@dataclass(frozen=True)
class Folded:
    """Blocks in a box that can be closed."""

    summary: str
    blocks: Sequence[PartBlock]
    is_open: bool = False

    kind: ClassVar[str] = "folded"


@dataclass(frozen=True)
class Facts:
    """Names with texts; an empty text is left out."""

    facts: Sequence[tuple[str, str]]

    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Yields:
    """What came through each stage.

    through: a stage's rows are some of the last one's. most: dropped rows that are listed for one reason.
    """

    stages: Sequence[StageYield]
    through: bool = True
    most: int = 1000

    kind: ClassVar[str] = "yields"


@dataclass(frozen=True)
class ContractList:
    """The findings of a validation stage, by artifact."""

    contracts: ContractResults

    kind: ClassVar[str] = "contracts"


@dataclass(frozen=True)
class Component:
    """What only one paper has: a template of its own that is given `data`."""

    template: str
    data: object

    kind: ClassVar[str] = "component"


PartBlock = (
    TextBlock | Head | TableBlock | Charts | FormLink | Folded | Facts | Yields | ContractList | Component
)


@dataclass(frozen=True)
class PagePart:
    """A part of a page; one without blocks is left out.

    anchor: in the address. link: its name in the page's navigation. symbol: the paper's name for what it
    shows.
    """

    anchor: str
    title: str
    link: str
    blocks: Sequence[PartBlock]
    symbol: str = ""

    kind: ClassVar[str] = "part"


@dataclass(frozen=True)
class Browse:
    """The item viewer, as a part of the page. link: its name in the navigation."""

    link: str
    viewer: Viewer

    kind: ClassVar[str] = "browse"


Parts = Sequence[PagePart | Browse]


def find_viewer(parts: Parts) -> Viewer:
    """Find the page's viewer. Raises ValueError if there is none, or several."""
    (viewer,) = [part.viewer for part in parts if isinstance(part, Browse)]
    return viewer


def collect_tables(parts: Parts) -> dict[str, FigureTable]:
    """Collect the tables of all parts by key, in order, without those whose figures stand elsewhere."""
    found: dict[str, FigureTable] = {}
    for part in parts:
        if isinstance(part, PagePart):
            _collect(part.blocks, found)
    return found


def _collect(blocks: Sequence[PartBlock], found: dict[str, FigureTable]) -> None:
    for block in blocks:
        if isinstance(block, TableBlock):
            found |= {key: table for key, table in block.tables.items() if key not in block.pointers}
        elif isinstance(block, Folded):
            _collect(block.blocks, found)


def make_contracts_part(contracts: ContractResults) -> PagePart:
    """Make the part of a dataset's contracts."""
    held, findings = contracts.count("held"), len(contracts.findings)
    said = f"{held:,} of {findings:,} contracts hold. Great Expectations checked them."
    return PagePart(
        "contracts", "Contracts", "Contracts", [TextBlock(said), ContractList(contracts)] if findings else []
    )


def make_about_part(facts: Sequence[tuple[str, str]]) -> PagePart:
    """Make the part that says what the page is about."""
    return PagePart("about", "About", "About", [Facts(facts)])
