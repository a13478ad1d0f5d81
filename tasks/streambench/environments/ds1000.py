"""Python programming (DS-1000): pass@1, measured with each problem's test program in a sandbox."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from tasks.scoring.ds1000 import DS1000, extract_code
from tasks.scoring.reply_readings import LENIENT, NONE, READINGS, RELEASED, read_released_code
from tasks.streambench.build.items import StreamItem, read_object
from tasks.streambench.environment import Environment, EnvironmentSetup, Feedback, PromptParts, Style
from tasks.streambench.environments.replies import (
    check_reply,
    cut_reasoning,
    find_last_block,
    write_step,
    write_text,
)
from tasks.streambench.environments.verdicts import choose_rule, read_options, score_record

INSTRUCTIONS: Mapping[Style, str] = {
    "direct": "Reply with the missing Python code, in a block fenced by ```python, and with nothing else.",
    "chain": "Think about it step by step: what is asked for, which functions do it, what the variables are "
    "called. Then end with a line that begins with `Answer:`, followed by the missing Python code in a "
    "block fenced by ```python.",
    "refine": "Reply with the improved Python code, in a block fenced by ```python, and with nothing else.",
}
PUT_INTO = (
    "Your code is put in the place of `[insert]` in this program, which is then run and its result tested:"
)
EXECUTION_CONTEXT = re.compile(
    r"""^exec_context\s*=\s*[rR]?(?P<quotes>\'{3}|"{3})(?P<program>.*?)(?P=quotes)""",
    re.DOTALL | re.MULTILINE,
)


class DS1000Environment(Environment):
    """The DS-1000 environment. Option `timeout`: seconds per test program, excluding library loading.

    The rules for parsing replies are `lenient` and `released`.
    """

    name = "ds1000"
    metric = "ds1000"
    primary = "accuracy"
    readings = READINGS
    max_tokens: ClassVar[Mapping[Style, int]] = {"direct": 512, "chain": 512, "refine": 512}
    words: ClassVar[Mapping[bool, str]] = {
        True: "The code passes the tests.",
        False: "The code does not pass the tests.",
    }

    def __init__(self, setup: EnvironmentSetup) -> None:
        super().__init__(setup)
        choose_rule("ds1000", setup.rule, ())
        self._options = read_options("ds1000", setup.options, {"timeout": 3.0})
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "ds1000-feedback")
        self._opening = threading.Lock()
        self._metric: DS1000 | None = None

    async def __aexit__(self, *error: object) -> None:
        """Wait for running programs; programs that have not started are cancelled."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    async def show(self, item: StreamItem, style: Style, *, row: str) -> PromptParts:
        """Return a prompt with the problem and the code around the answer (the execution context)."""
        program = find_execution_context(str(read_object(item.details).get("code_context") or ""))
        return PromptParts(
            task="Complete a Python program. You are given a problem with the code around its solution; only "
            "the solution is wanted, and the code before it has run already.",
            common="",
            context=f"{PUT_INTO}\n```python\n{write_text(program)}\n```" if program else "",
            question=f"Problem:\n{write_text(item.text)}",
            instruction=INSTRUCTIONS[style],
        )

    def show_example(self, key: str, answer: str, words: str | None) -> str:
        """Return a past problem and its code, in a fenced Python block, as text for prompts."""
        return write_step(f"Problem:\n{write_text(key)}", f"```python\n{answer.strip(chr(10))}\n```", words)

    def read_answer(self, item: StreamItem, text: str, style: Style) -> str:
        """Return the first fenced Python block, otherwise the whole text, with unchanged indentation.

        With the style `chain`, only the text after `Answer:` or the last fenced block is parsed. The rule
        `released` parses the whole reply in every style.
        """
        if self.setup.reading == RELEASED:
            return read_released_code(check_reply(text))
        answer = cut_reasoning(check_reply(text)) if style == "chain" else check_reply(text)
        if style == "chain" and answer is text:
            answer = find_last_block(text) or text
        return extract_code(answer).strip("\n")

    async def feedback(self, item: StreamItem, answer: str, *, row: str) -> Feedback:
        """Run the problem's test program on the code. Raises BadInput if there is no sandbox."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._judge, self.make_record(item, answer, None))

    def make_record(
        self, item: StreamItem, answer: str | None, feedback: Feedback | None
    ) -> dict[str, object]:
        """Return the record for `benchloom score ds1000`."""
        test = read_object(item.details).get("code_context")
        return {"id": item.id, "code_context": test, "prediction": answer}

    def _judge(self, record: dict[str, object]) -> Feedback:
        with self._opening:
            if self._metric is None:
                reading = NONE if self.setup.reading == RELEASED else LENIENT
                self._metric = DS1000(reading=reading, **self._options)
        return score_record(self._metric, "", record, self.primary, self.words)


def find_execution_context(code_context: str) -> str:
    """Return the test program into which an answer to a problem is inserted; empty if not found."""
    found = EXECUTION_CONTEXT.search(code_context)
    return found["program"].strip("\n") if found else ""
