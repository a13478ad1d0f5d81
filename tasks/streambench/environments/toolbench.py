"""Tool use (ToolBench, STE's subset): a rule checks the API; a rule or a judge checks the arguments.

A prompt contains only some of the 817 API descriptions, which have 144 thousand tokens in total.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from tasks.errors import BadInput
from tasks.judging.quoting import quote
from tasks.scoring.label import Label
from tasks.scoring.reply_readings import (
    LENIENT,
    READINGS,
    RELEASED,
    ReadCall,
    make_call,
    read_released_call,
    write_call,
)
from tasks.scoring.toolbench import WITHOUT_JUDGE, ToolBench
from tasks.sources.drawing import order_by_seed
from tasks.sources.stream_dataset import FILES
from tasks.sources.whole_json import read_json_object
from tasks.streambench.build.items import StreamItem, read_object
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback, PromptParts, Style
from tasks.streambench.environments.replies import (
    check_reply,
    cut_reasoning,
    find_object,
    write_plain,
    write_step,
    write_text,
)
from tasks.streambench.environments.verdicts import (
    choose_rule,
    make_unjudged,
    read_options,
    score_record,
)

FILE = "descriptions.json"
SEARCHES = ("embedding", "words")
WORD = re.compile(r"[a-z]+|[0-9]+")
# Special values of the option `descriptions`: only the tested APIs, or all APIs.
LISTED, EVERY = 0, -1
# Scores are rounded, so that tiny numerical differences do not change the ranking.
DIGITS = 6
SEARCHED = 300
"""Number of characters to search in a description, from its start, which states the API's purpose."""
PROMPT = Path(__file__).parents[1] / "prompts" / "judge_arguments.md"
FORM = (
    '{"api": "<name of the API, whole as above, with any %% and what follows>", '
    '"arguments": {"<name>": <value>}}'
)
INSTRUCTIONS: Mapping[Style, str] = {
    "direct": f"Reply with the call as a JSON object, and with nothing else: {FORM}",
    "chain": "Think about it step by step: which API does what is asked, and which arguments are given. Then "
    f"end with a line that begins with `Answer:`, followed by the call as a JSON object: {FORM}",
    "refine": f"Reply with the improved call as a JSON object, and with nothing else: {FORM}",
}
RULES = ("released", "strict")
FIRST_WORD = re.compile(r"[\s*\"'`]*(\w+)")
JUDGE_TOKENS = 64
NOT_READ = "No call could be read: "


@dataclass(frozen=True)
class ShownApis:
    """The APIs in a prompt, in order. shared: whether the APIs are the same for all items."""

    names: tuple[str, ...]
    shared: bool
    left_out: tuple[str, ...] = ()


