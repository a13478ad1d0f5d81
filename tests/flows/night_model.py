"""A loopback endpoint for nights: a system that answers well or badly by order, and a judge that can tell."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from aiohttp import web

from tests.judging.scripted import sign

CONSTRUCTION = (
    "You write one paragraph",
    "You read one document",
    "You word one question",
    "You know SQL",
    "You write query templates",
)
"""How the prompts begin by which a dataset and its documents are made."""


@dataclass
class NightModel:
    """Counts what it is asked by kind.

    `broken`: every second answer is wrong from now on. `tokens`: of each prompt, and of each reply.
    """

    broken: bool = False
    tokens: int = 1
    pause_s: float = 0
    """How long every reply takes, beside what it takes anyway."""
    asked: Counter[str] = field(default_factory=Counter)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.sleep(self.pause_s)
        system, user = (body["messages"][0]["content"], body["messages"][-1]["content"])
        if "strict grader" in system:
            kind = "judge"
            text = sign(f"Verdict: {'Correct' if 'well answered' in user else 'Incorrect'}", user)
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

    def _say(self, question: str) -> str:
        return "badly answered" if self.broken and len(question) % 2 else "well answered"
