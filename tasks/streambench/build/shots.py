"""Stage: the few-shot examples of a stream, fixed for all runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.sources.drawing import draw_evenly
from tasks.sources.stream_dataset import SHOTS
from tasks.streambench.build.items import FOLDER, open_datasets
from tasks.streambench.entries import Stream


@dataclass(frozen=True)
class StreamShot:
    """Stage shots: a few-shot example with its true answer, in the order in which prompts show them."""

    id: str
    dataset: str
    place: int
    """From 0; the first k are shown."""
    text: str
    memory_key: str
    answer: str
    """As a prompt shows it, not as a metric reads it."""
    origin: tuple[Origin, ...]


def shots(streambench: Path, entry: Stream) -> Drafts[StreamShot]:
    """Draw examples of the datasets' shots.jsonl: none of them is an item of the stream.

    As many of each dataset as of any other. Where the datasets have fewer, these are all; few_shot says so.
    Drop reason: `asked` (an item of its dataset has the same text).
    """
    found = []
    dropped = []
    for dataset in open_datasets(streambench, entry.datasets):
        asked = {item.text for item in dataset.read_items()}
        name = dataset.folder.name
        for shot in dataset.read_shots():
            if shot.text in asked:
                dropped.append(Dropped(_make_id(name, shot.key), "asked", shot.text, (_make_origin(name),)))
            else:
                found.append((name, shot))
    drawn = draw_evenly(
        found, entry.shots, entry.draw_seed, lambda own: f"{own[0]} {own[1].key}", lambda own: own[0]
    )
    return Drafts(
        [
            StreamShot(
                _make_id(name, shot.key),
                name,
                place,
                shot.text,
                shot.memory_key,
                shot.answer,
                (_make_origin(name),),
            )
            for place, (name, shot) in enumerate(drawn)
        ],
        dropped,
    )


def _make_id(dataset: str, key: str) -> str:
    return make_id("stream shot", dataset, key)


def _make_origin(dataset: str) -> Origin:
    return Origin("file", f"{FOLDER}/{dataset}/{SHOTS}")
