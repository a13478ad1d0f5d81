"""A small RAG service: BM25, documents named by the best passages, and a reader.

    python -m tests.newcomer.system documents.parquet 8124

The path is /NAME/answer, where NAME selects a fault: `ours` has no fault, `bad-answerer` returns a wrong
sentence of the retrieved passages, and `bad-retriever` retrieves the least relevant passages.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from aiohttp import web

GOOD, BAD_ANSWERER, BAD_RETRIEVER = "ours", "bad-answerer", "bad-retriever"
STOP = frozenset(re.findall(r"\w+", "a an and are at by for has have in is it of on or that the to was were"))
ASKING = re.compile(
    r"(?:.*?\. )?(?:(?:could|can|would|do|does) (?:you|someone|somebody|anyone) "
    r"(?:tell me |look up |find out |know )?)?(?:in |on )?(?:what |which |who )?"
    r"(?:is |are |was |were |does |do )?(?:the |all )?",
    re.IGNORECASE,
)
"""Beginnings of questions before the requested fact, such as the asker and the form of address."""
K1, B = 1.5, 0.75
TOP, NAMED, FILLED = 4, 6, 10
"""Number of passages by BM25; maximum number of documents named by a passage; total number of passages."""
NEARER = 0.97
"""Factor for a sentence's score per rank of its passage."""


def split(text: str) -> list[str]:
    """Split a text into words without their endings."""
    words = re.findall(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", text.lower())
    return [re.sub(r"(?:ing|ed|er|es|s|e)$", "", word) if len(word) > 3 else word for word in words]


@dataclass(frozen=True)
class Passage:
    """A document: its sentences, and their words."""

    id: str
    title: str
    text: str

    @property
    def sentences(self) -> list[str]:
        """The sentences of the text."""
        return [part.strip() for part in re.split(r"(?<=\.)\s+(?=[A-Z])", self.text) if part.strip()]


@dataclass
class Index:
    """Ranks passages for a question."""

    passages: Sequence[Passage]
    counts: list[Counter[str]] = field(init=False)
    rarity: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [
            Counter(split(f"{passage.title} {passage.title} {passage.text}")) for passage in self.passages
        ]
        held = Counter(word for count in self.counts for word in count)
        total = len(self.passages)
        self.rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in held.items()}
        self.mean = sum(map(Counter.total, self.counts)) / max(total, 1)

    def rank(self, question: str) -> list[Passage]:
        """Rank all passages by BM25, the best first."""
        words = set(split(question)) - STOP
        scores = [
            sum(
                self.rarity[word] * count[word] * (K1 + 1)
                / (count[word] + K1 * (1 - B + B * count.total() / self.mean))
                for word in words & count.keys()
            )
            for count in self.counts
        ]  # fmt: skip
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], self.passages[place].id))
        return [self.passages[place] for place in order]

    def retrieve(self, question: str) -> list[Passage]:
        """Return the best passages, and the passages whose titles they contain."""
        ranked = self.rank(question)
        found = ranked[:1]
        for passage in ranked[:TOP]:
            named = [
                listed_passage
                for listed_passage in ranked
                if listed_passage is not passage and listed_passage.title in passage.text
            ]
            found += [hit for hit in (passage, *named[:NAMED]) if hit not in found]
        return [*found, *(passage for passage in ranked[:FILLED] if passage not in found)][:FILLED]

    def retrieve_badly(self, question: str) -> list[Passage]:
        """Return the least relevant passages."""
        return self.rank(question)[-TOP:]

    def read(self, question: str, passages: Sequence[Passage], *, badly: bool = False) -> str:
        """Return the sentence that best answers a question, with the titles of the passages that contain it.

        badly: return the least relevant sentence.
        """
        rest = ASKING.sub("", question.rstrip("?"), count=1)
        wanted, _, given = rest.rpartition(": ")[::-1] if ": " in rest else rest.rpartition(", ")[::-1]
        # Ignore names, dates and codes, which identify the entity; the retriever has used them.
        said = re.sub(r"\S*[A-Z0-9]\S*", "", f"{wanted} {given}")
        words = [word for word in split(said) if word not in STOP]
        weights = {word: 2.0**-place for place, word in reversed(list(enumerate(words)))}
        asked = set(words)

        lines = [
            (
                round(sum(weights[word] for word in set(split(sentence)) & asked) * NEARER**place, 6),
                place,
                passage.title,
                sentence,
            )
            for place, passage in enumerate(passages)
            for sentence in passage.sentences
            if not sentence.startswith("In all, ")
        ]
        if not lines:
            return "I do not know."
        if badly:
            return "{2}: {3}".format(*min(lines))
        best = max(lines, key=lambda line: (line[0], -line[1]))
        several = re.match(r"(?:all |list )?(?:\w+ )?\w+s\b", f"{wanted} {given}".strip()) is not None
        most = best[0] * NEARER ** (FILLED - best[1])
        alike = [line for line in lines if line[0] >= most] if several else [best]
        return " ".join(f"{title}: {sentence}" for _, _, title, sentence in alike)


def make_app(path: Path) -> web.Application:
    """Return the service for a corpus: a Parquet file with id, title and text."""
    rows = pq.read_table(path, columns=["id", "title", "text"]).to_pylist()
    index = Index([Passage(**row) for row in rows])

    async def answer(request: web.Request) -> web.Response:
        question, name = (await request.json())["query"], request.match_info["name"]
        found = index.retrieve_badly(question) if name == BAD_RETRIEVER else index.retrieve(question)
        text = index.read(question, found, badly=name == BAD_ANSWERER)
        return web.json_response(
            {"reply": {"text": text}, "sources": [{"id": result.id, "text": result.text} for result in found]}
        )

    app = web.Application()
    app.add_routes([web.post("/{name}/answer", answer)])
    return app


if __name__ == "__main__":
    web.run_app(make_app(Path(sys.argv[1])), host="127.0.0.1", port=int(sys.argv[2]), print=None)
