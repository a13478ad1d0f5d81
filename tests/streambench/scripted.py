"""A scripted stream: items of a few classes, an environment that compares, models that follow a rule."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import ModelFailed
from tasks.models.ask import Answer, Unparsed, render_prompt
from tasks.streambench.build.items import StreamItem
from tasks.streambench.build.sequence import SequencePlace
from tasks.streambench.build.shots import StreamShot
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.environment import Environment, Feedback, PromptParts
from tasks.streambench.solve import stream_runs
from tasks.streambench.solve.options import StreamLimits
from tasks.streambench.solve.steps import steps
from tasks.streambench.solve.stream_step import StreamStep

CLASSES = ("red", "green", "blue")


class Scripted(Environment):
    """An environment whose items ask for their class; an answer is correct if it equals the gold answer."""

    name = "scripted"
    metric = "hotpotqa"
    primary = "em"
    max_tokens = {"direct": 20, "chain": 40, "refine": 20}  # noqa: RUF012

    async def show(self, item, style, *, row):
        return PromptParts("Name the colour.", "", item.context, f"Question: {item.text}", f"Style: {style}")

    def show_example(self, key, answer, words):
        shown = f"Question: {key}\n{answer}"
        return shown if words is None else f"{shown}\nFeedback: {words}"

    def read_answer(self, item, text, style):
        if not text.strip():
            raise Unparsed("empty: there is no answer")
        return text.rpartition("Answer:")[2].strip()

    async def feedback(self, item, answer, *, row):
        if item.gold == "broken":
            return Feedback(False, "unjudged", self.say(False), {}, "the gold answer does not run")
        bit = answer == item.gold
        return Feedback(bit, "correct" if bit else "wrong", self.say(bit), {"em": float(bit)})

    def say(self, bit):
        return "That is right." if bit else "That is wrong."

    def make_record(self, item, answer, feedback):
        return {"id": item.id, "gold": item.gold, "prediction": answer}


@dataclass(frozen=True)
class Asked:
    """A request to a model."""

    prompt: str
    text: str
    role: str
    row: str
    max_tokens: int

    @property
    def question(self) -> str:
        """The current question: the last question of the prompt."""
        return self.text.rpartition("Question: ")[2].partition("\n")[0]

    @property
    def examples(self) -> list[str]:
        """The past steps in the prompt, separated by blank lines."""
        return [part for part in self.text.split("\n\n\n") if part.startswith("Question: ")]


Reply = Callable[[Asked], str | None]


@dataclass
class StreamAsk:
    """A stage's `ask` that replies by a rule; None simulates an endpoint without an answer."""

    reply: Reply
    asked: list[Asked] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)

    async def __call__(
        self, prompt: Path, fields: Mapping[str, object], *, role: str, row: str, parse: Any, max_tokens: int
    ) -> Answer[Any]:
        text = "\n".join(message["content"] for message in render_prompt(prompt, fields).messages)
        asked = Asked(prompt.stem, text, role, row, max_tokens)
        self.asked.append(asked)
        await asyncio.sleep(0)
        said = self.reply(asked)
        if said is None:
            raise ModelFailed("agent: no usable reply after 7 tries in 3 s")
        call = hashlib.sha256(f"{role}{text}".encode()).hexdigest()
        try:
            return Answer(parse(said), said, call, 1)
        except Unparsed as error:
            return Answer(None, said, call, 1, str(error))

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        self.embedded += texts
        return [embed(text) for text in texts]


def embed(text: str) -> list[float]:
    """Return a text's vector: near its class, and nearer to texts with similar numbers."""
    colour, number = text.split()[:2]
    vector = [0.0] * len(CLASSES) + [float(number) / 1000]
    vector[CLASSES.index(colour)] = 1.0
    return vector


def make_items(count: int) -> list[StreamItem]:
    """Return items with alternating classes."""
    texts = [f"{CLASSES[number % len(CLASSES)]} {number}" for number in range(count)]
    return [
        StreamItem(
            f"i{number:03}", "tiny", "scripted", text, text, text, "", text.split()[0].upper(), "{}", "", ()
        )
        for number, text in enumerate(texts)
    ]


def order(items: Sequence[StreamItem], *seeds: int) -> list[SequencePlace]:
    """Return the items in their given order, for every seed."""
    return [
        SequencePlace(f"p{seed}-{position}", seed, position, item.id, ())
        for seed in seeds
        for position, item in enumerate(items, 1)
    ]


def make_shots(count: int) -> list[StreamShot]:
    """Return examples with alternating classes."""
    keys = [f"{CLASSES[number % len(CLASSES)]} {900 + number}" for number in range(count)]
    return [
        StreamShot(f"s{place}", "tiny", place, key, key, key.split()[0].upper(), ())
        for place, key in enumerate(keys)
    ]


def run_steps(
    ask: StreamAsk,
    items: Sequence[StreamItem],
    *methods: object,
    seeds: tuple[int, ...] = (42,),
    params: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    sequence: Sequence[SequencePlace] | None = None,
    shots: Sequence[StreamShot] = (),
    **entry: Any,
) -> dict[str, list[StreamStep]]:
    """Run the stage; return the steps of each run, by position."""
    made: Any = {"stream": "tiny", "methods": list(methods), "k": 4, "seeds": seeds, **entry}
    given: Any = ask
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_runs, "find_environment", lambda kind: Scripted)
        drafts = asyncio.run(
            steps(
                list(items),
                list(sequence or order(items, *seeds)),
                list(shots),
                Path("nowhere"),
                StreamEvaluation.model_validate(made),
                StreamLimits(**(params or {})),
                settings or {},
                given,
            )
        )
    runs: dict[str, list[StreamStep]] = {}
    for row in sorted(drafts.rows, key=lambda row: (row.run, row.position)):
        runs.setdefault(row.run, []).append(row)
    return runs


def know_all(asked: Asked) -> str:
    """Return the correct answer."""
    return asked.question.split()[0].upper()


def know_nothing(asked: Asked) -> str:
    """Return a wrong answer."""
    return "NONE"


def follow_examples(asked: Asked) -> str:
    """Answer correctly only if the prompt has an example of the same class with the correct answer."""
    right = know_all(asked)
    lines = [example.split("\n") for example in asked.examples]
    return right if any(line[1] == right for line in lines) else "NONE"


def dump(rows: Mapping[str, Sequence[StreamStep]]) -> str:
    """Return rows as text, for comparison."""
    return json.dumps(rows, default=lambda row: row.__dict__, sort_keys=True)
