"""Multi-hop questions (HotpotQA, distractor): exact match of short answers, given ten paragraphs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from tasks.scoring.hotpotqa import HotpotQA
from tasks.scoring.reply_readings import READINGS, RELEASED, read_released_answer
from tasks.sources.stream_dataset import SHOTS
from tasks.streambench.build.dataset_reading import read_shot_texts
from tasks.streambench.build.items import StreamItem
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback, PromptParts, Style
from tasks.streambench.environments.replies import (
    check_reply,
    find_object,
    write_plain,
    write_step,
    write_text,
)
from tasks.streambench.environments.verdicts import choose_rule, read_options, score_record

INSTRUCTIONS: Mapping[Style, str] = {
    "direct": 'Reply with a JSON object alone: {"answer": "..."}. The answer is a few words, yes or no.',
    "chain": "Think about it step by step: which paragraphs tell what is asked, and what follows. Reply "
    'with a JSON object: {"reasons": "...", "answer": "..."}. The answer is a few words, yes or no.',
    "refine": 'Reply with the improved answer as a JSON object and nothing else: {"answer": "..."}.',
}


class HotpotQAEnvironment(Environment):
    """The HotpotQA environment. The feedback bit is always exact match.

    The rules `official` and `streambench` differ only in F1. The rules for parsing replies are `lenient` and
    `released`. Option `paragraphs_in_shots`: whether examples include their paragraphs, as in the StreamBench
    paper (with k = 4).
    """

    name = "hotpotqa"
    metric = "hotpotqa"
    primary = "em"
    readings = READINGS
    max_tokens: ClassVar[Mapping[Style, int]] = {"direct": 64, "chain": 512, "refine": 64}
    words: ClassVar[Mapping[bool, str]] = {
        True: "The answer is correct.",
        False: "The answer is not correct.",
    }

    def __init__(self, setup: EnvironmentSetup) -> None:
        super().__init__(setup)
        self._rule = choose_rule("hotpotqa", setup.rule, HotpotQA.rules)
        self._options = read_options("hotpotqa", setup.options, {"paragraphs_in_shots": True})
        self._metric = HotpotQA()

    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Return a prompt with all paragraphs and their titles."""
        return PromptParts(
            task="Answer a question by the paragraphs that are given with it. Some have nothing to do "
            "with the question.",
            common="",
            context=f"The paragraphs, each under its title:\n\n{write_text(item.context)}",
            question=f"Question: {write_text(item.text)}",
            instruction=INSTRUCTIONS[style],
        )

    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Return a past question with its answer, and its paragraphs if `paragraphs_in_shots` is set."""
        question = f"Question: {write_text(key)}"
        if self._options["paragraphs_in_shots"] and (own := self._paragraphs.get(key)):
            question = f"{write_text(own)}\n\n{question}"
        return write_step(question, answer if words is not None else f"Answer: {answer}", words)

    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Return the answer in the reply's first JSON object, or the text itself if there is none."""
        if self.setup.reading == RELEASED:
            return write_plain(read_released_answer(check_reply(text)))
        found = find_object(check_reply(text))
        answer = found.get("answer") if found is not None else None
        if isinstance(answer, bool):
            answer = "yes" if answer else "no"
        return write_plain(str(answer if isinstance(answer, str | int | float) else text))

    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Compare the answer with the gold answer."""
        return score_record(
            self._metric, self._rule, self.make_record(item, answer, None), self.primary, self.words
        )

    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Return the record for `benchloom score hotpotqa`."""
        return {"id": item.id, "gold": item.gold, "prediction": answer}

    @cached_property
    def _paragraphs(self) -> Mapping[str, str]:
        """Memory key -> paragraphs of the item or few-shot example."""
        found: dict[str, str] = {}
        for dataset in sorted({item.dataset for item in self.setup.items}):
            for key, text in read_shot_texts(self.setup.files / dataset / SHOTS):
                found[key] = text.removesuffix(key).strip()
        return found | {item.memory_key: item.context for item in self.setup.items}
