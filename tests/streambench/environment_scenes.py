"""Items, datasets and a scripted judge for tests of StreamBench's environments."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tasks.artifacts.rows import make_id
from tasks.models.ask import Answer
from tasks.scoring.registry import make_metric
from tasks.scoring.running import score_file
from tasks.streambench.build.items import StreamItem
from tasks.streambench.environment import EnvironmentSetup, Feedback
from tasks.streambench.environments.finding import find_environment


@dataclass
class ScriptedAsk:
    """A scripted judge, and an embedder that counts letters."""

    says: str = "Yes."
    fails: Exception | None = None
    asked: list[dict[str, object]] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)

    async def __call__(self, prompt, fields, *, role, row, parse, **more):
        self.asked.append({"prompt": Path(prompt).name, "role": role, "row": row, **fields})
        if self.fails is not None:
            raise self.fails
        return Answer(parse(self.says), self.says, f"call-{len(self.asked)}", 1)

    async def embed(self, texts, *, role, row):
        self.embedded += texts
        return [
            [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts
        ]


def make_stream_item(kind, dataset="own", text="What?", gold="", details=None, file="", context=""):
    """Return an item of a stream."""
    key = f"{text} {gold}"
    return StreamItem(
        make_id("stream item", kind, dataset, key), dataset, kind, key, text, text, context, gold,
        json.dumps(details or {}), file, (),
    )  # fmt: skip


def make_database(folder: Path, name: str = "pets") -> str:
    """Write a database with two pets; return its path below the datasets' folder."""
    place = folder / "own/files" / name / f"{name}.sqlite"
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
        connection.executemany("INSERT INTO pets VALUES (?, ?, ?)", [(1, "Rex", 4), (2, "Mia", 7)])
        connection.commit()
    return place.relative_to(folder).as_posix()


def make_environment(kind, files, items=(), ask=None, rule="", reading="lenient", **options):
    """Return the environment of a kind."""
    setup = EnvironmentSetup(files, items, rule, options, ask or ScriptedAsk(), "judge", "embedder", reading)
    return find_environment(kind)(setup)


def judge(environment, pairs) -> list[Feedback]:
    """Judge (item, answer) pairs concurrently in an environment, like the runner."""

    async def run() -> list[Feedback]:
        async with environment:
            return list(
                await asyncio.gather(
                    *(environment.feedback(item, answer, row=item.id) for item, answer in pairs)
                )
            )

    return asyncio.run(run())


def score_records(folder: Path, environment, triples, rule=None, **options):
    """Score (item, answer, feedback) by the metric's command; return the lines of `--items`."""
    path, out = folder / "records.jsonl", folder / "scored.jsonl"
    records = [
        {**environment.make_record(item, answer, feedback), "id": number}
        for number, (item, answer, feedback) in enumerate(triples)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    unread: list[object] = []
    score_file(
        make_metric(environment.metric, options), str(path), rule=rule, items=out, report=unread.append
    )
    assert not unread
    return [json.loads(line) for line in out.read_text().splitlines()]


def assert_bits_equal_scores(folder: Path, environment, pairs, rule=None, **options) -> list[Feedback]:
    """Assert that every bit and figure of feedback equals the output of `benchloom score` on the line."""
    found = judge(environment, pairs)
    triples = [(item, answer, verdict) for (item, answer), verdict in zip(pairs, found, strict=True)]
    lines = score_records(folder, environment, triples, rule, **options)
    for verdict, line in zip(found, lines, strict=True):
        failed = line.get(environment.primary) is None
        assert verdict.bit is (line.get(environment.primary) == 1), (verdict, line)
        assert (verdict.outcome == "unjudged") is failed, (verdict, line)
        if not failed:
            # SQL also has a figure of another metric.
            names = [name for name in verdict.values if name != "soft_f1"]
            assert [verdict.values[name] for name in names] == [line[name] for name in names]
        if "outcome" in line and not failed:
            assert verdict.outcome == line["outcome"]
        assert verdict.words == environment.say(verdict.bit)
    return found
