"""Stage: the few-shot examples of a stream, fixed for all runs."""

from __future__ import annotations

from pathlib import Path

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.sources.drawing import draw_evenly
from tasks.sources.stream_dataset import SHOTS
from tasks.streambench.build.items import FOLDER, open_datasets
from tasks.streambench.entries import Stream
from tasks.streambench.rows import StreamShot


def shots(streambench: Path, entry: Stream) -> Drafts[StreamShot]:
    """Draw examples of the datasets' shots.jsonl: none of them is an item of the stream.

    As many of each dataset as of any other. Where the datasets have fewer, these are all; few_shot says so.
    """
    found = []
    for dataset in open_datasets(streambench, entry.datasets):
        asked = {item.text for item in dataset.read_items()}
        found += [(dataset.folder.name, shot) for shot in dataset.read_shots() if shot.text not in asked]
    drawn = draw_evenly(
        found, entry.shots, entry.draw_seed, lambda own: f"{own[0]} {own[1].key}", lambda own: own[0]
    )
    return Drafts(
        [
            StreamShot(
                make_id("stream shot", name, shot.key),
                name,
                place,
                shot.text,
                shot.memory_key,
                shot.answer,
                (Origin("file", f"{FOLDER}/{name}/{SHOTS}"),),
            )
            for place, (name, shot) in enumerate(drawn)
        ]
    )
