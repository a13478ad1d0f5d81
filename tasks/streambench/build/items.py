"""Stage: read the items of a stream from one or more datasets of the same kind."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.snapshot import Snapshot
from tasks.errors import BadInput
from tasks.scoring.ddxplus import LABELS
from tasks.scoring.sql_pool import QueryPair, SqlPool
from tasks.scoring.sql_worker import CLOCK, CLOCK_CHECK
from tasks.sources.drawing import draw_evenly
from tasks.sources.stream_dataset import ITEMS, DatasetItem
from tasks.streambench.build.dataset_reading import StreamDataset, open_dataset
from tasks.streambench.build.released_order import HASHED, require_rows
from tasks.streambench.entries import Stream

FOLDER = "data/raw/streambench"


@dataclass(frozen=True)
class StreamItem:
    """Row of the stage `items`: an input x of a dataset (StreamBench, section 3.1).

    The row does not contain the position of the input in the stream.
    """

    id: str
    """The row's id: `make_id("stream item", kind, dataset, key in the dataset)`."""
    dataset: str
    """Name of the dataset's folder below data/raw/streambench."""
    kind: str
    """The item's environment: `sql`, `ds1000`, `toolbench`, `ddxplus`, `hotpotqa`, or a plug-in's name."""
    key: str
    """The item's key in the published dataset, unchanged, such as `test-12`."""
    text: str
    """The input, such as the question, the problem or the patient's profile."""
    memory_key: str
    """The text that is embedded to retrieve the item from a memory: the input without documents or schema."""
    context: str
    """Additional text for the prompt, such as CREATE statements or paragraphs with titles; may be empty."""
    gold: str
    """The gold answer in the metric's format: SQL, a label number, a short answer, or an API call as JSON."""
    details: str
    """JSON object with more data for the environment, such as db_id, api or code_context."""
    file: str
    """Path of the item's file below data/raw/streambench (`spider/files/pets/pets.sqlite`), or empty."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class _Candidate:
    dataset: StreamDataset
    item: DatasetItem

    @property
    def name(self) -> str:
        return f"{self.dataset.folder.name} {self.item.key}"

    @property
    def stratum(self) -> str:
        """The dataset's name with the item's value of the stratum field; samples are balanced over strata."""
        field = self.dataset.head.stratum
        return f"{self.dataset.folder.name} {self.item.details.get(field, '') if field else ''}"


def items(streambench: Path, entry: Stream, limit: int | None = None) -> Drafts[StreamItem]:
    """Return the stream's items, sorted by id; unusable items are dropped with a reason.

    streambench: data/raw/streambench. limit: number of items in a preview, otherwise None. A gold query that
    might read the clock is executed to check whether it does.

    Raises BadInput if a folder is missing or has changed since its import, if the kinds differ, if too few
    items are usable, or if the dataset does not support the entry's order.
    """
    datasets = open_datasets(streambench, entry.datasets)
    candidates: list[_Candidate] = []
    dropped: list[Dropped] = []
    for dataset in datasets:
        read = dataset.read_items()
        clocks = find_clocks(dataset, read)
        for item in read:
            problem = find_problem(dataset.head.kind, item) or clocks.get(item.key)
            if problem is None:
                candidates.append(_Candidate(dataset, item))
            else:
                dropped.append(Dropped(_make_item_id(dataset, item), *problem, (_find_origin(dataset),)))
    if entry.order == HASHED:
        drawn = draw_evenly(
            candidates,
            entry.take,
            entry.draw_seed,
            lambda candidate: candidate.name,
            lambda candidate: candidate.stratum,
        )
    else:
        count = require_rows(entry, datasets).items
        drawn = [
            candidate
            for candidate in candidates
            if candidate.item.row is not None and candidate.item.row < count
        ]
    if not drawn or (entry.order == HASHED and entry.take is not None and len(drawn) < entry.take):
        asked = f"take asks for {entry.take:,}, but" if entry.take is not None else "all items are dropped:"
        raise BadInput(
            "streambench.streams",
            f"{', '.join(entry.datasets)}: {asked} {len(candidates):,} items can be used",
            hint=f"dropped items: {len(dropped):,}; reason for the first: {dropped[0].detail}"
            if dropped
            else "reduce take",
        )
    rows = [_make_row(candidate) for candidate in drawn]
    return Drafts(sorted(rows, key=lambda row: row.id)[:limit], dropped)


def find_problem(kind: str, item: DatasetItem) -> tuple[str, str] | None:
    """Return (reason, detail) for an unusable item; None for usable items, and for items of plug-ins."""
    if kind in {"sql", "hotpotqa"} and not item.gold.strip():
        return "no_gold", "the gold answer is empty"
    if kind == "ds1000" and not isinstance(item.details.get("code_context"), str):
        return "no_details", "details have no code_context"
    if kind == "toolbench" and not (
        isinstance(item.details.get("api"), str) and isinstance(item.details.get("arguments"), dict)
    ):
        return "no_details", "details have no api with arguments"
    if kind == "ddxplus" and item.gold not in {str(label) for label in range(LABELS)}:
        return "bad_gold", f"gold is {item.gold[:40]!r}; a label from 0 to {LABELS - 1} is wanted"
    return None


def find_clocks(dataset: StreamDataset, items: Sequence[DatasetItem]) -> Mapping[str, tuple[str, str]]:
    """Map item keys to (reason, detail) if the gold query reads the clock, the session or random values.

    Queries without a database are not checked, because they cannot run and are never scored.
    """
    if dataset.head.kind != "sql":
        return {}
    asked: list[tuple[str, QueryPair]] = []
    with ExitStack() as stack:
        addresses: dict[str, str] = {}
        for item in items:
            if item.file and item.file not in addresses:
                addresses[item.file] = ""
                with suppress(BadInput, OSError):  # the stage `steps` reports database problems
                    snapshot = Snapshot(dataset.folder / item.file)
                    stack.callback(snapshot.close)
                    addresses[item.file] = snapshot.uri
            if uri := addresses.get(item.file):
                asked.append((item.key, QueryPair(CLOCK_CHECK, (uri,), item.gold, item.gold)))
        if not asked:
            return {}
        pool = stack.enter_context(SqlPool(workers=os.cpu_count() or 1))
        verdicts = zip(asked, pool.judge(pair for _, pair in asked), strict=True)
        return {
            key: ("clock", verdict.reason.removeprefix("the gold query: "))
            for (key, _), verdict in verdicts
            if CLOCK in verdict.reason
        }


def read_object(text: str) -> dict[str, object]:
    """Return the object in a JSON text; empty if the text is not a JSON object."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def open_datasets(streambench: Path, names: Sequence[str]) -> list[StreamDataset]:
    """Open the dataset folders, and return the datasets in the order of `names`.

    Raises BadInput if a folder cannot be opened, or if the datasets' kinds differ.
    """
    datasets = []
    for name in names:
        # A name such as `../x` would open a folder outside data/raw/streambench.
        if Path(name).name != name or name in {".", ".."}:
            raise BadInput("streambench.streams", f"{name[:80]!r} is not a valid name for a dataset folder")
        datasets.append(open_dataset(streambench / name))
    kinds = {dataset.head.kind: dataset.folder.name for dataset in datasets}
    if len(kinds) > 1:
        both = " and ".join(f"{name} is {kind}" for kind, name in sorted(kinds.items()))
        raise BadInput("streambench.streams", f"all datasets in a stream must be of one kind, but {both}")
    return datasets


def _make_item_id(dataset: StreamDataset, item: DatasetItem) -> str:
    return make_id("stream item", dataset.head.kind, dataset.folder.name, item.key)


def _find_origin(dataset: StreamDataset) -> Origin:
    return Origin("file", f"{FOLDER}/{dataset.folder.name}/{ITEMS}")


def _make_row(own: _Candidate) -> StreamItem:
    name, item = own.dataset.folder.name, own.item
    return StreamItem(
        id=_make_item_id(own.dataset, item),
        dataset=name,
        kind=own.dataset.head.kind,
        key=item.key,
        text=item.text,
        memory_key=item.memory_key,
        context=item.context,
        gold=item.gold,
        details=json.dumps(item.details, ensure_ascii=False, sort_keys=True),
        file=f"{name}/{item.file}" if item.file else "",
        origin=(_find_origin(own.dataset),),
    )
