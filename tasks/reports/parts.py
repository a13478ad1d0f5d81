"""Define data types for the parts of a page below the head; pages/page.html renders the parts."""

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
    """A paragraph. style: `dim` for a remark, or empty. tag: (text, tone) of a box before the paragraph."""

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
    """Tables by key. The key is part of the page's URL (`#table-KEY`) and of the page's record.

    `folded`: whether each table is in a collapsible box with number and title. `closed`: keys of initially
    collapsed boxes. `pointers`: key -> JSON pointers of the cells by line and column, for figures that are
    stored elsewhere in the record. `narrows`: for tables that are not in the record, key -> link targets by
    line and column. A target is a set of viewer filters, `name=value&...`; an empty string makes no link.
    """

    tables: Mapping[str, FigureTable]
    folded: bool = True
    closed: Sequence[str] = ()
    pointers: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    narrows: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    kind: ClassVar[str] = "tables"


@dataclass(frozen=True)
class Charts:
    """Charts in a row."""

    charts: Sequence[Chart]

    kind: ClassVar[str] = "charts"


@dataclass(frozen=True)
class FormLink:
    """A link to a CSV form in the page's folder, with instructions."""

    file: str
    text: str
    note: str

    kind: ClassVar[str] = "form"


@dataclass(frozen=True)
class Folded:
    """Blocks in a collapsible box."""

    summary: str
    blocks: Sequence[PartBlock]
    is_open: bool = False

    kind: ClassVar[str] = "folded"


@dataclass(frozen=True)
class Facts:
    """A list of names with texts; names without a text are omitted."""

    facts: Sequence[tuple[str, str]]

    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Yields:
    """A table with the numbers of kept and dropped rows of each stage.

    `through`: whether each stage's rows are a subset of the previous stage's rows. `most`: maximum number of
    dropped rows to list per reason.
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
    """A paper-specific block: `data`, rendered with the paper's template."""

    template: str
    data: object

    kind: ClassVar[str] = "component"


PartBlock = (
    TextBlock | Head | TableBlock | Charts | FormLink | Folded | Facts | Yields | ContractList | Component
)


@dataclass(frozen=True)
class PagePart:
    """A part of a page; parts without blocks are omitted.

    `anchor`: the part's fragment in the page's URL. `link`: the part's name in the navigation. `symbol`: the
    paper's symbol for the content.
    """

    anchor: str
    title: str
    link: str
    blocks: Sequence[PartBlock]
    symbol: str = ""

    kind: ClassVar[str] = "part"


@dataclass(frozen=True)
class Browse:
    """The item viewer as a part of a page. link: the viewer's name in the navigation."""

    link: str
    viewer: Viewer

    kind: ClassVar[str] = "browse"


Parts = Sequence[PagePart | Browse]


def find_viewer(parts: Parts) -> Viewer:
    """Return the page's viewer. Raises ValueError unless the page has exactly one viewer."""
    (viewer,) = [part.viewer for part in parts if isinstance(part, Browse)]
    return viewer


def collect_tables(parts: Parts) -> dict[str, FigureTable]:
    """Return the tables of all parts by key, except those whose figures are elsewhere in the record."""
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
    """Return the part with the results of a dataset's contracts; without blocks if there are none."""
    held, findings = contracts.count("held"), len(contracts.findings)
    said = (
        f"{held:,} of {findings:,} contracts hold. The contracts were checked with the Great Expectations "
        "library."
    )
    return PagePart(
        "contracts", "Contracts", "Contracts", [TextBlock(said), ContractList(contracts)] if findings else []
    )


def make_about_part(facts: Sequence[tuple[str, str]]) -> PagePart:
    """Return the part with facts about the page's content."""
    return PagePart("about", "About", "About", [Facts(facts)])
