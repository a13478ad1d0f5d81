"""A loopback endpoint for nightly runs: a system with configurable accuracy, and an accurate judge."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from tasks.judging.canaries import FILE, FURTHER, read_canaries
from tests.flows.asked import Asked
from tests.judging.scripted import sign

CONSTRUCTION = (
    "You write one paragraph",
    "You read one document",
    "You word one question",
    "You know SQL",
    "You write query templates",
)
"""Beginnings of the prompts that create a dataset and its documents."""


def fold(text: str) -> str:
    return " ".join(text.split())


KNOWN = {
    (fold(canary.query), fold(canary.response)): "Correct" in canary.accepted
    for file in (FILE, FURTHER)
    for canary in read_canaries("label", file)
}


def is_canary_right(prompt: str) -> bool:
    """Return whether a judge's prompt contains a canary whose correct verdict is the better one."""
    query = prompt.partition("Query:\n")[2].partition("\n\nTrue answer:")[0]
    response = " ".join(line[2:] for line in prompt.splitlines() if line.startswith("> "))
    return KNOWN.get((fold(query), fold(response)), False)


@dataclass
class NightModel:
    """A model endpoint that counts requests by kind.

    `broken`: every second answer is wrong from now on. `tokens`: of each prompt, and of each reply.
    """

    broken: bool = False
    tokens: int = 1
    pause_s: float = 0
    """Additional delay of every reply."""
    asked: Counter[str] = field(default_factory=Counter)
    drifted: bool = False
    """Whether the judge rates all answers as incorrect, including canaries."""
    fault: Callable[[str], web.Response | None] = lambda asked: None
    """Function that returns a replacement answer from the last message."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Question -> true answer, for rules that search answers for it."""
    counted: Asked | None = None
    """The counter of requests that a test placed in front of the model, if any."""

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.sleep(self.pause_s)
        system, user = (body["messages"][0]["content"], body["messages"][-1]["content"])
        if (fault := self.fault(user)) is not None:
            return fault
        if "strict grader" in system:
            kind = "judge"
            right = not self.drifted and ("well answered" in user or is_canary_right(user))
            text = sign(f"Verdict: {'Correct' if right else 'Incorrect'}", user)
        elif "You answer questions" in system:
            kind, text = "system", self._say(user)
        elif system.startswith(CONSTRUCTION):
            kind, text = "construction", "?"
        else:
            kind, text = "instrument", "None"
        self.asked[kind] += 1
        usage = {
            "prompt_tokens": self.tokens,
            "completion_tokens": self.tokens,
            "total_tokens": 2 * self.tokens,
        }
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    def _say(self, asked: str) -> str:
        if self.broken and len(asked) % 2:
            return "badly answered"
        named = max((question for question in self.answers if question in asked), key=len, default="")
        return self.answers.get(named, "well answered")
