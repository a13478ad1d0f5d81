"""Which of the 817 API descriptions enter a prompt: all of them are 144 thousand tokens."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.errors import BadInput
from tasks.sources.drawing import order_by_seed
from tasks.sources.stream_dataset import FILES
from tasks.sources.whole_json import read_json_object
from tasks.streambench.build.items import StreamItem
from tasks.streambench.environment import EnvironmentSetup
from tasks.streambench.environments.replies import write_text

FILE = "descriptions.json"
SEARCHES = ("embedding", "words")
WORD = re.compile(r"[a-z]+|[0-9]+")
LISTED, EVERY = 0, -1
DIGITS = 6
SEARCHED = 300
"""Characters of a description that are searched: what it is for stands at its beginning."""


@dataclass(frozen=True)
class ShownApis:
    """The APIs of a prompt, in order. shared: the same for all items."""

    names: tuple[str, ...]
    shared: bool
    left_out: tuple[str, ...] = ()


class ApiDescriptions:
    """The descriptions of a stream's datasets, and the choice among them.

    Embeddings of all descriptions are asked for once, when the first prompt is made.
    """

    def __init__(self, setup: EnvironmentSetup, count: int, search: str, characters: int) -> None:
        """count: so many are found for an item; 0 the tested, -1 all. characters: of one that is shown."""
        where = "streambench.streams: options"
        if count < EVERY:
            raise BadInput(
                where, f"descriptions is {count}", hint="a number, 0 (the tested APIs) or -1 (all)"
            )
        if search not in SEARCHES:
            raise BadInput(where, f"search is {search!r}", hint=" or ".join(SEARCHES))
        if characters <= 0:
            raise BadInput(where, f"characters is {characters}", hint="a number above 0")
        self._setup, self._count, self._search, self._characters = setup, count, search, characters
        self._embedding: asyncio.Task[np.ndarray] | None = None

    def describe(self, name: str) -> str:
        """Write an API's name and description; one that is too long is cut, and says so."""
        text = self._texts.get(name, "")
        if len(text) > self._characters:
            text = f"{text[: self._characters]} [cut]"
        return f"API: {write_text(name)}\n{write_text(text)}".strip()

    async def choose(self, item: StreamItem, *, row: str) -> ShownApis:
        """Choose what an item's prompt shows. Raises as `Ask.embed` does."""
        if self._count == EVERY:
            return ShownApis(self._shuffled(list(self._texts)), True)
        if self._count == LISTED:
            rest = len(self._texts) - len(self._listed)
            return ShownApis(
                self._listed, True, (f"{rest} of {len(self._texts)} APIs: not among the tested",)
            )
        scores = await self._score(item.memory_key, row)
        ranked = sorted(zip(self._texts, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
        names = tuple(name for name, _ in ranked[: self._count])
        rest = len(self._texts) - len(names)
        # The most likely last, where a prompt's question follows.
        return ShownApis(
            names[::-1], False, (f"{rest} of {len(self._texts)} APIs: not retrieved",) if rest else ()
        )

    async def _score(self, query: str, row: str) -> Sequence[float]:
        if self._search == "words":
            return self._words.score(query)
        if self._embedding is None or (self._embedding.done() and self._embedding.exception() is not None):
            self._embedding = asyncio.ensure_future(self._embed(self._searched, row="descriptions"))
        descriptions = await asyncio.shield(self._embedding)
        own = await self._embed([query], row=row)
        return [float(score) for score in np.round(descriptions @ own[0], DIGITS)]

    async def _embed(self, texts: Sequence[str], *, row: str) -> np.ndarray:
        vectors = await self._setup.ask.embed(texts, role=self._setup.embedder, row=row)
        matrix = np.asarray(vectors, dtype=np.float64).reshape(len(texts), -1)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        return matrix / np.where(lengths == 0, 1, lengths)

    def _shuffled(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(order_by_seed(names, 0, str, "api"))

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return self._content[0]

    @cached_property
    def _listed(self) -> tuple[str, ...]:
        listed = self._content[1] or sorted(self._texts)
        return self._shuffled(listed)

    @cached_property
    def _content(self) -> tuple[dict[str, str], list[str]]:
        texts: dict[str, str] = {}
        listed: set[str] = set()
        for dataset in sorted({item.dataset for item in self._setup.items}):
            path = self._setup.files / dataset / FILES / FILE
            content = read_json_object(path)
            apis, tested = content.get("apis"), content.get("listed")
            if not isinstance(apis, Mapping) or not apis:
                raise BadInput(path, "has no APIs", hint="benchloom import toolbench")
            texts |= {str(name): text for name, text in sorted(apis.items()) if isinstance(text, str)}
            listed |= {name for name in (tested if isinstance(tested, list) else []) if name in texts}
        return texts, sorted(listed)

    @cached_property
    def _searched(self) -> tuple[str, ...]:
        return tuple(f"{name.replace('%%', ': ')}\n{text[:SEARCHED]}" for name, text in self._texts.items())

    @cached_property
    def _words(self) -> WordScores:
        return WordScores(self._searched)


class WordScores:
    """BM25 over a few hundred short texts, in which a word counts by how rare it is (k1 = 1.5, b = 0.75)."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(WORD.findall(text.lower())) for text in texts]
        mean = sum(own.total() for own in counts) / max(1, len(counts)) or 1.0
        self._size = len(counts)
        self._weights: defaultdict[str, dict[int, float]] = defaultdict(dict)
        for place, own in enumerate(counts):
            length = 1.5 * (0.25 + 0.75 * own.total() / mean)
            for word, count in own.items():
                self._weights[word][place] = count / (count + length)

    def score(self, query: str) -> list[float]:
        """Score every text for a query."""
        scores = [0.0] * self._size
        for word in sorted(set(WORD.findall(query.lower()))):
            found = self._weights.get(word, {})
            rarity = math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
            for place, weight in found.items():
                scores[place] += rarity * weight
        return [round(score, DIGITS) for score in scores]
