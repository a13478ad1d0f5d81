"""Stage: write a stream's page, with items, orders and examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.contracts import open_contracts
from tasks.reports.page import DATASETS, Headline, Page, SampleQuestion, choose_samples
from tasks.reports.parts import (
    Browse,
    Facts,
    Folded,
    Head,
    PagePart,
    PartBlock,
    TableBlock,
    TextBlock,
    make_contracts_part,
)
from tasks.reports.plurals import count_of
from tasks.reports.report_page import write_page
from tasks.reports.tables import FigureTable, Line, count_cell
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.released_order import TITLES
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import Stream
from tasks.streambench.publish.stream_cautions import FEW
from tasks.streambench.tables import read_kind
from tasks.streambench.view import view_items

SUBTITLE = (
    "A stream lists items in the order in which methods answer them. Methods get feedback after each item."
)
MOST_DROPPED, SHORT = 1_000, 120
"""Maximum number of dropped items to list per reason; maximum characters of an example's summary."""


def stream_page(
    items: list[StreamItem],
    items_dropped: list[Dropped],
    sequence: list[SequencePlace],
    shots: list[StreamShot],
    contracts: Path,
    entry: Stream,
    key: str,
    out: Path,
    metrics: Path,
) -> Counts:
    """Write the page into the folder `out`. contracts: the folder with the contracts' findings."""
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
            counts="items",
        ),
        [
            PagePart(
                "parts",
                "Datasets",
                "Datasets",
                [
                    TableBlock({"datasets": count_datasets(items, shots)}, folded=False),
                    *fold_dropped(items_dropped),
                ],
            ),
            PagePart(
                "orders",
                "Orders",
                "Orders",
                [
                    TextBlock(
                        "Each seed orders the same items differently. The list below shows the keys of the "
                        "first items in each order. The artifact `sequence` contains each order in full."
                    ),
                    Facts(
                        [
                            ("order", TITLES[entry.order]),
                            ("rule for parsing replies", entry.reading),
                        ]
                        + [
                            (f"seed {seed}", ", ".join(keys))
                            for seed, keys in list_orders(items, sequence).items()
                        ]
                    ),
                ],
            ),
            PagePart(
                "shots",
                "Examples",
                "Examples",
                [
                    TextBlock(
                        "Few-shot prompts contain these examples in this order. The last example is "
                        "directly before the question."
                    ),
                    *(fold_shot(shot) for shot in shown),
                    *([] if shown else [TextBlock("None.")]),
                ],
            ),
            make_contracts_part(open_contracts(contracts, ["items", "sequence", "shots"], out)),
            Browse("Items", view_items(ordered, places, contracts.with_name("items.parquet"))),
        ],
        calls={},
        metrics=metrics,
        tables={},
    )
    return Counts(len(items), len(items), {})


def list_headlines(
    items: Sequence[StreamItem], sequence: Sequence[SequencePlace], shots: Sequence[StreamShot]
) -> list[Headline]:
    """Return the headline figures of the page, each with its source rows."""
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
        Headline("examples", len(shots), "for few-shot prompts", Derivation("count", (Selection("shots"),))),
    ]


def list_stream_warnings(
    items: Sequence[StreamItem], shots: Iterable[StreamShot], dropped: Sequence[Dropped]
) -> list[str]:
    """Return warnings about few items, dropped items, and examples that are also items."""
    warnings = []
    if len(items) < FEW:
        warnings.append(
            f"With only {len(items)} items, a difference between two methods may be due to chance."
        )
    if dropped:
        reasons = ", ".join(f"{len(rows)} {reason}" for reason, rows in group_dropped(dropped).items())
        warnings.append(f"{count_of(len(dropped), 'item')} could not be used ({reasons.replace('_', ' ')}).")
    asked = {(item.dataset, item.text) for item in items}
    same = sum((shot.dataset, shot.text) in asked for shot in shots)
    if same:
        what = f"{count_of(same, 'example')} with the same text as an item"
        warnings.append(f"{what}: few-shot prompts may contain the answer to this item.")
    return warnings


def count_datasets(items: Iterable[StreamItem], shots: Iterable[StreamShot]) -> FigureTable:
    """Return the table of items, distinct kinds and examples per dataset, sorted by dataset."""
    groups: defaultdict[str, list[StreamItem]] = defaultdict(list)
    for item in items:
        groups[item.dataset].append(item)
    examples = Counter(shot.dataset for shot in shots)
    lines = []
    for dataset, members in sorted(groups.items()):
        counts = len(members), len({read_kind(item) for item in members}), examples[dataset]
        lines.append(Line((dataset,), tuple(count_cell(count, 0, "") for count in counts)))
    return FigureTable("", "", ("Dataset",), ("Items", "Kinds", "Examples"), tuple(lines), (), ("count",))


def fold_dropped(dropped: Iterable[Dropped]) -> list[Folded]:
    """Return collapsible lists of the dropped items, one per reason."""
    folded = []
    for reason, rows in group_dropped(dropped).items():
        listed = Facts([(row.id, row.detail) for row in rows[:MOST_DROPPED]])
        more = len(rows) - MOST_DROPPED
        blocks: list[PartBlock] = [listed, *([TextBlock(f"and {more:,} more")] if more > 0 else [])]
        folded.append(Folded(f"{len(rows):,} {reason.replace('_', ' ')}", blocks))
    return folded


def fold_shot(shot: StreamShot) -> Folded:
    """Return a collapsible block for an example."""
    text = shot.text if len(shot.text) <= SHORT else f"{shot.text[:SHORT]}…"
    inside: list[PartBlock] = [TextBlock(shot.text, "said"), Head("Answer"), TextBlock(shot.answer, "said")]
    return Folded(f"{text} ({shot.dataset})", inside)


def list_orders(
    items: Iterable[StreamItem], sequence: Iterable[SequencePlace], first: int = 10
) -> dict[int, list[str]]:
    """Map each seed to the keys of the first items in its order."""
    keys = {item.id: item.key for item in items}
    orders: defaultdict[int, list[str]] = defaultdict(list)
    for place in sorted(sequence, key=lambda place: (place.seed, place.position)):
        if len(orders[place.seed]) < first:
            orders[place.seed].append(keys.get(place.item, place.item))
    return dict(orders)


def group_dropped(dropped: Iterable[Dropped]) -> dict[str, list[Dropped]]:
    """Group the dropped items by reason, sorted by reason."""
    reasons: defaultdict[str, list[Dropped]] = defaultdict(list)
    for row in dropped:
        reasons[row.reason].append(row)
    return dict(sorted(reasons.items()))
