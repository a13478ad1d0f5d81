"""Stage: the page of a stream: its items, its order, its examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.contracts import ContractResults, open_contracts
from tasks.reports.folder import BrowsedRows, write_page
from tasks.reports.frame import open_templates
from tasks.reports.page import DATASETS, Headline, Page, SampleQuestion, choose_samples, count_of
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.publish.kind_tables import read_kind
from tasks.streambench.publish.stream_cautions import FEW

PAGES = Path(__file__).parents[1] / "pages"
ASSETS = ("streambench.css", "stream.js")
SUBTITLE = "Items in the order in which agents meet them, one after the other, with feedback after each."


@dataclass(frozen=True)
class StreamPart:
    """The items of one dataset: how many, of how many kinds, and how many examples there are."""

    dataset: str
    items: int
    kinds: int
    shots: int


@dataclass(frozen=True)
class StreamSetContent:
    """What the page shows below its head. dropped: reason -> rows; orders: seed -> the first items' keys."""

    parts: Sequence[StreamPart]
    shots: Sequence[StreamShot]
    orders: Mapping[int, Sequence[str]]
    dropped: Mapping[str, Sequence[Dropped]]
    contracts: ContractResults


@dataclass(frozen=True)
class ShownStreamItem:
    """An item as pages/stream.js lists it. places: (seed, position)."""

    id: str
    key: str
    dataset: str
    kind: str
    text: str
    memory_key: str
    context: str
    gold: str
    details: str
    file: str
    places: list[tuple[int, int]]


def stream_page(
    items: list[StreamItem],
    items_dropped: list[Dropped],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    contracts: Path,
    key: str,
    out: Path,
    metrics: Path,
) -> Counts:
    """Write the page into the folder `out`. contracts: the folder of their findings."""
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for place in sorted(sequence, key=lambda place: (place.seed, place.position)):
        places[place.item].append((place.seed, place.position))
    ordered = sorted(items, key=lambda item: (places[item.id][:1], item.id))
    shown = sorted(shots, key=lambda shot: shot.place)
    write_page(
        out,
        Page(
            DATASETS,
            "streambench",
            key,
            f"A stream of items: {key}",
            SUBTITLE,
            list_headlines(items, sequence, shots),
            list_stream_warnings(items, shots, items_dropped),
            samples=choose_samples(
                [SampleQuestion(f"item={item.id}", item.text, item.gold) for item in ordered]
            ),
        ),
        open_templates("tasks.streambench").get_template("stream.html"),
        StreamSetContent(
            count_parts(items, shots),
            shown,
            list_orders(items, sequence),
            group_dropped(items_dropped),
            open_contracts(contracts, ["items", "sequence", "shots"], out),
        ),
        assets=[PAGES / asset for asset in ASSETS],
        rows=BrowsedRows(
            "rows",
            [show_item(item, places[item.id]) for item in ordered],
            contracts.with_name("items.parquet"),
        ),
        calls={},
        metrics=metrics,
    )
    return Counts(len(items), len(items), {})


def list_headlines(
    items: Sequence[StreamItem], sequence: Sequence[SequencePlace], shots: Sequence[StreamShot]
) -> list[Headline]:
    """Make the figures at the page's head, each with the rows that it comes from."""
    seeds = sorted({place.seed for place in sequence})
    datasets = sorted({item.dataset for item in items})
    return [
        Headline("items", len(items), ", ".join(datasets), Derivation("count", (Selection("items"),))),
        Headline(
            "datasets", len(datasets), "of one kind", Derivation("distinct", (Selection("items"),), "dataset")
        ),
        Headline(
            "orders",
            len(seeds),
            f"seeds {', '.join(map(str, seeds))}",
            Derivation("distinct", (Selection("sequence"),), "seed"),
        ),
        Headline("examples", len(shots), "for few-shot", Derivation("count", (Selection("shots"),))),
    ]


def list_stream_warnings(
    items: Sequence[StreamItem], shots: Iterable[StreamShot], dropped: Sequence[Dropped]
) -> list[str]:
    """Warn of few items, of items that were dropped, and of examples that are items, too."""
    warnings = []
    if len(items) < FEW:
        warnings.append(f"{len(items)} items are few: a difference between two methods may be chance.")
    if dropped:
        reasons = ", ".join(f"{len(rows)} {reason}" for reason, rows in group_dropped(dropped).items())
        warnings.append(f"{count_of(len(dropped), 'item')} could not be used ({reasons.replace('_', ' ')}).")
    asked = {(item.dataset, item.text) for item in items}
    same = sum((shot.dataset, shot.text) in asked for shot in shots)
    if same:
        what = f"{count_of(same, 'example')} in the words of an item"
        warnings.append(f"{what}: few-shot prompts may hold its answer.")
    return warnings


def count_parts(items: Iterable[StreamItem], shots: Iterable[StreamShot]) -> list[StreamPart]:
    """Count items, kinds of them and examples by dataset, sorted."""
    groups: defaultdict[str, list[StreamItem]] = defaultdict(list)
    for item in items:
        groups[item.dataset].append(item)
    examples = Counter(shot.dataset for shot in shots)
    return [
        StreamPart(dataset, len(own), len({read_kind(item) for item in own}), examples[dataset])
        for dataset, own in sorted(groups.items())
    ]


def list_orders(
    items: Iterable[StreamItem], sequence: Iterable[SequencePlace], first: int = 10
) -> dict[int, list[str]]:
    """List the keys of the first items of each order."""
    keys = {item.id: item.key for item in items}
    orders: defaultdict[int, list[str]] = defaultdict(list)
    for place in sorted(sequence, key=lambda place: (place.seed, place.position)):
        if len(orders[place.seed]) < first:
            orders[place.seed].append(keys.get(place.item, place.item))
    return dict(orders)


def group_dropped(dropped: Iterable[Dropped]) -> dict[str, list[Dropped]]:
    """Group dropped items by reason, sorted."""
    reasons: defaultdict[str, list[Dropped]] = defaultdict(list)
    for row in dropped:
        reasons[row.reason].append(row)
    return dict(sorted(reasons.items()))


def show_item(item: StreamItem, places: list[tuple[int, int]]) -> ShownStreamItem:
    """Show one item."""
    return ShownStreamItem(
        item.id,
        item.key,
        item.dataset,
        read_kind(item),
        item.text,
        item.memory_key,
        item.context,
        item.gold,
        item.details,
        item.file,
        places,
    )