class ApiDescriptions:
    """Selects API descriptions of a stream's datasets for a prompt.

    With `search: embedding`, the start of every description is embedded once, for the first search.
    """

    def __init__(self, setup: EnvironmentSetup, count: int, search: str, characters: int) -> None:
        """Store the options. Raises BadInput for an invalid option.

        - count: number of descriptions to retrieve for an item; 0 means all tested APIs, -1 means all APIs.
        - search: `embedding` or `words`.
        - characters: maximum length of a description in a prompt.
        """
        where = "streambench.streams: options"
        if count < EVERY:
            raise BadInput(
                where,
                f"descriptions is {count}",
                hint="expected a number of APIs, 0 (the tested APIs) or -1 (all APIs)",
            )
        if search not in SEARCHES:
            raise BadInput(where, f"search is {search!r}", hint=f"expected {' or '.join(SEARCHES)}")
        if characters <= 0:
            raise BadInput(where, f"characters is {characters}", hint="expected a number above 0")
        self._setup, self._count, self._search, self._characters = setup, count, search, characters
        self._embedding: asyncio.Task[np.ndarray] | None = None

    def describe(self, name: str) -> str:
        """Return an API's name and description; a long description is truncated and marked."""
        text = self._texts.get(name, "")
        if len(text) > self._characters:
            text = f"{text[: self._characters]} [cut]"
        return f"API: {write_text(name)}\n{write_text(text)}".strip()

    async def choose(self, item: StreamItem, *, row: str) -> ShownApis:
        """Return the APIs for an item's prompt. Raises the same errors as `Ask.embed`."""
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
        # The most relevant API is last, since the prompt's question follows it.
        return ShownApis(
            names[::-1], False, (f"{rest} of {len(self._texts)} APIs: not retrieved",) if rest else ()
        )

    async def _score(self, query: str, row: str) -> Sequence[float]:
        if self._search == "words":
            return self._words.score(query)
        if self._embedding is None or (self._embedding.done() and self._embedding.exception() is not None):
            self._embedding = asyncio.ensure_future(self._embed(self._searched, row="descriptions"))
        # shield: if one step is cancelled, the other steps still need the shared embedding.
        descriptions = await asyncio.shield(self._embedding)
        own = await self._embed([query], row=row)
        return [float(score) for score in np.round(descriptions @ own[0], DIGITS)]

    async def _embed(self, texts: Sequence[str], *, row: str) -> np.ndarray:
        vectors = await self._setup.ask.embed(texts, role=self._setup.embedder, row=row)
        matrix = np.asarray(vectors, dtype=np.float64).reshape(len(texts), -1)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        # A division by the length 0 would turn a zero vector into NaN.
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
                raise BadInput(path, "has no APIs", hint="run benchloom import toolbench")
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
    """A BM25 index of a few hundred short texts (k1 = 1.5, b = 0.75)."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(WORD.findall(text.lower())) for text in texts]
        mean = sum(count.total() for count in counts) / max(1, len(counts)) or 1.0
        self._size = len(counts)
        self._weights: defaultdict[str, dict[int, float]] = defaultdict(dict)
        for place, words in enumerate(counts):
            length = 1.5 * (0.25 + 0.75 * words.total() / mean)
            for word, count in words.items():
                self._weights[word][place] = count / (count + length)

    def score(self, query: str) -> list[float]:
        """Return the BM25 score of every text for a query."""
        scores = [0.0] * self._size
        for word in sorted(set(WORD.findall(query.lower()))):
            found = self._weights.get(word, {})
            rarity = math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
            for place, weight in found.items():
                scores[place] += rarity * weight
        return [round(score, DIGITS) for score in scores]


class ArgumentVerdict(Label):
    """The judge's verdict on the arguments of a call."""

    RIGHT = "Yes.", "right", 1.0
    WRONG = "No.", "wrong", 0.0


GRAMMAR = f'root ::= "{ArgumentVerdict.RIGHT}" | "{ArgumentVerdict.WRONG}"'


