"""Medical diagnosis (DDXPlus): accuracy of answers that select one of 49 diagnoses by number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from tasks.errors import BadInput
from tasks.scoring.ddxplus import LABELS, DDXPlus, find_label
from tasks.scoring.reply_readings import READINGS, RELEASED, read_released_diagnosis
from tasks.sources.stream_dataset import FILES
from tasks.sources.whole_json import read_json_list
from tasks.streambench.build.items import StreamItem
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback, PromptParts, Style
from tasks.streambench.environments.replies import check_reply, cut_reasoning, write_step, write_text
from tasks.streambench.environments.verdicts import choose_rule, read_options, score_record

INSTRUCTIONS: Mapping[Style, str] = {
    "direct": "Reply with the most likely diagnosis, as `<number>. <diagnosis>`, and with nothing else.",
    "chain": "Think about it step by step: what history and symptoms speak for, and what against. Then "
    "end with a line that begins with `Answer:`, followed by the diagnosis as `<number>. <diagnosis>`.",
    "refine": "Reply with the improved diagnosis, as `<number>. <diagnosis>`, and with nothing else.",
}


class DDXPlusEnvironment(Environment):
    """The DDXPlus environment. A diagnosis's number is its index (from 0) in `files/diagnoses.json`.

    The rules for parsing replies are `lenient` and `released`, which differ only in the style `chain`.
    """

    name = "ddxplus"
    metric = "ddxplus"
    primary = "accuracy"
    readings = READINGS
    max_tokens: ClassVar[Mapping[Style, int]] = {"direct": 64, "chain": 512, "refine": 64}
    words: ClassVar[Mapping[bool, str]] = {
        True: "The diagnosis is correct.",
        False: "The diagnosis is not correct.",
    }

    def __init__(self, setup: EnvironmentSetup) -> None:
        super().__init__(setup)
        choose_rule("ddxplus", setup.rule, ())
        read_options("ddxplus", setup.options, {})
        self._metric = DDXPlus()

    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Return a prompt with the list of diagnoses and the patient's profile."""
        lines = [f"{number}. {write_text(name)}" for number, name in enumerate(self._diagnoses)]
        return PromptParts(
            task="Diagnose a patient by their profile, as a doctor would. The diagnosis is one of a list.",
            common="\n".join(["The diagnoses:", *lines]),
            context="",
            question=f"The patient:\n{write_text(item.text)}",
            instruction=INSTRUCTIONS[style],
        )

    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Return a past patient's profile and diagnosis as text for prompts, with the feedback if given."""
        shown = answer if words is not None else f"Diagnosis: {answer}"
        return write_step(f"The patient:\n{write_text(key)}", shown, words)

    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Return `<number>. <diagnosis>` for the first number before a full stop, or the text on one line."""
        answer = check_reply(text)
        if style == "chain" and self.setup.reading == RELEASED:
            answer = read_released_diagnosis(text)
        elif style == "chain" and (answer := cut_reasoning(text)) is text:  # often a numbered list
            answer = text.strip().splitlines()[-1]
        label = find_label(answer)
        return f"{label}. {self._diagnoses[label]}" if label is not None else " ".join(answer.split())

    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Compare the answer with the label."""
        return score_record(self._metric, "", self.make_record(item, answer, None), self.primary, self.words)

    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Return the record for `benchloom score ddxplus`."""
        gold = int(item.gold) if item.gold.isascii() and item.gold.isdigit() else item.gold
        return {"id": item.id, "gold": gold, "prediction": answer}

    @cached_property
    def _diagnoses(self) -> list[str]:
        datasets = sorted({item.dataset for item in self.setup.items})
        lists = [read_json_list(self.setup.files / name / FILES / "diagnoses.json") for name in datasets]
        for name, found in zip(datasets, lists, strict=True):
            if len(found) != LABELS or found != lists[0]:
                raise BadInput(
                    f"{name}/{FILES}/diagnoses.json",
                    f"has {len(found)} diagnoses, or they differ from those of {datasets[0]}",
                    hint=f"expected {LABELS}; run benchloom import ddxplus",
                )
        return [str(name) for name in lists[0]]
