"""Benchmark reading a Wikidata dump against decompression and orjson alone, in MB of JSON per CPU second.

`python -m bench.wikidata FILE ...` measures your files; without files, dumps of 1,000 entities are generated.
Each measurement runs in a separate process, to measure its peak memory.
"""

from __future__ import annotations

import bz2
import gzip
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from flows.importing import bring_in
from tasks.sources.importers.wikidata import Wikidata
from tasks.sources.wikidata.dump import DumpSource, open_dump
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.report import ReadingReport

ENTITIES, STATEMENTS = 1_000, 25
CLASSES = ("Q5", "Q6", "Q7", "Q8", "Q9", "Q10", "Q11", "Q12", "Q13", "Q14")
LANGUAGES = frozenset({"en"})


@dataclass(frozen=True)
class Figures:
    """Measurements of one run: bytes of JSON, entities, CPU seconds, peak MiB."""

    size: int
    entities: int
    seconds: float
    peak_mib: float

    @property
    def speed(self) -> float:
        """MB of JSON per CPU second."""
        return self.size / self.seconds / 1e6


def main(paths: Sequence[str] = ()) -> None:
    """Print each reader's MB per CPU second, its ratio to the reference, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        for path in [Path(path) for path in paths] or make_dumps(Path(folder)):
            reference = run_alone(read_plainly, path)
            said = [
                f"{name} {found.speed:.1f} MB/s ({found.speed / reference.speed:.2f} of it, "
                f"{found.entities:,} entities, peak {found.peak_mib:.0f} MiB)"
                for name, read in READINGS.items()
                for found in [run_alone(read, path)]
            ]
            print(
                f"wikidata: {path.name}, {reference.size / 1e6:.0f} MB of JSON: unpacking and orjson alone "
                f"{reference.speed:.1f} MB/s; {'; '.join(said)}"
            )


def read_plainly(path: Path) -> int:
    """Decompress and decode every line; return the number of lines."""
    count = 0
    with open_dump(path) as stream:
        for line in stream:
            if len(line) > 3:
                orjson.loads(line.rstrip(b",\n"))
                count += 1
    return count


def read_all(path: Path) -> int:
    """Read every entity with its claims."""
    return count(path, EntitySelection(languages=LANGUAGES))


def read_properties(path: Path) -> int:
    """Read two properties of every entity."""
    return count(
        path, EntitySelection(properties=frozenset({"P31", "P569"}), languages=LANGUAGES, sites=frozenset())
    )


def read_class(path: Path) -> int:
    """Read the instances of one of ten classes."""
    return count(path, EntitySelection(classes=frozenset(CLASSES[:1]), languages=LANGUAGES))


def read_named(path: Path) -> int:
    """Read a hundred entities by their ids."""
    names = frozenset(f"Q{number}" for number in range(100, 200))
    return count(path, EntitySelection(entities=names, languages=LANGUAGES))


def import_all(path: Path) -> int:
    """Import every entity with its claims: read, sort and write the Parquet files."""
    with tempfile.TemporaryDirectory() as folder:
        bring_in(Path(folder), Wikidata(places=[str(path)], languages=sorted(LANGUAGES)))
        about = Path(folder) / "data/raw/wikidata/bench/about.json"
        return int(json.loads(about.read_text())["counts"]["entities"])


READINGS: dict[str, Callable[[Path], int]] = {
    "all": read_all,
    "two properties": read_properties,
    "a class": read_class,
    "100 ids": read_named,
    "import of all": import_all,
}


def count(path: Path, selection: EntitySelection) -> int:
    """Return the number of a dump's entities that match a selection."""
    return sum(1 for _ in DumpSource([path]).read(selection, ReadingReport()))


def run_alone(read: Callable[[Path], int], path: Path) -> Figures:
    """Measure a reader in a separate process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (read, path))


def measure(read: Callable[[Path], int], path: Path) -> Figures:
    """Measure a reader in this process."""
    begun = time.process_time()
    entities = read(path)
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with open_dump(path) as stream:
        size = sum(len(block) for block in iter(lambda: stream.read(2**20), b""))
    return Figures(size, entities, seconds, peak)


def make_dumps(folder: Path) -> list[Path]:
    """Write a dump as plain text and in two compressed formats."""
    draws = random.Random(0)
    lines = b",\n".join(orjson.dumps(make_entity(number, draws)) for number in range(1, ENTITIES + 1))
    content = b"[\n" + lines + b"\n]\n"
    packed = {
        "dump.json": content,
        "dump.json.gz": gzip.compress(content, 6),
        "dump.json.bz2": bz2.compress(content),
    }
    for name, body in packed.items():
        (folder / name).write_bytes(body)
    return [folder / name for name in packed]


def make_entity(number: int, draws: random.Random) -> dict[str, object]:
    """Generate an entity of Wikidata's average size: about 13 kB, mostly statements."""
    claims: dict[str, list[object]] = {"P31": [make_statement(number, "P31", draws.choice(CLASSES), draws)]}
    for place in range(1, STATEMENTS):
        name = f"P{500 + place}"
        claims[name] = [make_statement(number, name, f"Q{draws.randrange(1, 10**8)}", draws)]
    texts = {code: {"language": code, "value": f"entity {number}"} for code in ("en", "de", "fr", "ja", "ru")}
    page = {"site": "enwiki", "title": f"Entity {number}", "badges": []}
    return {"type": "item", "id": f"Q{number}", "labels": texts, "descriptions": texts,
            "aliases": {code: [text] for code, text in texts.items()}, "claims": claims,
            "sitelinks": {"enwiki": page}}  # fmt: skip


def make_statement(number: int, name: str, target: str, draws: random.Random) -> dict[str, object]:
    """Generate a statement with an item, a time or an identifier, and with a reference."""
    digest = f"{draws.getrandbits(160):040x}"
    moment = {"time": "+2013-12-07T00:00:00Z", "timezone": 0, "before": 0, "after": 0, "precision": 11,
              "calendarmodel": "http://www.wikidata.org/entity/Q1985727"}  # fmt: skip
    entity = {"entity-type": "item", "numeric-id": int(target[1:]), "id": target}
    kinds = (
        ("wikibase-item", "wikibase-entityid", entity),
        ("time", "time", moment),
        ("external-id", "string", digest),
    )
    datatype, kind, value = kinds[0] if name == "P31" else draws.choice(kinds)
    snak = {
        "snaktype": "value",
        "property": name,
        "datavalue": {"value": value, "type": kind},
        "datatype": datatype,
    }
    at = {
        "snaktype": "value",
        "property": "P813",
        "datavalue": {"value": moment, "type": "time"},
        "datatype": "time",
    }
    return {"mainsnak": snak, "type": "statement", "id": f"Q{number}${name}-{digest}", "rank": "normal",
            "references": [{"hash": digest, "snaks": {"P813": [at]}, "snaks-order": ["P813"]}]}  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
