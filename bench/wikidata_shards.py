"""Benchmark importing a Wikidata dump with two processes against one: wall-clock time, and peak memory.

Each import runs in a separate process. Its start-up does not count, but the start-up of its child processes
does. Imports with one and two processes alternate; the minimum time counts, since other programs may use the
cores. `python -m bench.wikidata_shards GB` also imports two properties of a new plain dump of this size.
"""

from __future__ import annotations

import bz2
import gzip
import multiprocessing
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import orjson
import psutil

from bench.wikidata import make_entity
from flows.importing import bring_in
from tasks.sources.importers.wikidata import Wikidata

STREAMED, SHARD, SHARDS, STREAM = 12_000, 12_500, 4, 900_000
"""Number of entities in the bzip2 file and in a shard; number of shards; bytes per stream."""
TURNS = 3
SELECTION = {"properties": ["P31", "P569"], "languages": ["en"]}


def main(words: Sequence[str] = ()) -> None:
    """Print the ratio of two processes to one for streams and shards, and the peak memory of a large dump."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, paths in make_packed(folder).items():
            turns = [[run_alone(folder, paths, workers) for workers in (1, 2)] for _ in range(TURNS)]
            one, two = (min(found) for found in zip(*turns, strict=True))
            print(
                f"wikidata_shards: {what}: {one[0]:.1f} s by one process, {two[0]:.1f} s by two: "
                f"{one[0] / two[0]:.2f} times; peak {one[1]:.0f}, {two[1]:.0f} MiB"
            )
        if words:
            path = folder / "large.json"
            size = make_large(path, float(words[0]))
            seconds, peak = run_alone(folder, [path], 2)
            print(
                f"wikidata_shards: {size / 1e9:.2f} GB plain by two processes: {seconds:.0f} s, "
                f"{size / seconds / 1e6:.0f} MB a second, peak {peak:.0f} MiB of all of them"
            )


def run_alone(folder: Path, paths: Sequence[Path], workers: int) -> tuple[float, float]:
    """Measure an import in a separate process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(measure, folder, paths, workers).result()


def measure(folder: Path, paths: Sequence[Path], workers: int) -> tuple[float, float]:
    """Import files; return the seconds, and the peak proportional memory (PSS) of all processes in MiB."""
    with tempfile.TemporaryDirectory(dir=folder) as root:
        peak, over = [0.0], threading.Event()
        watcher = threading.Thread(target=watch, args=(peak, over))
        watcher.start()
        begun = time.perf_counter()
        try:
            bring_in(Path(root), Wikidata(places=list(map(str, paths)), workers=workers, **SELECTION))
            seconds = time.perf_counter() - begun
        finally:
            over.set()
            watcher.join()
    return seconds, peak[0]


def watch(peak: list[float], over: threading.Event) -> None:
    """Record the peak memory of this process and its child processes, sampled five times a second."""
    while not over.wait(0.2):
        total = 0
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue
        peak[0] = max(peak[0], total / 2**20)


def make_packed(folder: Path) -> dict[str, list[Path]]:
    """Write a bzip2 file of many streams, like pbzip2, and gzip shards."""
    draws = random.Random(0)
    lines = [orjson.dumps(make_entity(number, draws)) for number in range(1, 1_001)]
    rename = [make_renamer(line) for line in lines]
    streams, bulk = make_streams(folder / "dump.json.bz2", STREAMED)
    with ThreadPoolExecutor(2) as threads:
        shards = [folder / f"dump-{number}.json.gz" for number in range(SHARDS)]

        def write_shard(number: int) -> int:
            own = range(number * SHARD + 1, (number + 1) * SHARD + 1)
            body = join_lines([rename[answer % 1_000](answer) for answer in own])
            shards[number].write_bytes(gzip.compress(body, 3))
            return len(body)

        size = sum(threads.map(write_shard, range(SHARDS)))
    return {
        f"{bulk / 1e6:.0f} MB of JSON, bzip2 of many streams": [streams],
        f"{size / 1e6:.0f} MB of JSON, {SHARDS} shards of gzip": shards,
    }


def make_streams(path: Path, number: int) -> tuple[Path, int]:
    """Write `number` entities as a bzip2 file of many streams; return its path and its bytes of JSON."""
    draws = random.Random(0)
    lines = [orjson.dumps(make_entity(number, draws)) for number in range(1, 1_001)]
    rename = [make_renamer(line) for line in lines]
    content = join_lines([rename[position % 1_000](position) for position in range(1, number + 1)])
    with ThreadPoolExecutor(2) as threads:
        pieces = (content[at : at + STREAM] for at in range(0, len(content), STREAM))
        path.write_bytes(b"".join(threads.map(bz2.compress, pieces)))
    return path, len(content)


def join_lines(lines: Sequence[bytes]) -> bytes:
    """Join lines in the format of a dump."""
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def make_large(path: Path, gigabytes: float) -> int:
    """Write a dump that repeats a thousand entities with new ids; return its bytes."""
    draws = random.Random(0)
    lines = [orjson.dumps(make_entity(number, draws)) for number in range(1, 1_001)]
    rename: list[Callable[[int], bytes]] = [make_renamer(line) for line in lines]
    number = 0
    with path.open("wb") as file:
        file.write(b"[\n")
        while file.tell() < gigabytes * 1e9:
            number += 1
            file.write(rename[number % 1_000](number) + b",\n")
        file.write(b'{"type":"item","id":"Q%d"}\n]\n' % (number + 1))
        return file.tell()


def make_renamer(line: bytes) -> Callable[[int], bytes]:
    """Return a function that writes an entity with another number as id."""
    own = orjson.loads(line)["id"].encode()
    pieces = re.split(rb'(?<=")' + own + rb'(?=[$"])', line)
    return lambda number: (b"Q%d" % number).join(pieces)


if __name__ == "__main__":
    main(sys.argv[1:])
