"""Benchmark the evidence search in 1,000, 10,000 and 100,000 synthetic articles, in articles per CPU second.

`python -m bench.evidence NUMBER ...` uses other numbers. Every article has 20 sentences about one place, with
an area and two neighbours. Each measurement runs in a separate process, to measure its peak memory.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.rows import schema_of
from tasks.sources.wikidata.rows import ValueRow
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.proofs import Proofs, proofs
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.articles import articles
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing
from tasks.tanq.units import find_unit

NUMBERS = (1_000, 10_000, 100_000)
SENTENCES = 20
BLOCK = 1_000
UNIT = Thing("unit", "square kilometre", (), "", (), ())
RELATIONS = [
    Relation("P2046", "area", "area", "area", "quantity", "unit", "", 0, 0, 0, ()),
    Relation("P47", "shares border with", "neighbours", "neighbour", "item", "", "", 0, 0, 0, ()),
]


@dataclass(frozen=True)
class SearchFigures:
    """Measurements for a number of articles: CPU seconds of copying and searching, proofs found, peak MiB."""

    copying: float
    searching: float
    found: int
    peak_mib: float


def main(numbers: Sequence[str] = ()) -> None:
    """Print articles per CPU second for both steps, and the peak memory."""
    for number in [int(text) for text in numbers] or NUMBERS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures = pool.apply(measure, (number,))
        print(
            f"evidence: {number:,} articles of {SENTENCES} sentences: "
            f"copied {number / figures.copying:,.0f}/s, searched {number / figures.searching:,.0f}/s of CPU, "
            f"{figures.found:,} proofs, peak {figures.peak_mib:.0f} MiB"
        )


def measure(number: int) -> SearchFigures:
    """Measure copying a source's articles, and finding the proofs of all facts in the articles."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_source(folder, number)
        things = [Thing(f"t{n}", name_place(n), (), name_place(n), (), ()) for n in range(number)] + [UNIT]
        facts = [fact for n in range(number) for fact in make_facts(n, number)]
        question = ExtendedQuestion("q", "s", "", (), (), tuple(fact.id for fact in facts), ())
        find_unit("km2")  # load Pint before the measurement
        begun = time.process_time()
        articles(things, GraphSource(graph=folder, articles=folder, seeds=folder), folder / "out")
        copied = time.process_time()
        found = proofs([question], facts, things, RELATIONS, folder / "out", Proofs())
        searched = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return SearchFigures(copied - begun, searched - copied, len(found.rows), peak)


def make_facts(n: int, number: int) -> Iterator[Fact]:
    """Yield the facts of a place: its area and two neighbours."""
    area = str(1000 + 37 * n)
    value = ValueRow("quantity", amount=area, number=float(area), unit="unit")
    yield Fact(f"{n}-area", f"t{n}", "P2046", value, area, (), ())
    for step in (1, 2):
        other = (n + step) % number
        yield Fact(
            f"{n}-{step}", f"t{n}", "P47", ValueRow("item", item=f"t{other}"), name_place(other), (), ()
        )


def write_source(folder: Path, number: int) -> None:
    """Write the articles and their parts in blocks."""
    draws = random.Random(0)
    with (
        pq.ParquetWriter(folder / "articles.parquet", schema_of(ArticleRow)) as heads,
        pq.ParquetWriter(folder / "parts.parquet", schema_of(PartRow)) as parts,
    ):
        for first in range(0, number, BLOCK):
            block = range(first, min(number, first + BLOCK))
            rows = [vars(ArticleRow(name_place(n), None, 1, (), SENTENCES, "", "")) for n in block]
            heads.write_table(pa.Table.from_pylist(rows, schema=schema_of(ArticleRow)))
            told = [vars(part) for n in block for part in make_parts(n, number, draws)]
            parts.write_table(pa.Table.from_pylist(told, schema=schema_of(PartRow)))


def make_parts(n: int, number: int, draws: random.Random) -> Iterator[PartRow]:
    """Yield an article's sentences: two state facts, and the others mention places and amounts."""
    told = [
        f"It covers an area of {1000 + 37 * n:,} km2.",
        f"It borders {name_place((n + 1) % number)} to the east.",
    ]
    for place in range(SENTENCES):
        other, year = name_place(draws.randrange(number)), draws.randrange(1100, 2020)
        text = (
            told[place] if place < len(told) else f"In {year}, {year * 7:,} people came from {other} by sea."
        )
        yield PartRow(name_place(n), place, "text", "", "", (), text, None, None, None)


def name_place(n: int) -> str:
    """Return the name of a place: a word of syllables derived from its number."""
    syllables = ("ba", "do", "ki", "lu", "me", "no", "ra", "si", "tu", "ve")
    return "".join(syllables[int(digit)] for digit in f"{n:06}").title()


if __name__ == "__main__":
    main(sys.argv[1:])
