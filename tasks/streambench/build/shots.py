"""Stage: choose the few-shot examples of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.sources.drawing import draw_evenly
from tasks.sources.stream_dataset import SHOTS, DatasetShot
from tasks.streambench.build.dataset_reading import StreamDataset
from tasks.streambench.build.items import FOLDER, open_datasets
from tasks.streambench.build.released_order import HASHED, permute, require_rows
from tasks.streambench.entries import Stream


@dataclass(frozen=True)
class StreamShot:
    """Row of the stage `shots`: a few-shot example with its true answer. Rows are in prompt order."""

    id: str
    dataset: str
    place: int
    """Position in the prompt, starting at 0; a prompt shows the first k examples."""
    text: str
    memory_key: str
    answer: str
    """The answer as prompts show it, which may differ from the metric's format."""
    origin: tuple[Origin, ...]
    seed: int | None = None
    """The seed of the runs that show the example; None for all runs."""


def shots(streambench: Path, entry: Stream) -> Drafts[StreamShot]:
    """Sample few-shot examples from the datasets' shots.jsonl.

    With the order `hashed`, each dataset contributes the same number of examples. An example is dropped
    (`asked`) if its text equals the text of an item in its dataset. If the datasets have too few examples,
    all examples are used, and few_shot shows fewer than k examples.

    With other orders, each seed uses the same rows as the StreamBench paper, even if an example has the same
    text as an item. Rows that could not be imported are dropped (`left_out`).
    """
    datasets = open_datasets(streambench, entry.datasets)
    if entry.order != HASHED:
        return take_released(datasets[0], entry)
    found = []
    dropped = []
    for dataset in datasets:
        asked = {item.text for item in dataset.read_items()}
        name = dataset.folder.name
        for shot in dataset.read_shots():
            if shot.text in asked:
                dropped.append(Dropped(_make_id(name, shot.key), "asked", shot.text, (_make_origin(name),)))
            else:
                found.append((name, shot))
    drawn = draw_evenly(
        found, entry.shots, entry.draw_seed, lambda pair: f"{pair[0]} {pair[1].key}", lambda pair: pair[0]
    )
    return Drafts([_make_row(name, place, shot) for place, (name, shot) in enumerate(drawn)], dropped)


def take_released(dataset: StreamDataset, entry: Stream) -> Drafts[StreamShot]:
    """Return the first rows of the examples split, which is shuffled per seed if `shuffled` is set."""
    rows, name = require_rows(entry, [dataset]), dataset.folder.name
    shots = {shot.row: shot for shot in dataset.read_shots()}
    seeds: tuple[int | None, ...] = entry.seeds if rows.shuffled else (None,)
    made, dropped = [], []
    for seed in seeds:
        order = range(rows.shots) if seed is None else permute(rows.shots, seed)
        for place, row in enumerate(order[: entry.shots]):
            if row in shots:
                made.append(_make_row(name, place, shots[row], seed))
            else:
                detail = f"row {row} of the examples (seed {seed}) was not imported"
                lost = make_id("stream shot", name, f"row {row}", seed)
                dropped.append(Dropped(lost, "left_out", detail, (_make_origin(name),)))
    return Drafts(made, dropped)


def _make_row(dataset: str, place: int, shot: DatasetShot, seed: int | None = None) -> StreamShot:
    return StreamShot(
        _make_id(dataset, shot.key, seed),
        dataset,
        place,
        shot.text,
        shot.memory_key,
        shot.answer,
        (_make_origin(dataset),),
        seed,
    )


def _make_id(dataset: str, key: str, seed: int | None = None) -> str:
    return (
        make_id("stream shot", dataset, key) if seed is None else make_id("stream shot", dataset, key, seed)
    )


def _make_origin(dataset: str) -> Origin:
    return Origin("file", f"{FOLDER}/{dataset}/{SHOTS}")