class ToolBenchEnvironment(Environment):
    """The ToolBench environment. Rules for the judge's verdict: `released`, `strict` (see `read_verdict`).

    Rules for parsing replies (`reading`): `lenient`, `released`. Options:

    - `descriptions`: number of descriptions to retrieve for the query. 0 means the tested APIs, as in
      StreamBench; -1 means all APIs. In both cases, the APIs are in a fixed random order (seed 0).
    - `search`: `embedding` or `words`.
    - `characters`: maximum number of characters of a description in a prompt.
    """

    name = "toolbench"
    metric = "toolbench"
    primary = "accuracy"
    readings = READINGS
    max_tokens: ClassVar[Mapping[Style, int]] = {"direct": 256, "chain": 512, "refine": 256}
    words: ClassVar[Mapping[bool, str]] = {True: "The call is correct.", False: "The call is not correct."}

    def __init__(self, setup: EnvironmentSetup) -> None:
        super().__init__(setup)
        self._rule = choose_rule("toolbench", setup.rule, RULES)
        known = {"descriptions": 12, "search": "embedding", "characters": 1200}
        options = read_options("toolbench", setup.options, known)
        self._apis = ApiDescriptions(setup, options["descriptions"], options["search"], options["characters"])
        self._metric = ToolBench()

    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Return a prompt with API descriptions: the same for all items, or retrieved for the query."""
        shown = await self._apis.choose(item, row=row)
        text = "\n\n".join(["The APIs:", *map(self._apis.describe, shown.names)])
        return PromptParts(
            task="Choose the API that does what a user asks for, and the arguments to call it with.",
            common=text if shown.shared else "",
            context="" if shown.shared else text,
            question=f"The user asks: {write_text(item.text)}",
            instruction=INSTRUCTIONS[style],
            left_out=shown.left_out,
            notes={}
            if shown.shared
            else {"recall": float(read_object(item.details).get("api") in shown.names)},
        )

    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Return a past user request with its API call, as text for prompts."""
        return write_step(f"The user asks: {write_text(key)}", answer, words)

    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Return the reply's first JSON object on one line, or the text itself if there is none.

        With the style `chain`, only the text after `Answer:` is parsed. The rule `released` parses the whole
        reply in every style; if it finds no call, the answer is the reply with a prefix that says so.
        """
        if self.setup.reading == RELEASED:
            call = read_released_call(check_reply(text))
            return write_plain(f"{NOT_READ}{text}") if call is None else write_call(call)
        answer = cut_reasoning(check_reply(text)) if style == "chain" else check_reply(text)
        found = find_object(answer)
        return write_plain(answer if found is None else json.dumps(found, ensure_ascii=False))

    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Compare the call with the gold call; ask the judge about the arguments if no rule decides.

        If no rule decides and the setup has no judge, the outcome is unjudged. Raises the errors of `Ask`.
        """
        record = self.make_record(item, answer, None)
        gold = read_object(item.details)
        if (
            not record["well_formed"]
            or record["predicted_api"] != gold.get("api")
            or gold["api"] in WITHOUT_JUDGE
        ):
            return score_record(self._metric, "", record, self.primary, self.words)
        if not self.setup.judge:
            return make_unjudged("the judge is not asked", self.words)
        call = self._read_call(answer)
        asked = await self.setup.ask(
            PROMPT,
            {
                "api": write_text(str(gold["api"])),
                "description": write_text(self._apis.describe(str(gold["api"]))),
                "query": quote(item.text).text,
                "gold": quote(json.dumps(gold.get("arguments"), ensure_ascii=False)).text,
                "given": quote(json.dumps(call.arguments if call else None, ensure_ascii=False)).text,
            },
            role=self.setup.judge,
            row=row,
            parse=str,
            grammar=GRAMMAR,
            max_tokens=JUDGE_TOKENS,
        )
        judged, problem = read_verdict(asked.text, self._rule)
        found = score_record(self._metric, "", {**record, "judged": judged}, self.primary, self.words)
        return replace(found, problem=problem or found.problem, calls=(asked.call,))

    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Return the record for `benchloom score toolbench`."""
        gold = read_object(item.details)
        call = self._read_call(answer) if answer is not None else None
        asked = feedback is not None and bool(feedback.calls)
        return {
            "id": item.id,
            "api": gold.get("api"),
            "arguments": gold.get("arguments"),
            "predicted_api": call.api if call is not None else None,
            "predicted_arguments": list_arguments(call, gold) if call is not None else None,
            "well_formed": call is not None or answer is None,
            "judged": feedback.bit if feedback is not None and asked else None,
        }

    def _read_call(self, answer: str) -> ReadCall | None:
        """Return the call in an answer; None if the call is not well-formed."""
        if self.setup.reading == LENIENT:
            found = find_object(answer) or {}
            api, arguments = found.get("api"), found.get("arguments")
            return ReadCall(api, arguments) if isinstance(api, str) and isinstance(arguments, dict) else None
        if answer.startswith(NOT_READ):
            return None
        api, arguments = json.loads(answer).values()
        return make_call(api if isinstance(api, str) else json.dumps(api), arguments)


def list_arguments(call: ReadCall, gold: Mapping[str, object]) -> object:
    """Return a call's arguments for the record: an object unchanged, any other value as JSON text.

    If the gold call has no arguments, every other valid JSON value becomes {}, because the published code
    checks only the gold arguments.
    """
    if isinstance(call.arguments, dict):
        return call.arguments
    return {} if call.valid and not gold.get("arguments") else json.dumps(call.arguments, ensure_ascii=False)


def read_verdict(text: str, rule: str) -> tuple[bool, str]:
    """Return whether a judge's reply accepts the arguments, and the parsing problem ('' if none).

    Rule `released`: the arguments are correct unless the reply contains "No.". Rule `strict`: a reply that
    begins with neither Yes nor No counts as wrong and is reported as a problem.
    """
    if rule == "released":
        return ArgumentVerdict.WRONG not in text, ""
    word = FIRST_WORD.match(text)
    spoken = f"{word[1].capitalize()}." if word else ""
    if spoken not in set(ArgumentVerdict):
        return False, f"the judge said neither Yes nor No: {' '.join(text.split())[:80]!r}"
    return spoken == ArgumentVerdict.RIGHT, ""
