"""Stage: check a stream's artifacts against contracts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.artifacts.contracts import Record, RowRule
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_valid_rows
from tasks.artifacts.rows import Counts, make_id
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import Stream

ROWS: Mapping[str, type] = {"items": StreamItem, "sequence": SequencePlace, "shots": StreamShot}


@dataclass(frozen=True)
class StreamReferences:
    """The data of a stream that its rows are checked against.

    - places: (seed, position) -> number of rows.
    - asked: (seed, item) -> number of rows.
    - lengths: seed -> number of rows.
    """

    stream: str
    entry: Stream
    items: frozenset[str]
    kind: str
    places: Mapping[tuple[int, int], int]
    asked: Mapping[tuple[int, str], int]
    lengths: Mapping[int, int]


def contracts(
    items: Path,
    sequence: Path,
    shots: Path,
    items_dropped: Path,
    shots_dropped: Path,
    entry: Stream,
    out: Path,
) -> Counts:
    """Write the contracts' findings into the folder `out`.

    items_dropped, shots_dropped: the dropped rows of `items` and `shots`, checked together with the kept
    rows. Raises ContractBroken if a contract is violated.
    """
    paths = {path.stem: path for path in (items, sequence, shots)}
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the stream {out.parent.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare_stream(paths, read_stream(paths, out.parent.name, entry), origins),
            folder,
        )
    return require_contracts(findings, out)


def read_stream(paths: Mapping[str, Path], stream: str, entry: Stream) -> StreamReferences:
    """Return the data of a stream that its rows are checked against."""
    items = read_valid_rows(paths["items"], StreamItem)
    places = read_valid_rows(paths["sequence"], SequencePlace)
    return StreamReferences(
        stream,
        entry,
        frozenset(item.id for item in items),
        items[0].kind if items else "",
        Counter((place.seed, place.position) for place in places),
        Counter((place.seed, place.item) for place in places),
        Counter(place.seed for place in places),
    )


def declare_stream(paths: Mapping[str, Path], references: StreamReferences, origins: RowRule) -> Rules:
    """Return the rules for each artifact of a stream."""
    return {
        paths["items"]: [
            origins,
            expect_hash(),
            RowRule(
                "of_its_dataset",
                "Each item is from a dataset of the stream and is of the same kind as all other items. The "
                "id of an item is derived from the item's dataset and key.",
                ("id", "dataset", "kind", "key"),
                lambda record: find_wrong_key(record, references),
            ),
            RowRule(
                "askable",
                "Each item has a text, a key for the memory, a gold answer, and details in the form of a "
                "JSON object.",
                ("text", "memory_key", "gold", "details"),
                find_gap,
            ),
            RowRule(
                "file_inside",
                "If an item names a file, the file is in the datasets folder.",
                ("file",),
                lambda record: find_way_out(str(record["file"])),
            ),
        ],
        paths["sequence"]: [
            origins,
            expect_hash(),
            RowRule(
                "item_exists",
                "The item at each position is an item of the stream.",
                ("item",),
                lambda record: "" if record["item"] in references.items else f"unknown item {record['item']}",
            ),
            RowRule(
                "whole_order",
                "The order of each seed contains every item exactly once, at positions numbered from 1.",
                ("id", "seed", "position", "item"),
                lambda record: find_wrong_place(record, references),
            ),
        ],
        paths["shots"]: [
            origins,
            RowRule(
                "shown",
                "Each example has a text and an answer. The position of an example (column “place”, "
                "counted from 0) is less than the number of examples that the stream asks for.",
                ("place", "text", "answer", "dataset"),
                lambda record: find_wrong_shot(record, references.entry),
            ),
        ],
    }


def find_wrong_key(record: Record, references: StreamReferences) -> str:
    """Return a message if an item's dataset, kind or id is wrong; otherwise an empty string."""
    if record["dataset"] not in references.entry.datasets:
        return f"{record['dataset']} is not a dataset of the stream"
    if record["kind"] != references.kind:
        return f"the kind is {record['kind']}, but the first item has the kind {references.kind}"
    wanted = make_id("stream item", record["kind"], record["dataset"], record["key"])
    return "" if record["id"] == wanted else f"its id should be {wanted}"


def find_wrong_place(record: Record, references: StreamReferences) -> str:
    """Return a message if a position's seed, number, item or id is wrong; otherwise an empty string."""
    seed, position, item = record["seed"], record["position"], record["item"]
    if seed not in references.entry.seeds:
        return f"{seed} is not a seed of the stream"
    if references.lengths[seed] != len(references.items):
        return f"seed {seed} has {references.lengths[seed]} positions for {len(references.items)} items"
    if references.places[seed, position] > 1 or references.asked[seed, item] > 1:
        return f"seed {seed} has position {position} twice, or the item at this position twice"
    if not 1 <= position <= len(references.items):
        return f"position {position} is not between 1 and {len(references.items)}"
    wanted = make_id("place", references.stream, seed, position)
    return "" if record["id"] == wanted else f"its id should be {wanted}"


def find_wrong_shot(record: Record, entry: Stream) -> str:
    """Return a message if an example's text, answer, dataset or place is wrong; otherwise an empty string."""
    if not str(record["text"]).strip() or not str(record["answer"]).strip():
        return "the example has no text or no answer"
    if record["dataset"] not in entry.datasets:
        return f"{record['dataset']} is not a dataset of the stream"
    inside = 0 <= record["place"] < entry.shots
    return "" if inside else f"its place is {record['place']}; expected less than {entry.shots}"


def find_gap(record: Record) -> str:
    """Return a message if an item lacks a required text or valid details; otherwise an empty string."""
    missing = [name for name in ("text", "memory_key", "gold") if not str(record[name]).strip()]
    if missing:
        return f"it has no {missing[0]}"
    try:
        details = json.loads(record["details"])
    except (ValueError, RecursionError) as error:
        return f"the details are not valid JSON: {error}"
    return "" if isinstance(details, dict) else "the details are not a JSON object"


def find_way_out(path: str) -> str:
    """Return a message if a path is absolute or contains `..`; otherwise an empty string."""
    pure = PurePosixPath(path)
    return f"{path} is outside the folder" if pure.is_absolute() or ".." in pure.parts else ""
