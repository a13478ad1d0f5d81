"""Tool use (ToolBench, the subset of STE): the right API with the right arguments, by rule or judge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tasks.judging.quoting import quote
from tasks.scoring.label import Label
from tasks.scoring.toolbench import WITHOUT_JUDGE, ToolBench
from tasks.streambench.build.items import StreamItem
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback, PromptParts, Style
from tasks.streambench.environments.descriptions import ApiDescriptions
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
    read_details,
    read_options,
    score_record,
)

PROMPT = Path(__file__).parents[1] / "prompts" / "judge_arguments.md"
WORDS = {True: "The call is correct.", False: "The call is not correct."}
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


class ArgumentVerdict(Label):
    """The judge's word on a call's arguments."""

    RIGHT = "Yes.", "right", 1.0
    WRONG = "No.", "wrong", 0.0


GRAMMAR = f'root ::= "{ArgumentVerdict.RIGHT}" | "{ArgumentVerdict.WRONG}"'


class ToolBenchEnvironment(Environment):
    """Rules of the judge: `released`, wrong only if "No." occurs; `strict`, must begin with Yes or No.

    Options: `descriptions`, so many are shown of all, found by the query (0: those of the tested APIs, in an
    order by seed 0, as the paper has it; -1: all); `search`, `embedding` or `words`.
    """

    name = "toolbench"
    metric = "toolbench"
    primary = "accuracy"
    max_tokens: ClassVar[Mapping[Style, int]] = {"direct": 256, "chain": 512, "refine": 256}

    def __init__(self, setup: EnvironmentSetup) -> None:
        super().__init__(setup)
        self._rule = choose_rule("toolbench", setup.rule, RULES)
        known = {"descriptions": 12, "search": "embedding", "characters": 1200}
        options = read_options("toolbench", setup.options, known)
        self._apis = ApiDescriptions(setup, options["descriptions"], options["search"], options["characters"])
        self._metric = ToolBench()

    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Show the descriptions of APIs: the same for all items, or those that the query finds."""
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
            else {"recall": float(read_details(item.details).get("api") in shown.names)},
        )

    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Write a past query with its call."""
        return write_step(f"The user asks: {write_text(key)}", answer, words)

    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Take the first JSON object and write it on one line; without one the text as it is."""
        answer = cut_reasoning(check_reply(text)) if style == "chain" else check_reply(text)
        found = find_object(answer)
        return write_plain(answer if found is None else json.dumps(found, ensure_ascii=False))

    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Compare the call with the gold one; a judge says what only it can. Raises ModelFailed."""
        record = self.make_record(item, answer, None)
        gold = read_details(item.details)
        if (
            not record["well_formed"]
            or record["predicted_api"] != gold.get("api")
            or gold["api"] in WITHOUT_JUDGE
        ):
            return score_record(self._metric, "", record, self.primary, WORDS)
        asked = await self.setup.ask(
            PROMPT,
            {
                "api": write_text(str(gold["api"])),
                "description": write_text(self._apis.describe(str(gold["api"]))),
                "query": quote(item.text).text,
                "gold": quote(json.dumps(gold.get("arguments"), ensure_ascii=False)).text,
                "given": quote(json.dumps(record["predicted_arguments"], ensure_ascii=False)).text,
            },
            role=self.setup.judge,
            row=row,
            parse=str,
            grammar=GRAMMAR,
            max_tokens=JUDGE_TOKENS,
        )
        judged, problem = read_verdict(asked.text, self._rule)
        found = score_record(self._metric, "", {**record, "judged": judged}, self.primary, WORDS)
        return replace(found, problem=problem or found.problem, calls=(asked.call,))

    def say(self, bit: bool) -> str:
        """Say whether the call is right."""
        return WORDS[bit]

    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Make the line for `benchloom score toolbench`."""
        gold = read_details(item.details)
        call = find_object(answer) if answer is not None else None
        api, arguments = (call.get("api"), call.get("arguments")) if call is not None else (None, None)
        well_formed = isinstance(api, str) and isinstance(arguments, dict)
        asked = feedback is not None and bool(feedback.calls)
        return {
            "id": item.id,
            "api": gold.get("api"),
            "arguments": gold.get("arguments"),
            "predicted_api": api if well_formed else None,
            "predicted_arguments": arguments if well_formed else None,
            "well_formed": well_formed or answer is None,
            "judged": feedback.bit if feedback is not None and asked else None,
        }


def read_verdict(text: str, rule: str) -> tuple[bool, str]:
    """Read the judge's word on the arguments: (whether they are right, what was wrong with the word).

    released: right unless "No." occurs, whatever else is said. strict: a reply that begins with neither Yes
    nor No is wrong, and flagged.
    """
    if rule == "released":
        return ArgumentVerdict.WRONG not in text, ""
    word = FIRST_WORD.match(text)
    spoken = f"{word[1].capitalize()}." if word else ""
    if spoken not in set(ArgumentVerdict):
        return False, f"the judge said neither Yes nor No: {' '.join(text.split())[:80]!r}"
    return spoken == ArgumentVerdict.RIGHT, ""
